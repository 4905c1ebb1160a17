import type { Clock } from '../contract/clock.js'
import type { SourceError } from '../contract/errors.js'
import type { Entry } from '../contract/source.js'
import type { Status } from '../contract/status.js'
import type { Version } from '../contract/version.js'
import type { Indexer } from '../store/indexer.js'
import type { IndexBuilder } from '../store/indexes/index-types.js'
import type { StoreView } from '../store/store-view.js'
import type { Controller, ReconcileContext, ReconcileOptions } from '../subscriptions/controller/controller-types.js'
import type { Handlers } from '../subscriptions/delivery/handler-types.js'
import type { ChangeStream, SubscribeOptions, Subscription } from '../subscriptions/subscription-types.js'
import type { VersionWait } from '../subscriptions/version-waiters.js'
import { onAbort } from '../util/abort-listeners.js'
import { promised, type Wait } from '../util/deadline.js'
import { checkOptions, isFunction, isName, isPositive, isSignal } from '../util/validate-options.js'
import type { InformerContext } from './informer-context.js'
import type { InformerCore } from './informer-core.js'
import type { Health, HealthOptions, Informer } from './informer-types.js'
import type { GroupMember } from './lifecycle.js'
import type { Inspection } from './observation/inspect-types.js'
import type { Measurements } from './observation/measurements.js'
import type { RelistLimiter } from './relist-limiter.js'

export class SourceInformer<S, I extends object, T> implements Informer<T, I>, GroupMember {
  readonly #context: InformerContext<T, I>
  readonly #indexer: Indexer<T, I>
  readonly #core: InformerCore<S, T>
  #stopped: Promise<void> | undefined

  constructor(context: InformerContext<T, I>, core: InformerCore<S, T>) {
    this.#context = context
    this.#core = core
    this.#indexer = context.indexer
    core.register(this)
  }

  get name(): string {
    return this.#core.name
  }

  inspect(): Inspection {
    return this.#core.observation.inspect()
  }

  measure(): Measurements {
    return this.#core.observation.measure()
  }

  limitRelists(limiter: RelistLimiter): void {
    const { relistLimiters } = this.#context
    if (!relistLimiters.includes(limiter)) relistLimiters.push(limiter) // A group may have a member twice.
  }

  get clock(): Clock {
    return this.#context.clock
  }

  get parts(): readonly object[] {
    return [this]
  }

  get dependencies(): readonly object[] {
    return [...(this.#core.sources.view?.informers ?? []), ...this.#core.subscriptions.dependencies]
  }

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
      this.#core.remember(index, this)
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
    this.#context.stopped.addEventListener('abort', onAbort(signal, abort), { once: true })
    if (signal?.aborted) abort()
    else {
      this.#core.followStatus()
      sources.start()
      // A set without sources has no list that would open the latch.
      if (this.#core.openIfListed()) this.#core.waits.recheck()
    }
    return this
  }

  async stop(options: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    checkOptions('stop', options, { drainMs: isPositive })
    if (this.#stopped === undefined) {
      // Set before listeners are notified, because one of them may call `stop` again.
      const stopped = Promise.withResolvers<void>()
      this.#stopped = stopped.promise
      stopped.resolve(this.#core.stop(this, options.drainMs))
    }
    await this.#stopped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  get status(): Status {
    return this.#core.observation.status()
  }

  health(options: HealthOptions = {}): Health {
    return this.#core.observation.health(options)
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
    return this.#core.subscriptions.subscribe(handlers, options)
  }

  changes(options: SubscribeOptions<T, I> = {}): ChangeStream<T> {
    return this.#core.subscriptions.changes(options)
  }

  reconcile<W extends readonly unknown[]>(
    fn: (key: string, context: ReconcileContext<T>) => Promise<void>,
    options: ReconcileOptions<T, I, W> = {},
  ): Controller {
    return this.#core.subscriptions.reconcile(fn, options)
  }

  synced(wait: Wait = {}): Promise<void> {
    return promised(() => this.#core.waits.synced(wait))
  }

  waitFor(version: Version, wait: VersionWait = {}): Promise<void> {
    return promised(() => this.#core.waits.waitFor(version, wait))
  }

  fresh(wait: Wait = {}): Promise<void> {
    return promised(() => this.#core.waits.fresh(wait))
  }

  relist(wait: Wait = {}): Promise<void> {
    return promised(() => this.#core.waits.relist(wait))
  }

  until(key: string, condition: (object: T | undefined) => boolean, wait: Wait = {}): Promise<T | undefined> {
    return promised(() => this.#core.waits.until(key, condition, wait))
  }

  #assertNotStopped(call: string): void {
    if (this.#context.stopped.aborted) throw this.#core.sources.stoppedError(call)
  }
}
