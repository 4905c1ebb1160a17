import type { Clock } from '../contract/clock.js'
import type { SourceError } from '../contract/errors.js'
import { ABORTED } from '../contract/errors.js'
import type { Entry, ListerWatcher } from '../contract/source.js'
import type { Status } from '../contract/status.js'
import type { Version } from '../contract/version.js'
import type { Indexer } from '../store/indexer.js'
import type { IndexBuilder } from '../store/indexes/index-types.js'
import type { StoreView } from '../store/store-view.js'
import type { Controller, ReconcileContext, ReconcileOptions } from '../subscriptions/controller-types.js'
import type { Handlers } from '../subscriptions/handler-types.js'
import type { ChangeStream, SubscribeOptions, Subscription } from '../subscriptions/subscription-types.js'
import type { VersionWait } from '../subscriptions/version-waiters.js'
import { offAbort, onAbort } from '../util/abort-listeners.js'
import { settleWithin, type Wait } from '../util/deadline.js'
import { checkOptions, isFunction, isName, isPositive, isSignal } from '../util/validate-options.js'
import { InformerContext } from './informer-context.js'
import { InformerCore, type LargeWrite } from './informer-core.js'
import type { InformerSubscriptions } from './informer-subscriptions.js'
import type { Health, HealthOptions, Informer, InformerOptions } from './informer-types.js'
import type { InformerWaits } from './informer-waits.js'
import type { Inspection } from './inspect-types.js'
import { type Internals, rememberInternals } from './internals.js'
import type { GroupMember } from './lifecycle.js'
import type { Measurements } from './measurements.js'
import { informers } from './registry.js'
import type { RelistLimiter } from './relist-limiter.js'
import { isAudited, sourceOptions } from './source-options.js'
import { DynamicSourceSet } from './source-set.js'
import { preparing } from './standard-schema.js'

/** If a source does not end, `stop` settles after this time, in milliseconds. */
const STOP_GRACE_MS = 1_000

/** The informer of one source, or of a set of sources. `createInformer` validates its options. */
export class SourceInformer<S, I extends object, P, T> implements Informer<T, I>, GroupMember {
  readonly #context: InformerContext<T, I>
  readonly #indexer: Indexer<T, I>
  readonly #core: InformerCore<S, T>
  readonly #subscriptions: InformerSubscriptions<S, T>
  readonly #waits: InformerWaits<S, T>
  readonly #internals: Internals
  #stopped: Promise<void> | undefined

  /** `source` is that of the options, validated by createInformer. */
  constructor(options: InformerOptions<S, I, P, T>, source: DynamicSourceSet<S> | ListerWatcher<S>) {
    const isFilteredKept =
      source instanceof DynamicSourceSet ? options.audit !== false : isAudited(source, options.audit)
    this.#context = new InformerContext<T, I>(options, preparing(options), isFilteredKept)
    this.#core = new InformerCore<S, T>(this.#context, source, sourceOptions(options, source), options.name)
    this.#indexer = this.#context.indexer
    this.#subscriptions = this.#core.subscriptions
    this.#waits = this.#core.waits
    this.#internals = this.#core.internals
    for (const each of [this, ...Object.values(this.#indexer.by)]) rememberInternals(each, this.#internals)
    informers.add(this)
  }

  get name(): string {
    return this.#core.observation.name
  }

  inspect(): Inspection {
    return this.#core.observation.inspect()
  }

  /** @internal */
  measure(): Measurements {
    return this.#core.observation.measure()
  }

  /** @internal */
  limitRelists(limiter: RelistLimiter): void {
    this.#context.relistLimiters.push(limiter)
  }

  /** @internal */
  get clock(): Clock {
    return this.#context.clock
  }

  /** @internal */
  get parts(): readonly object[] {
    return [this]
  }

  /** @internal */
  get dependencies(): readonly object[] {
    return this.#subscriptions.dependencies
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
    return this.#core.sources.versions
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
      rememberInternals(index, this.#internals)
      return index
    })
  }

  start(options: { readonly signal?: AbortSignal | undefined } = {}): this {
    checkOptions('start', options, { signal: isSignal })
    this.assertStartable()
    const { sources } = this.#core
    if (sources.isStarted) return this
    const { signal } = options
    const abort = (): void => void this.stop()
    onAbort(signal, abort)
    this.#context.stopped.addEventListener('abort', () => offAbort(signal, abort), { once: true })
    if (signal?.aborted) abort()
    else {
      sources.start()
      // A set without sources has no list that would open the latch.
      if (this.#core.openIfListed()) this.#waits.recheck()
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
    const { clock, events, router, stopping, synced } = this.#context
    const { sources } = this.#core
    const { writer } = this.#indexer
    stopping.abort(ABORTED)
    informers.remove(this)
    writer.end()
    const error = sources.stoppedError('the wait')
    const ended = sources.end(error)
    synced.rejectAll(error)
    this.#waits.recheck()
    if (drainMs !== undefined) await this.#subscriptions.drain(drainMs)
    const closing = this.#subscriptions.close()
    const idle = [writer.idle(), router.scans.idle()]
    await settleWithin(STOP_GRACE_MS, Promise.all([ended, ...idle, ...closing]), clock)
    await Promise.all(closing)
    await sources.saved()
    // A source that did not end in time may still fail or warn.
    events.close()
    informers.ended(this)
  }

  get status(): Status {
    return this.#core.status.current()
  }

  health(options: HealthOptions = {}): Health {
    return this.#core.status.health(options)
  }

  on(event: 'error' | 'status', listener: (...args: never[]) => void): this {
    this.#context.events.on(event, listener)
    return this
  }

  off(event: 'error' | 'status', listener: (...args: never[]) => void): this {
    this.#context.events.off(event, listener)
    return this
  }

  subscribe(handlers: Handlers<T>, options: SubscribeOptions<T, I> = {}): Subscription {
    return this.#subscriptions.subscribe(handlers, options)
  }

  changes(options: SubscribeOptions<T, I> = {}): ChangeStream<T> {
    return this.#subscriptions.changes(options)
  }

  reconcile<W extends readonly unknown[]>(
    fn: (key: string, context: ReconcileContext<T>) => Promise<void>,
    options: ReconcileOptions<T, I, W> = {},
  ): Controller {
    return this.#subscriptions.reconcile(fn, options)
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

  /** @internal */
  get largeWrite(): LargeWrite {
    return this.#core.largeWrite
  }

  #assertNotStopped(call: string): void {
    if (this.#context.stopped.aborted) throw this.#core.sources.stoppedError(call)
  }
}
