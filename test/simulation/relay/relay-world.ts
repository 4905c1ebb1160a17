import { type MemorySource, memoryLeases, memoryRelayStore, memorySource } from '../../../adapters/memory/index.js'
import { publish, type Relay, relayCache, relaySource } from '../../../adapters/relay/index.js'
import type { RelayStore } from '../../../src/contract/relay-store.js'
import { createInformer, type Informer, type LeaseSession, type Leases } from '../../../src/index.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'

/**
 * The rules that a schedule checks. `true state`: a follower shows a state that the upstream had. `order`: it never shows an older
 * one, except after `EPOCH_CHANGED`. `epoch`: another history of the upstream is `EPOCH_CHANGED` for followers. `wait`: a wait for a
 * mark ends when the follower includes it. `calm`: without a loss, followers never list again. `live`: everything converges.
 */
export type RelayRule = 'true state' | 'order' | 'epoch' | 'wait' | 'calm' | 'live' | 'crash'

export interface RelayOutcome {
  readonly seed: number
  readonly steps: number
  readonly virtualMs: number
  readonly trace: number
  readonly counts: Readonly<Record<string, number>>
  readonly violation: { readonly rule: RelayRule; readonly message: string } | undefined
}

interface Item {
  readonly n: number
}

interface Process {
  readonly informer: Informer<Item>
  readonly relay: Relay
  readonly link: { isCut: boolean }
}

interface Follower {
  readonly name: string
  readonly informer: Informer<Item>
  /** The index of the newest state that it has shown. */
  shown: number
  /** The number of `EPOCH_CHANGED`s, and how many there were when it showed that state. */
  epochs: number
  epochsWhenShown: number
}

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f']
const LEASE_MS = 2_000
/** Without leases, a relay that was replaced waits for 30 s. So do a follower and the mirror of a relay, after failures. */
const HEAL_MS = 60_000
/** The faults of writes that were not performed yet end within this time. */
const LAST_FAULTS_MS = 300_000
const STEPS = 40
const quiet = { debug() {}, info() {}, warn() {}, error() {} }

/** One schedule of relays and followers over one store with faults. Returns the first violation. */
export function runRelays(seed: number, onEvent?: (line: string) => void): Promise<RelayOutcome> {
  return new RelayWorld(seed, onEvent).run()
}

class RelayWorld {
  readonly #seed: number
  readonly #random: SeededRandom
  readonly #onEvent: ((line: string) => void) | undefined
  readonly #clock = new VirtualClock(0)
  readonly #source: MemorySource<Item>
  readonly #store: ReturnType<typeof memoryRelayStore>
  readonly #leases: Leases | undefined
  readonly #processes: Process[] = []
  readonly #followers: Follower[] = []
  /** Each state of the upstream, as a text, in order, with the number of its history. */
  readonly #states: { readonly text: string; readonly history: number }[] = []
  readonly #indexes = new Map<string, number>()
  readonly #content = new Map<string, Item>()
  readonly #counts: Record<string, number> = {}
  #history = 0
  #writes = 0
  /** Whether followers may have to list again. */
  #hasLost = false
  /** The number of writes that will still be disturbed. */
  #faults = 0
  #isAvailable = true
  #trace = 0x811c9dc5
  #violation: RelayOutcome['violation']

