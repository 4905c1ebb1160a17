import { REFUSAL_MS } from '../../../adapters/common/upstream-versions.js'
import { memoryLeases, memoryRelayStore } from '../../../adapters/memory/index.js'
import { type RelayServing, relayCache, relaySource, serveRelay } from '../../../serving/relay/index.js'
import type { LeaseSession, Leases, RelayStore } from '../../../src/adapter.js'
import { createInformer, type Informer } from '../../../src/index.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import { quiet, UpstreamFollower } from '../upstream/follower.js'
import type { Item } from '../upstream/upstream-states.js'
import { KEYS, UpstreamWorld } from '../upstream/upstream-world.js'
import type { Stream } from '../workload/random-decisions.js'

const MOST = 3
const LEASE_MS = 2_000
/** Without leases, a relay that was replaced waits for 30 s. So do a follower and the mirror of a relay, after failures. */
const HEAL_MS = 60_000
/** The faults of writes that were not performed yet end within this time. */
const LAST_FAULTS_MS = 300_000
const STOP_MS = 20_000

const ACTIONS = [
  ...(['write', 'write', 'write', 'write', 'large', 'mark', 'mark'] as const),
  ...(['begin', 'kill', 'restart', 'restart', 'drain'] as const),
  ...(['lost reply', 'lost request', 'late request', 'deliver', 'away', 'back'] as const),
  ...(['fork', 'flush', 'compact', 'expire', 'upstream', 'disconnect', 'follower'] as const),
]
type Action = (typeof ACTIONS)[number]

type Process = { readonly informer: Informer<Item>; readonly relay: RelayServing; readonly link: { isCut: boolean } }

/** One schedule of relays and followers over one store with faults. */
export class RelayWorld extends UpstreamWorld<Action, RelayFollower> {
  readonly kind = 'relay'
  readonly store: ReturnType<typeof memoryRelayStore>
  /** Whether followers may have to list again. */
  hasLost = false
  readonly #leases: Leases | undefined
  readonly #processes: Process[] = []
  #begun = 0
  #followed = 0
  #faults = 0
  #isAvailable = true

  constructor(seed: number, options: ScheduleOptions = {}) {
    // A relay looks at its store after 5 s without a batch.
    super(seed, options, (random) => ({ heartbeatMs: random.pick([3_000, 10_000]), keys: KEYS, tenants: ['a'] }))
    const random = this.decisions.of('settings')
    this.store = memoryRelayStore({ maxChanges: random.pick([2, 3, 5, 100]) })
    this.#leases = random.chance(0.6)
      ? memoryLeases({ group: 'relay', mode: 'leader', leaseMs: LEASE_MS, clock: this.clock.facade() })
      : undefined
  }

  protected override *schedule(): Generator<undefined, void> {
    this.#begin()
    this.#follow()
    yield* this.advance(3_000)
    yield* this.act(ACTIONS)
    if (!this.hasFailed) yield* this.#heal()
    yield* this.#end()
  }

  protected override get between(): string {
    return `relays ${this.#processes.map(({ relay: { status } }) => `${status.state}: ${status.reason}`).join('; ')}`
  }

  protected override get late(): readonly RelayFollower[] {
    return this.followers.filter(({ shown }) => shown !== this.states.last)
  }

  protected override actions(random: Stream): Readonly<Record<Action, () => unknown>> {
    const write = (count: number): void => {
      this.write(random, count)
      if (!this.#isAvailable) this.mark('the upstream was written while the engine was away')
    }
    const disturb = (fault: 'lost reply' | 'lost request' | 'late request'): void => {
      this.store.disturb(fault)
      this.#faults++
    }
    const lose = (what: 'fork' | 'flush' | 'compact'): unknown => random.chance(0.3) && this.#lose(what, random)
    return {
      write: () => write(1 + random.below(2)),
      large: () => write(KEYS.length),
      mark: () => this.wait(random.pick(this.followers)),
      restart: () => {
        this.#kill(random)
        this.#begin()
      },
      begin: () => this.#processes.length < MOST && this.#begin(),
      kill: () => this.#kill(random),
      drain: () => this.#drain(),
      'lost reply': () => disturb('lost reply'),
      'lost request': () => disturb('lost request'),
      'late request': () => disturb('late request'),
      deliver: () => this.store.deliver(),
      away: () => this.#setAvailable(false),
      back: () => this.#setAvailable(true),
      expire: () => this.source.compact(),
      fork: () => lose('fork'),
      flush: () => lose('flush'),
      compact: () => lose('compact'),
      upstream: () => random.chance(0.3) && this.#restoreUpstream(random),
      disconnect: () => (random.chance(0.5) ? this.source : this.store.collection).disconnect(),
      follower: () => this.followers.length < MOST && this.#follow(),
    }
  }

  #restoreUpstream(random: Stream): void {
    this.hasLost = true
    this.mark('the upstream was restored')
    this.restore(random)
  }

