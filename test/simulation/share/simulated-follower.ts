import { sharedSource } from '../../../serving/share/index.js'
import type { Clock } from '../../../src/contract/clock.js'
import { type Change, createInformer, type IndexBuilder, type Informer } from '../../../src/index.js'
import type { SimClock, SleepCounter } from '../system/sim-clock.js'
import { quiet, UpstreamFollower } from '../upstream/follower.js'
import { type Item, type Tenant, tenants, textOf } from '../upstream/upstream-states.js'
import { PortChecker } from './port-checker.js'
import type { ShareWorld } from './share-world.js'
import { type SharedMirror, type ShareIndexes, shareIndexes } from './shared-mirror.js'
import { SimulatedPort } from './simulated-channel.js'

/** `packed` and `indexed` start from the snapshot of the share. `indexed` has an index that the share does not have. */
export type Variant = 'packed' | 'indexed' | 'listing' | 'scoped'

/** A follower has heard of the end of its port after this time, in milliseconds. */
const CUT_MS = 3_000
/** Up to this many objects are compared at each change. */
const FEW = 20

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
  readonly tenant: Tenant
  readonly fate?: Fate | undefined
}

/** Equal values, of functions with another text. */
const otherIndexes = (ix: IndexBuilder<Item>) => ({
  tenant: ix.equal(({ tenant }: Item) => tenant),
  n: ix.ordered(({ n }: Item) => n + 0),
})

/** A worker thread with an informer that follows the share, and everything that is checked of it. */
export class SimulatedFollower extends UpstreamFollower {
  readonly variant: Variant
  readonly mirror: SharedMirror
  readonly port: SimulatedPort
  readonly checker: PortChecker
  readonly clock: WorkerClock
  readonly informer: Informer<Item, ShareIndexes>
  life: 'running' | 'blocked' | 'dead' | 'stopped' = 'running'
  wasBlocked = false
  readonly #world: ShareWorld
  /** What the shared informer showed when it joined; -1 if it showed nothing. */
  readonly #atLeast: number
  /** What its handler has received, by key. */
  readonly #folded = new Map<string, number>()
  #looks = 0
  /** The time since which its watch is open although its port is closed. */
  #aliveSince: number | undefined
  #hasClosedPort = false

  constructor(world: ShareWorld, { name, variant, mirror, tenant, fate }: FollowerOptions) {
    super(world, name, variant === 'scoped' ? tenant : 'all')
    const port = mirror.port(variant === 'scoped' ? tenant : undefined)
    if (!(port instanceof SimulatedPort)) throw new Error('the port is a real one')
    this.variant = variant
    this.mirror = mirror
    this.port = port
    this.#world = world
    this.#atLeast = mirror.shown
    this.clock = new WorkerClock(world.clock)
    this.checker = new PortChecker({
      violate: (message) => world.violate('bounded', `${name}: ${message}`),
      waits: () => world.mark('a watch waited for its reader'),
      crossed: () => {
        if (fate !== undefined && --fate.messages === 0) fate.act()
      },
      opened: (size) => {
        if (size > 0) world.mark('a follower started from a snapshot')
        if (size > 0 && mirror.isCleared && mirror.hasBeenCleared)
          world.violate('access', `${name} receives a snapshot of objects that were deleted after lost access`)
      },
    })
    port.channel.tap = this.checker
    const source = sharedSource<Item>({ port, heartbeatMs: world.settings.heartbeatMs, upstream: world.source })
    this.informer = createInformer<Item, ShareIndexes>({
      source,
      clock: this.clock,
      random: this.random,
      logger: quiet,
      indexes: variant === 'indexed' ? otherIndexes : shareIndexes,
      ...(variant === 'listing' && { transform: (item: Item) => item }),
    })
    this.observe()
    const fold = (change: Change<Item>): void => this.#fold(change)
    this.informer.subscribe({ add: fold, update: fold, delete: fold })
    this.informer.start()
  }

