import { type Clock, systemClock } from '../contract/clock.js'
import type { SourceError } from '../contract/errors.js'
import { ABORTED, thrownFor } from '../contract/errors.js'
import { type Random, systemRandom } from '../contract/random.js'
import type { Entry, ListerWatcher } from '../contract/source.js'
import type { Status } from '../contract/status.js'
import type { Version } from '../contract/version.js'
import type { ReflectorState } from '../reflector/reflector-state-types.js'
import type { Indexer } from '../store/indexer.js'
import type { IndexBuilder } from '../store/indexes/index-types.js'
import type { StoreView } from '../store/store-view.js'
import { BatchIterator } from '../subscriptions/batch-iterator.js'
import { ChangeRouter } from '../subscriptions/change-router.js'
import type { Controller, ReconcileContext, ReconcileOptions } from '../subscriptions/controller-types.js'
import { Feed } from '../subscriptions/feed.js'
import { type FeedWants, WANTS_ADDS, WANTS_BATCHES, WANTS_CHANGES } from '../subscriptions/feed-wants.js'
import { HandlerSubscription } from '../subscriptions/handler-subscription.js'
import { assertHandlers, type Handlers } from '../subscriptions/handler-types.js'
import { newController } from '../subscriptions/new-controller.js'
import type { ChangeStream, FeedOptions, SubscribeOptions, Subscription } from '../subscriptions/subscription-types.js'
import type { VersionWait } from '../subscriptions/version-waiters.js'
import { onAbort } from '../util/abort-listeners.js'
import { settleWithin, type Wait } from '../util/deadline.js'
import { Latch } from '../util/latch.js'
import { DEFAULT_SLICES } from '../util/steps.js'
import { checkOptions, isFunction, isName, isPositive, isSignal } from '../util/validate-options.js'
import { CommitRouting } from './commit-routing.js'
import { CommitSignal, connectSignal } from './commit-signal.js'
import { InformerFeedHost } from './feed-host.js'
import { savedOptions } from './fingerprint.js'
import { InformerEvents } from './informer-events.js'
import { InformerSources } from './informer-sources.js'
import { InformerStatus } from './informer-status.js'
import { informerStore } from './informer-store.js'
import type { Health, HealthOptions, Informer, InformerOptions } from './informer-types.js'
import { InformerWaits } from './informer-waits.js'
import type { Inspection } from './inspect-types.js'
import type { GroupMember } from './lifecycle.js'
import type { Measurements } from './measurements.js'
import { Observation } from './observation.js'
import { type LargeWrite, rememberStore } from './packable-mirror.js'
import { informers } from './registry.js'
import { rememberMirror } from './relayed-mirror.js'
import { acquireAll, type RelistLimiter } from './relist-limiter.js'
import type { SourceRunner } from './source-runner.js'
import type { DynamicSourceSet } from './source-set.js'

/** The subscriptions by the method that creates them. */
const KINDS = { subscribe: 'subscription', changes: 'stream', reconcile: 'controller' } as const

/** If a source does not end, `stop` settles after this time, in milliseconds. */
const STOP_GRACE_MS = 1_000

/** The informer of one source, or of a set of sources. `createInformer` validates its options. */
export class SourceInformer<S, I extends object, P, T> implements Informer<T, I>, GroupMember {
  readonly #clock: Clock
  readonly #random: Random
  readonly #events: InformerEvents
  readonly #indexer: Indexer<T, I>
  readonly #sources: InformerSources<S, T>
  readonly #status: InformerStatus<S, T>
  readonly #waits: InformerWaits<S, T>
  readonly #router: ChangeRouter<T>
  readonly #feedHost: InformerFeedHost<S, T>
  readonly #observation: Observation<S, T>
  readonly #routing: CommitRouting<S, T>
  readonly #signal = new CommitSignal()
  /** Opens when the first list of each source is in the store. */
  readonly #synced = new Latch()
  /** The subscriptions that are not closed, and those whose handlers still run. */
  readonly #subscriptions = new Map<Feed<T>, Subscription>()
  /** Aborts when the informer is stopped. */
  readonly #stopping = new AbortController()
  #stopped: Promise<void> | undefined
  readonly #limiters: RelistLimiter[] = []
  /** The informers that each controller waits for. */
  readonly #dependencies = new WeakMap<Feed<T>, readonly object[]>()

