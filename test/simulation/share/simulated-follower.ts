import type { MemorySource } from '../../../adapters/memory/index.js'
import { sharedSource } from '../../../adapters/share/index.js'
import { type Change, createInformer, type IndexBuilder, type Informer } from '../../../src/index.js'
import type { SeededRandom } from '../../../testing/seeded-random.js'
import type { SimClock } from '../system/sim-clock.js'
import { PortChecker } from './port-checker.js'
import type { ShareRule } from './share-rules.js'
import { quiet, type SharedMirror, type ShareIndexes, shareIndexes } from './shared-mirror.js'
import { SimulatedPort } from './simulated-channel.js'
import { type Item, type Tenant, tenants, textOf, type UpstreamStates } from './upstream-states.js'
import { WorkerClock } from './worker-clock.js'

/** `packed` and `indexed` start from the snapshot of the share. `indexed` has an index that the share does not have. */
export type Variant = 'packed' | 'indexed' | 'listing' | 'scoped'

/** A follower has heard of the end of its port after this time, in milliseconds. */
const CUT_MS = 3_000
/** Up to this many objects are compared at each change. */
const FEW = 20

/** What a schedule tells its followers. */
export interface FollowerHost {
  readonly clock: SimClock
  readonly random: SeededRandom
  readonly source: MemorySource<Item>
  readonly states: UpstreamStates
  readonly heartbeatMs: number
  /** Whether the shared informer has deleted its objects after lost access. */
  readonly hasCleared: boolean
  violate(rule: ShareRule, message: string): void
}

/** When the worker of a follower meets its end. */
export interface Fate {
  /** After this many messages in either direction. */
  messages: number
  readonly act: () => void
}

export interface FollowerOptions {
  readonly name: string
  readonly variant: Variant
  readonly mirror: SharedMirror
  /** Of `scoped`: the tenant whose objects it has. */
  readonly tenant: Tenant
  readonly fate?: Fate | undefined
}

/** Equal values, of functions with another text. */
const otherIndexes = (ix: IndexBuilder<Item>) => ({
  tenant: ix.equal(({ tenant }: Item) => tenant),
  n: ix.ordered(({ n }: Item) => n + 0),
})

/** A worker thread with an informer that follows the share, and everything that is checked of it. */
export class SimulatedFollower {
  readonly name: string
  readonly variant: Variant
  readonly mirror: SharedMirror
  readonly scope: Tenant | 'all'
  readonly port: SimulatedPort
  readonly checker: PortChecker
  readonly clock: WorkerClock
  readonly informer: Informer<Item, ShareIndexes>
  life: 'running' | 'blocked' | 'dead' | 'stopped' = 'running'
  /** Whether it was blocked at any time. */
  wasBlocked = false
  /** The index of the newest state that it has shown. */
  shown = -1
  readonly #host: FollowerHost
  /** What the shared informer showed when it joined; -1 if it showed nothing. */
  readonly #atLeast: number
  /** What its handler has received, by key. */
  readonly #folded = new Map<string, number>()
  #epochs = 0
  #epochsWhenShown = 0
  #looks = 0
  /** The time since which its watch is open although its port is closed. */
  #aliveSince: number | undefined
  #hasClosedPort = false

  constructor(host: FollowerHost, { name, variant, mirror, tenant, fate }: FollowerOptions) {
    const port = mirror.port(variant === 'scoped' ? tenant : undefined)
    if (!(port instanceof SimulatedPort)) throw new Error('the port is a real one')
    this.name = name
    this.variant = variant
    this.mirror = mirror
    this.scope = variant === 'scoped' ? tenant : 'all'
    this.port = port
    this.#host = host
    this.#atLeast = mirror.shown
    this.clock = new WorkerClock(host.clock)
    this.checker = new PortChecker((message) => host.violate('bounded', `${name}: ${message}`), {
      crossed: () => {
        if (fate !== undefined && --fate.messages === 0) fate.act()
      },
      opened: (size) => {
        if (size > 0 && mirror.isCleared && mirror.hasBeenCleared)
          host.violate('access', `${name} receives a snapshot of objects that were deleted after lost access`)
      },
    })
    port.channel.tap = this.checker
    const source = sharedSource<Item>({ port, heartbeatMs: host.heartbeatMs, upstream: host.source })
    this.informer = createInformer<Item, ShareIndexes>({
      source,
      clock: this.clock,
      random: host.random,
      logger: quiet,
      indexes: variant === 'indexed' ? otherIndexes : shareIndexes,
      ...(variant === 'listing' && { transform: (item: Item) => item }),
    })
    this.informer.on('error', ({ code }) => {
      if (code !== 'EPOCH_CHANGED') return
      this.look() // It still shows a state of the earlier history.
      this.#epochs++
    })
    const fold = (change: Change<Item>): void => this.#fold(change)
    this.informer.subscribe({ add: fold, update: fold, delete: fold })
    this.informer.start()
  }

  get startsFromSnapshot(): boolean {
    return this.variant === 'packed' || this.variant === 'indexed'
  }

  get isAlive(): boolean {
    return this.life === 'running' || this.life === 'blocked'
  }

  /** Whether its port was closed by its user, or by the end of the share. */
  get isCut(): boolean {
    return this.#hasClosedPort || this.mirror.isClosed
  }

  /** Whether its thread runs, and its share can be reached. */
  get isConnected(): boolean {
    return this.life === 'running' && !this.isCut
  }