  #setAvailable(isAvailable: boolean): void {
    this.#isAvailable = isAvailable
    this.store.setAvailable(isAvailable)
  }

  #lose(what: 'fork' | 'flush' | 'compact', random: Stream): void {
    this.hasLost = true
    if (what === 'fork') this.store.fork(1 + random.below(4))
    else if (what === 'flush') this.store.flush()
    else this.store.collection.compact()
    this.mark(`the engine has lost something: ${what}`)
  }

  #begin(): void {
    const link = { isCut: false }
    const { name, collection, maxChanges, maxBytes } = this.store
    const cut = <V>(work: () => Promise<V>): Promise<V> => (link.isCut ? new Promise<never>(() => {}) : work())
    const store: RelayStore = {
      name,
      collection,
      maxChanges,
      maxBytes,
      read: (...args) => cut(() => this.store.read(...args)),
      write: (...args) => cut(() => this.#disturbed(() => this.store.write(...args))),
      close: async () => {},
    }
    const [clock, random] = [this.clock.facade(), this.decisions.of(`jitter of relay ${++this.#begun}`)]
    const informer = createInformer({ source: this.source, cache: relayCache(store), clock, random, logger: quiet })
    const leases = this.#leases
    const replicas = leases && { ...leasesOf(leases), open: () => cutSession(leases.open(), cut) }
    const relay = serveRelay(informer, store, { clock, random, logger: quiet, ...(replicas && { leases: replicas }) })
    informer.start()
    this.#processes.push({ informer, relay, link })
    if (this.#processes.length > 1) this.mark(leases === undefined ? 'relays competed' : 'a relay stood by')
  }

  /** A write, which a fault may disturb. */
  #disturbed<V>(write: () => Promise<V>): Promise<V> {
    if (this.#isAvailable && this.#faults > 0) this.#faults--
    return write()
  }

  #kill(random: Stream): void {
    const [process] = this.#processes.splice(random.below(Math.max(1, this.#processes.length)), 1)
    if (process === undefined) return
    if (process.relay.status.backlog.keys > 0) this.mark('a relay was killed while changes waited')
    process.link.isCut = true
    void process.informer.stop()
    void process.relay.stop()
  }

  #drain(): void {
    const process = this.#processes.shift()
    if (process === undefined) return
    if (process.relay.status.backlog.keys > 0) this.mark('a relay was drained while changes waited')
    void process.relay.stop({ drainMs: 2_000 }).then(() => process.informer.stop())
  }

  #follow(): void {
    this.followers.push(new RelayFollower(this, `follower ${++this.#followed}`))
    if (this.hasLost) this.mark('a follower joined after a loss')
  }

  *#heal(): Generator<undefined, void> {
    this.note('faults are over')
    this.#setAvailable(true)
    this.store.deliver()
    if (this.#processes.length === 0) {
      this.mark('no relay was left when faults ended')
      this.#begin()
    }
    const latest = this.clock.elapsed + LAST_FAULTS_MS
    while (this.#faults > 0 && this.clock.elapsed < latest && !this.hasFailed) yield* this.advance(500)
    const since = this.clock.elapsed
    yield* this.converge(HEAL_MS)
    this.healMs = this.clock.elapsed - since
  }

  *#end(): Generator<undefined, void> {
    let areStopped = false
    const stopping = [
      ...this.followers.map(({ informer }) => informer.stop()),
      ...this.#processes.flatMap(({ relay, informer }) => [relay.stop(), informer.stop()]),
    ]
    Promise.all(stopping).then(
      () => (areStopped = true),
      (error: unknown) => this.crashed(error),
    )
    yield
    yield* this.until(() => areStopped, this.clock.elapsed + STOP_MS)
    if (!areStopped) this.violate('live', `a stop has not settled within ${STOP_MS} ms`)
  }
}

class RelayFollower extends UpstreamFollower {
  readonly informer: Informer<Item>
  readonly #world: RelayWorld
  /** When its watch has ended with `EPOCH_CHANGED`. */
  #endedAt = Number.NEGATIVE_INFINITY

  constructor(world: RelayWorld, name: string) {
    super(world, name, 'all')
    this.#world = world
    const source = relaySource<Item>({ store: world.store, upstream: world.source })
    this.informer = createInformer({ source, clock: world.clock.facade(), random: this.random, logger: quiet })
    this.observe()
    this.informer.on('error', ({ code, phase }) => {
      if (code === 'EPOCH_CHANGED' && phase === 'watch') this.#endedAt = world.clock.elapsed
      if (code === 'STALE_LIST') world.mark('a follower refused an earlier state')
    })
    const look = (): void => this.look()
    this.informer.subscribe({ add: look, update: look, delete: look })
    this.informer.start()
  }

  override look(): void {
    const { shown } = this
    super.look()
    if (this.shown < shown && this.#world.clock.elapsed - this.#endedAt < REFUSAL_MS)
      this.#world.violate('order', `${this.name} went back from state ${shown} to ${this.shown} too early`)
    const { relists, reason } = this.informer.status
    if (relists > 0 && !this.#world.hasLost) this.#world.violate('calm', `${this.name} listed again: ${reason}`)
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