  /** `source` is that of the options, validated by createInformer. */
  constructor(options: InformerOptions<S, I, P, T>, source: DynamicSourceSet<S> | ListerWatcher<S>) {
    const { clock = systemClock, random = systemRandom, slices = DEFAULT_SLICES } = options
    this.#clock = clock
    this.#router = new ChangeRouter(slices.changesPerStep)
    this.#random = random
    const stopped = this.#stopping.signal
    const events = new InformerEvents(clock, options.logger, () => this.#sources.name)
    this.#events = events
    const indexer = informerStore(options, { source, clock, slices, events, sources: () => this.#sources })
    this.#indexer = indexer
    this.#sources = new InformerSources<S, T>(source, options.audit, {
      clock,
      random,
      events,
      indexer,
      stopped,
      ...savedOptions(options, source),
      onAccessLost: options.onAccessLost ?? 'keep',
      acquireRelistSlot: (signal) => acquireAll(this.#limiters, signal, clock),
      committed: (runner, commit) => this.#routing.committed(runner, commit),
      writing: (runner) => this.#observation.writing(runner),
      confirmed: (runner) => this.#routing.confirmed(runner),
      stateChanged: (runner, previous) => this.#stateChanged(runner, previous),
      waitFor: (runner, version, wait) => this.#waits.forRunner(runner, version, wait),
      sourceRemoved: () => {
        this.#routing.openIfListed()
        this.#waits.recheck()
      },
    })
    this.#status = new InformerStatus(this.#sources, this.#synced, stopped)
    const get = (key: string): T | undefined => indexer.get(key)
    this.#waits = new InformerWaits(this.#sources, this.#status, this.#synced, { clock, random, events, stopped, get })
    this.#feedHost = new InformerFeedHost({
      indexer,
      clock,
      slices,
      events,
      sources: this.#sources,
      waits: this.#waits,
      synced: this.#synced,
      router: this.#router,
      subscriptions: this.#subscriptions,
    })
    this.#observation = new Observation({
      name: options.name,
      clock,
      events,
      indexer,
      sources: this.#sources,
      status: this.#status,
      subscriptions: this.#subscriptions,
    })
    this.#routing = new CommitRouting({
      router: this.#router,
      signal: this.#signal,
      feedHost: this.#feedHost,
      observation: this.#observation,
      sources: this.#sources,
      waits: this.#waits,
      synced: this.#synced,
    })
    for (const each of [this, ...Object.values(indexer.by)]) connectSignal(each, this.#signal)
    informers.add(this)
    rememberMirror(this, this.#sources.only)
    rememberStore(this, indexer)
  }

  get name(): string {
    return this.#observation.name
  }

  inspect(): Inspection {
    return this.#observation.inspect()
  }

  /** @internal */
  measure(): Measurements {
    return this.#observation.measure()
  }

  /** @internal */
  limitRelists(limiter: RelistLimiter): void {
    this.#limiters.push(limiter)
  }

  /** @internal */
  get clock(): Clock {
    return this.#clock
  }

  /** @internal */
  get parts(): readonly object[] {
    return [this]
  }

  /** @internal */
  get dependencies(): readonly object[] {
    return [...this.#subscriptions.keys()].flatMap((feed) => this.#dependencies.get(feed) ?? [])
  }

  /** @internal */
  assertStartable(): void {
    this.#assertNotStopped('start')
  }

  get(key: string): T | undefined {
    return this.#indexer.get(key)
  }

  has(key: string): boolean {
    return this.#indexer.has(key)
  }

  get size(): number {
    return this.#indexer.size
  }

  get version(): Version | undefined {
    return this.#indexer.version
  }

  get versions(): ReadonlyMap<string, Version> {
    return this.#sources.versions
  }

  entry(key: string): Entry<T> | undefined {
    return this.#indexer.entry(key)
  }

  keys(): IteratorObject<string, undefined> {
    return this.#indexer.keys()
  }

  entries(): IteratorObject<[key: string, object: T], undefined> {
    return this.#indexer.entries()
  }

  list(): readonly T[] {
    return this.#indexer.list()
  }

  get by(): I {
    return this.#indexer.by
  }

  get invalid(): ReadonlyMap<string, SourceError> {
    return this.#indexer.invalid
  }

  snapshot(): StoreView<T, I> & Disposable {
    this.#assertNotStopped('snapshot')
    return this.#indexer.snapshot()
  }

  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): Promise<X> {
    const flaw = isName(name) ?? isFunction(build)
    if (flaw !== undefined) throw new TypeError('addIndex: a name and a function are needed')
    this.#assertNotStopped('addIndex')
    const adding = this.#indexer.addIndex(name, build)
    return adding.then((index) => {
      connectSignal(index, this.#signal)
      return index
    })
  }

  start(options: { readonly signal?: AbortSignal | undefined } = {}): this {
    checkOptions('start', options, { signal: isSignal })
    this.assertStartable()
    if (this.#sources.isStarted) return this
    const { signal } = options
    const abort = (): void => void this.stop()
    this.#stopping.signal.addEventListener('abort', onAbort(signal, abort), { once: true })
    if (signal?.aborted) abort()
    else {
      this.#sources.start()
      // A set without sources has no list that would open the latch.
      if (this.#routing.openIfListed()) this.#waits.recheck()
    }
    return this
  }

  stop(options: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    checkOptions('stop', options, { drainMs: isPositive })
    if (this.#stopped === undefined) {
      // Set before listeners are notified, because one of them may call `stop` again.
      const stopped = Promise.withResolvers<void>()
      this.#stopped = stopped.promise
      stopped.resolve(this.#stop(options.drainMs))
    }
    return this.#stopped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #stop(drainMs: number | undefined): Promise<void> {
    this.#stopping.abort(ABORTED)
    informers.remove(this)
    this.#indexer.writer.end()
    const error = this.#sources.stoppedError('the wait')
    const ended = this.#sources.end(error)
    this.#synced.rejectAll(error)
    this.#waits.recheck()
    // Before the first list nothing was delivered, and no list arrives any more.
    if (drainMs !== undefined && this.#feedHost.isFilled) await this.#drain(drainMs)
    const closing = Array.from(this.#subscriptions.values(), (subscription) => subscription.close())
    const idle = [this.#indexer.writer.idle(), this.#feedHost.scans.idle()]
    await settleWithin(STOP_GRACE_MS, Promise.all([ended, ...idle, ...closing]), this.#clock)
    await Promise.all(closing)
    await this.#sources.saved()
    // A source that did not end in time may still fail or warn.
    this.#events.close()
    informers.ended(this)
  }

  /** Waits until the subscriptions have handled their pending changes. */
  async #drain(ms: number): Promise<void> {
    const drain = async (): Promise<void> => {
      await this.#indexer.writer.idle() // The changes of a large commit may still be queued.
      await Promise.all(Array.from(this.#subscriptions.values(), (each) => each.close({ drain: true })))
    }
    await settleWithin(ms, drain(), this.#clock)
  }

  get status(): Status {
    return this.#status.current()
  }

  health(options: HealthOptions = {}): Health {
    return this.#status.health(options, this.#subscriptions.keys(), this.#clock)
  }

  on(event: 'error' | 'status', listener: (...args: never[]) => void): this {
    this.#events.on(event, listener)
    return this
  }

  off(event: 'error' | 'status', listener: (...args: never[]) => void): this {
    this.#events.off(event, listener)
    return this
  }

  subscribe(handlers: Handlers<T>, options: SubscribeOptions<T, I> = {}): Subscription {
    assertHandlers(handlers, 'subscribe')
    const feed = this.#feed('subscribe', options, handlers.add === undefined ? WANTS_CHANGES : WANTS_ADDS)
    return this.#own(feed, new HandlerSubscription(feed, handlers, options))
  }

  changes(options: SubscribeOptions<T, I> = {}): ChangeStream<T> {
    const feed = this.#feed('changes', options, WANTS_BATCHES)
    return this.#own(feed, new BatchIterator(feed, options.signal))
  }

  reconcile<W extends readonly unknown[]>(
    fn: (key: string, context: ReconcileContext<T>) => Promise<void>,
    options: ReconcileOptions<T, I, W> = {},
  ): Controller {
    const feedOf = (scope: FeedOptions<T>): Feed<T> => this.#feed('reconcile', scope)
    const { feed, controller, others } = newController(feedOf, fn, options, this.#random)
    this.#dependencies.set(feed, others)
    return this.#own(feed, controller)
  }

  synced(wait: Wait = {}): Promise<void> {
    return this.#waits.synced(wait)
  }

  waitFor(version: Version, wait: VersionWait = {}): Promise<void> {
    return this.#waits.waitFor(version, wait)
  }

  fresh(wait: Wait = {}): Promise<void> {
    return this.#waits.fresh(wait)
  }

  relist(wait: Wait = {}): Promise<void> {
    return this.#waits.relist(wait)
  }

  until(key: string, condition: (object: T | undefined) => boolean, wait: Wait = {}): Promise<T | undefined> {
    return this.#waits.until(key, condition, wait)
  }

  #feed(call: keyof typeof KINDS, options: FeedOptions<T>, wants?: FeedWants): Feed<T> {
    this.#assertNotStopped(call)
    this.#indexer.writer.assertNotWriting(call)
    // The filter is called for all stored objects now.
    const feed = this.#indexer.writer.reentrancy.run(() => new Feed<T>(this.#feedHost, call, options, wants))
    feed.counts = this.#observation.countsOf(KINDS[call], options.name)
    feed.informer = this.name
    return feed
  }

  /** From now on `stop` closes the subscription. */
  #own<Sub extends Subscription>(feed: Feed<T>, subscription: Sub): Sub {
    if (feed.closed === undefined) this.#subscriptions.set(feed, subscription)
    // The filter may have stopped the informer.
    if (this.#stopping.signal.aborted) void subscription.close()
    return subscription
  }

  /** @internal */
  get largeWrite(): LargeWrite {
    const { isRouting } = this.#routing
    const isScanning = this.#feedHost.scans.isBusy
    return { isWriting: this.#indexer.writer.isBusy, isRouting, isScanning, removing: this.#sources.removing }
  }

  #stateChanged(runner: SourceRunner<S, T>, before: ReflectorState): void {
    this.#observation.stateChanged(runner, before)
    if (runner.reflector.state.name === 'failed') this.#synced.rejectAll(thrownFor(runner.reflector.lastError))
    this.#events.status(() => [this.#status.current(), this.#status.current(runner, before)])
  }

  #assertNotStopped(call: string): void {
    if (this.#stopping.signal.aborted) throw this.#sources.stoppedError(call)
  }
}