  get isLive(): boolean {
    return this.informer.status.state === 'live'
  }

  get hasFailed(): boolean {
    const { state, lastError } = this.informer.status
    return state === 'failed' && lastError?.code === 'NOT_FOUND'
  }

  /** The thread is terminated: nothing of it runs any more. */
  kill(): void {
    if (!this.isAlive) return
    this.life = 'dead'
    this.clock.end()
    this.port.terminate()
    this.informer.stop().catch(() => {})
  }

  /** The thread runs a long function. */
  block(): void {
    if (this.life !== 'running') return
    this.life = 'blocked'
    this.wasBlocked = true
    this.clock.block()
    this.port.block()
  }

  unblock(): void {
    if (this.life !== 'blocked') return
    this.life = 'running'
    this.clock.unblock()
    this.port.unblock()
  }

  /** Its user stops the informer. The port stays open. */
  stop(): void {
    if (!this.isAlive) return
    this.unblock()
    this.life = 'stopped'
    this.informer.stop().catch((error: unknown) => this.#host.violate('crash', `${this.name}: stop: ${error}`))
  }

  /** Its user closes the port. */
  closePort(): void {
    this.#hasClosedPort = true
    this.port.close()
  }

  /** Compares what it shows with the states of the source. */
  look(): void {
    this.#checkCut()
    const { informer, name, scope } = this
    const { states, hasCleared, violate } = this.#host
    if (!this.isAlive || !informer.status.isSynced) return
    const text = textOf(informer.entries())
    if (++this.#looks % 8 === 0) this.checkAnswers()
    if (text === '' && hasCleared) return
    const index = states.indexOf(scope, text)
    if (index === undefined) {
      violate('true state', `${name} shows ${text}, which the source never had`)
      return
    }
    const isOtherEpoch = this.#epochs !== this.#epochsWhenShown
    if (this.shown < 0 && index < this.#atLeast)
      violate('new', `${name} is synced at state ${index}, and state ${this.#atLeast} was shared when it joined`)
    if (index < this.shown && !isOtherEpoch) violate('order', `${name} went back from state ${this.shown} to ${index}`)
    if (this.shown >= 0 && states.historyOf(this.shown) !== states.historyOf(index) && !isOtherEpoch)
      violate('epoch', `${name} shows another history of the source without EPOCH_CHANGED`)
    if (index === this.shown) return // It may be the state before the list that follows EPOCH_CHANGED.
    this.shown = index
    this.#epochsWhenShown = this.#epochs
  }

  /** The index of the state that it shows now; -1 if there is none. */
  get showsNow(): number {
    return this.#host.states.indexOf(this.scope, textOf(this.informer.entries())) ?? -1
  }

  /** Compares the answers of the store and of its indexes with each other. */
  checkAnswers(): void {
    const { informer, name } = this
    const { violate } = this.#host
    const entries = [...informer.entries()]
    const wrong = (what: string): void => violate('answers', `${name}: ${what} of ${textOf(entries)}`)
    if (informer.size !== entries.length) wrong(`size ${informer.size}`)
    for (const [key, item] of entries) {
      if (informer.get(key)?.n !== item.n || informer.entry(key)?.object.n !== item.n) wrong(`get ${key}`)
      if (!informer.has(key)) wrong(`has ${key}`)
    }
    if (
      informer.list().map(numberOf).sort(ascending).join() !==
      entries
        .map(([, { n }]) => n)
        .sort(ascending)
        .join()
    )
      wrong('list')
    for (const tenant of tenants) {
      const expected = textOf(entries.filter(([, item]) => item.tenant === tenant))
      const found = textOf(informer.by.tenant.entries(tenant))
      if (found !== expected) wrong(`the index by tenant has ${found}, not ${expected},`)
    }
    const ordered = informer.by.n({}).map(numberOf).join()
    if (
      ordered !==
      entries
        .map(([, { n }]) => n)
        .sort(ascending)
        .join()
    )
      wrong(`the order is ${ordered}`)
  }

  /** Whether its handler has received what it shows. */
  get isFolded(): boolean {
    const entries = [...this.informer.entries()]
    return this.#folded.size === entries.length && entries.every(([key, { n }]) => this.#folded.get(key) === n)
  }

  /** The end of a port ends the watch over it, without a wait for the next heartbeat. */
  #checkCut(): void {
    const { clock, violate } = this.#host
    if (this.life !== 'running' || !this.isCut || !this.isLive) this.#aliveSince = undefined
    else this.#aliveSince ??= clock.elapsed
    if (clock.elapsed - (this.#aliveSince ?? clock.elapsed) > CUT_MS)
      violate('status', `${this.name} is live ${CUT_MS} ms after its port was closed`)
  }

  #fold({ type, key, object, previous }: Change<Item>): void {
    const known = this.#folded.get(key)
    const { violate } = this.#host
    if (known !== previous?.n || (type === 'add') !== (known === undefined))
      violate('fold', `${this.name}: ${type} of ${key}: it has ${known}, and ${previous?.n} as the previous object`)
    if (type === 'delete') this.#folded.delete(key)
    else this.#folded.set(key, object.n)
    if (this.informer.size <= FEW) this.look()
  }
}

function numberOf({ n }: Item): number {
  return n
}

function ascending(a: number, b: number): number {
  return a - b
}