  get startsFromSnapshot(): boolean {
    return this.variant === 'packed' || this.variant === 'indexed'
  }

  override get isAlive(): boolean {
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
    this.informer.stop().catch((error: unknown) => this.#world.crashed(error))
  }

  closePort(): void {
    this.#hasClosedPort = true
    this.port.close()
  }

  override look(): void {
    this.#checkCut()
    const { informer } = this
    if (!this.isAlive || !informer.status.isSynced) return
    if (++this.#looks % 8 === 0) this.checkAnswers()
    if (informer.size > 0 || !this.#world.hasCleared) super.look()
  }

  protected override firstShows(index: number): void {
    if (index < this.#atLeast)
      this.#world.violate(
        'new',
        `${this.name} is synced at state ${index}, and state ${this.#atLeast} was shared when it joined`,
      )
  }

  /** Compares the answers of the store and of its indexes with each other. */
  checkAnswers(): void {
    const { informer, name } = this
    const { violate } = this.#world
    const entries = [...informer.entries()]
    const wrong = (what: string): void => violate('answers', `${name}: ${what} of ${textOf(entries)}`)
    if (informer.size !== entries.length) wrong(`size ${informer.size}`)
    for (const [key, item] of entries) {
      if (informer.get(key)?.n !== item.n || informer.entry(key)?.object.n !== item.n) wrong(`get ${key}`)
      if (!informer.has(key)) wrong(`has ${key}`)
    }
    const numbers = entries
      .map(([, { n }]) => n)
      .sort(ascending)
      .join()
    if (informer.list().map(numberOf).sort(ascending).join() !== numbers) wrong('list')
    for (const tenant of tenants) {
      const expected = textOf(entries.filter(([, item]) => item.tenant === tenant))
      const found = textOf(informer.by.tenant.entries(tenant))
      if (found !== expected) wrong(`the index by tenant has ${found}, not ${expected},`)
    }
    const ordered = informer.by.n({}).map(numberOf).join()
    if (ordered !== numbers) wrong(`the order is ${ordered}`)
  }

  /** Whether its handler has received what it shows. */
  get isFolded(): boolean {
    const entries = [...this.informer.entries()]
    return this.#folded.size === entries.length && entries.every(([key, { n }]) => this.#folded.get(key) === n)
  }

  /** The end of a port ends the watch over it, without a wait for the next heartbeat. */
  #checkCut(): void {
    const { clock, violate } = this.#world
    if (this.life !== 'running' || !this.isCut || !this.isLive) this.#aliveSince = undefined
    else this.#aliveSince ??= clock.elapsed
    if (clock.elapsed - (this.#aliveSince ?? clock.elapsed) > CUT_MS)
      violate('status', `${this.name} is live ${CUT_MS} ms after its port was closed`)
  }

  #fold({ type, key, object, previous }: Change<Item>): void {
    const known = this.#folded.get(key)
    const { violate } = this.#world
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

/** The clock of one thread. While the thread is blocked, none of its timers fires; after its end, none does. */
export class WorkerClock implements Clock {
  readonly #clock: SimClock
  readonly #inner: SleepCounter
  #isBlocked = false
  #hasEnded = false
  #missed: (() => void)[] = []

  constructor(clock: SimClock) {
    this.#clock = clock
    this.#inner = clock.facade()
  }

  get sleeping(): number {
    return this.#inner.sleeping
  }

  now(): number {
    return this.#inner.now()
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#inner.sleep(ms, signal)
    while (this.#isBlocked) await new Promise<void>((resolve) => this.#missed.push(resolve))
    if (this.#hasEnded) await new Promise<never>(() => {})
    signal?.throwIfAborted()
  }

  block(): void {
    this.#isBlocked = true
  }

  unblock(): void {
    this.#isBlocked = false
    for (const resolve of this.#missed) this.#clock.in(0, resolve)
    this.#missed = []
  }

  end(): void {
    this.#hasEnded = true
    this.unblock()
  }
}