  constructor(seed: number, onEvent: ((line: string) => void) | undefined) {
    const random = new SeededRandom(seed)
    this.#seed = seed
    this.#random = random
    this.#onEvent = onEvent
    // A relay looks at its store after 5 s without a batch.
    this.#source = memorySource<Item>({ heartbeatMs: random.pick([3_000, 10_000]) })
    this.#store = memoryRelayStore({ maxChanges: random.pick([2, 3, 5, 100]) })
    this.#leases = random.chance(0.6)
      ? memoryLeases({ group: 'relay', mode: 'leader', leaseMs: LEASE_MS, clock: this.#clock })
      : undefined
  }

  async run(): Promise<RelayOutcome> {
    let steps = 0
    try {
      this.#write(3)
      this.#begin()
      this.#follow()
      await this.#advance(3_000)
      for (; steps < STEPS && this.#violation === undefined; steps++) {
        this.#act()
        await this.#advance(this.#random.pick([0, 1, 20, 200, 2_000, 6_000]))
      }
      if (this.#violation === undefined) await this.#heal()
    } catch (error) {
      this.#violate('crash', error instanceof Error ? `${error.message}\n${error.stack}` : String(error))
    }
    await this.#end()
    const virtualMs = this.#clock.now()
    return {
      seed: this.#seed,
      steps,
      virtualMs,
      trace: this.#trace >>> 0,
      counts: this.#counts,
      violation: this.#violation,
    }
  }

  #act(): void {
    const random = this.#random
    const action = random.pick([
      ...['write', 'write', 'write', 'write', 'large', 'mark', 'mark'],
      ...['begin', 'kill', 'restart', 'restart', 'drain'],
      ...['lost reply', 'lost request', 'late request', 'deliver', 'away', 'back'],
      ...['fork', 'flush', 'compact', 'expire', 'upstream', 'disconnect', 'follower'],
    ])
    this.#note(action)
    switch (action) {
      case 'write':
      case 'large':
        this.#write(action === 'large' ? KEYS.length : 1 + random.below(2))
        break
      case 'mark':
        this.#wait()
        break
      case 'restart':
        this.#kill()
        this.#begin()
        break
      case 'begin':
        if (this.#processes.length < 3) this.#begin()
        break
      case 'kill':
        this.#kill()
        break
      case 'drain':
        this.#drain()
        break
      case 'lost reply':
      case 'lost request':
      case 'late request':
        this.#store.disturb(action)
        this.#faults++
        break
      case 'deliver':
        this.#store.deliver()
        break
      case 'away':
      case 'back':
        this.#setAvailable(action === 'back')
        break
      case 'expire':
        this.#source.compact()
        break
      case 'fork':
      case 'flush':
      case 'compact':
        if (random.chance(0.3)) this.#lose(action)
        break
      case 'upstream':
        if (random.chance(0.3)) this.#restore()
        break
      case 'disconnect':
        if (random.chance(0.5)) this.#source.disconnect()
        else this.#store.collection.disconnect()
        break
      case 'follower':
        if (this.#followers.length < 3) this.#follow()
    }
  }

  #setAvailable(isAvailable: boolean): void {
    this.#isAvailable = isAvailable
    this.#store.setAvailable(isAvailable)
  }

  #lose(what: 'fork' | 'flush' | 'compact'): void {
    this.#hasLost = true
    if (what === 'fork') this.#store.fork(1 + this.#random.below(4))
    else if (what === 'flush') this.#store.flush()
    else this.#store.collection.compact()
  }

  /** One transaction of the upstream. Each state is unique by the number in `tx`. */
  #write(keys: number): void {
    const random = this.#random
    this.#source.transaction((tx) => {
      const put = (key: string, item: Item): void => {
        tx.put(key, item)
        this.#content.set(key, item)
      }
      put('tx', { n: ++this.#writes })
      for (let i = 0; i < keys; i++) {
        const key = keys === KEYS.length ? (KEYS[i] as string) : random.pick(KEYS)
        if (random.chance(0.3)) {
          tx.delete(key)
          this.#content.delete(key)
        } else put(key, { n: this.#writes })
      }
    })
    this.#remember()
  }

  /** The upstream is restored from a backup: some keys are older. */
  #restore(): void {
    this.#history++
    this.#hasLost = true
    for (const key of KEYS) if (this.#random.chance(0.5)) this.#content.delete(key)
    this.#content.set('tx', { n: ++this.#writes })
    this.#source.restore(this.#content)
    this.#remember()
  }

  #remember(): void {
    const text = textOf(this.#content)
    this.#indexes.set(text, this.#states.length)
    this.#states.push({ text, history: this.#history })
  }

  #begin(): void {
    const link = { isCut: false }
    const { name, collection, maxChanges, maxBytes } = this.#store
    const cut = <V>(work: () => Promise<V>): Promise<V> => (link.isCut ? new Promise<never>(() => {}) : work())
    const store: RelayStore = {
      name,
      collection,
      maxChanges,
      maxBytes,
      read: (...args) => cut(() => this.#store.read(...args)),
      write: (...args) => cut(() => this.#disturbed(() => this.#store.write(...args))),
      close: async () => {},
    }
    const [clock, random] = [this.#clock, this.#random]
    const informer = createInformer({ source: this.#source, cache: relayCache(store), clock, random, logger: quiet })
    const leases = this.#leases
    const replicas = leases && { ...leasesOf(leases), open: () => cutSession(leases.open(), cut) }
    const relay = publish(informer, store, { clock, random, logger: quiet, ...(replicas && { replicas }) })
    informer.start()
    this.#processes.push({ informer, relay, link })
  }

  /** A write, which a fault may disturb. */
  #disturbed<V>(write: () => Promise<V>): Promise<V> {
    if (this.#isAvailable && this.#faults > 0) this.#faults--
    return write()
  }

  /** A process ends without a clean stop. */
  #kill(): void {
    const [process] = this.#processes.splice(this.#random.below(Math.max(1, this.#processes.length)), 1)
    if (process === undefined) return
    process.link.isCut = true
    void process.informer.stop()
    void process.relay.stop()
  }

  #drain(): void {
    const process = this.#processes.shift()
    if (process === undefined) return
    void process.relay.stop({ drainMs: 2_000 }).then(() => process.informer.stop())
  }

  #follow(): void {
    const name = `follower ${this.#followers.length + 1}`
    const [clock, random] = [this.#clock, this.#random]
    const source = relaySource<Item>({ store: this.#store, upstream: this.#source })
    const informer = createInformer({ source, clock, random, logger: quiet })
    const follower: Follower = { name, informer, shown: -1, epochs: 0, epochsWhenShown: 0 }
    informer.on('error', ({ code }) => {
      if (code === 'EPOCH_CHANGED') follower.epochs++
    })
    const look = (): void => this.#look(follower)
    informer.subscribe({ add: look, update: look, delete: look })
    informer.start()
    this.#followers.push(follower)
  }

  /** Compares what a follower shows with the states of the upstream. */
  #look(follower: Follower): void {
    const { informer, name, shown, epochs, epochsWhenShown } = follower
    if (!informer.status.isSynced) return
    const text = textOf(informer.entries())
    const index = this.#indexes.get(text)
    if (index === undefined) {
      this.#violate('true state', `${name} shows ${text}, which the upstream never had`)
      return
    }
    const isOtherEpoch = epochs !== epochsWhenShown
    if (index < shown && !isOtherEpoch) this.#violate('order', `${name} went back from state ${shown} to ${index}`)
    const histories = [shown, index].map((at) => this.#states[at]?.history ?? 0)
    if (shown >= 0 && histories[0] !== histories[1] && !isOtherEpoch)
      this.#violate('epoch', `${name} shows another history of the upstream without EPOCH_CHANGED`)
    if (!this.#hasLost && informer.status.relists > 0)
      this.#violate('calm', `${name} listed again: ${informer.status.reason}`)
    if (index === shown) return // It may be the state before the list that follows EPOCH_CHANGED.
    follower.shown = index
    follower.epochsWhenShown = epochs
  }

  #wait(): void {
    const follower = this.#random.pick(this.#followers)
    const index = this.#states.length - 1
    const history = this.#history
    void this.#source.head().then(async (mark) => {
      const waited = await follower.informer.waitFor(mark, { timeoutMs: 20_000 }).then(
        () => true,
        () => false,
      )
      const shown = this.#indexes.get(textOf(follower.informer.entries())) ?? -1
      if (waited && shown < index && this.#states[shown]?.history === history)
        this.#violate('wait', `${follower.name} shows state ${shown} after a wait for state ${index}`)
    })
  }

  async #heal(): Promise<void> {
    this.#setAvailable(true)
    this.#store.deliver()
    if (this.#processes.length === 0) this.#begin()
    const last = this.#states.length - 1
    const latest = this.#clock.now() + LAST_FAULTS_MS
    while (this.#faults > 0 && this.#clock.now() < latest) await this.#advance(500)
    const until = this.#clock.now() + HEAL_MS
    do await this.#advance(500)
    while (this.#clock.now() < until && this.#followers.some(({ shown }) => shown !== last))
    for (const { name, informer, shown } of this.#followers) {
      if (shown === last) continue
      const states = this.#processes.map(({ relay: { status } }) => `${status.state}: ${status.reason}`).join('; ')
      this.#violate('live', `${name} shows state ${shown} of ${last}: ${informer.status.reason} (${states})`)
    }
  }

  async #end(): Promise<void> {
    const stopping = [
      ...this.#followers.map(({ informer }) => informer.stop()),
      ...this.#processes.flatMap(({ relay, informer }) => [relay.stop(), informer.stop()]),
    ]
    await this.#clock.advance(20_000)
    await Promise.all(stopping)
  }

  async #advance(ms: number): Promise<void> {
    await this.#clock.advance(ms)
    for (const follower of this.#followers) this.#look(follower)
    for (const { shown } of this.#followers) this.#trace = Math.imul(this.#trace ^ shown, 0x01000193)
  }

  #note(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1
    const shown = this.#followers.map((follower) => follower.shown).join(' ')
    const relays = this.#processes.map(({ relay }) => relay.status.state).join(' ')
    this.#onEvent?.(`${this.#clock.now()} ${what} (state ${this.#states.length - 1}, shown ${shown}, relays ${relays})`)
  }

  #violate(rule: RelayRule, message: string): void {
    if (this.#violation !== undefined) return
    this.#violation = { rule, message }
    this.#note(`VIOLATION of ${rule}: ${message}`)
  }
}

function leasesOf({ name, mode, leaseMs, renewMs }: Leases): Omit<Leases, 'open'> {
  return { name, mode, leaseMs, renewMs }
}

/** The requests of a process, until it is killed. */
function cutSession(session: LeaseSession, cut: <V>(work: () => Promise<V>) => Promise<V>): LeaseSession {
  return {
    renew: (...args) => cut(() => session.renew(...args)),
    leave: (...args) => cut(() => session.leave(...args)),
    watch: (changed, signal) => session.watch?.(changed, signal),
    close: () => session.close(),
  }
}

function textOf(entries: Iterable<readonly [string, Item]>): string {
  return Array.from(entries, ([key, { n }]) => `${key}=${n}`)
    .sort()
    .join(' ')
}
