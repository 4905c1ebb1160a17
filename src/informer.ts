import { EventEmitter } from 'eventemitter3'
import { type ChangeStream, IteratorSubscription } from './change-stream.js'
import { type Clock, systemClock } from './clock.js'
import { type Controller, FeedController, type ReconcileContext } from './controller.js'
import { messageOf, SourceError, toSourceError } from './errors.js'
import { Feed, type FeedHost, type FeedOptions, type Scope, type SubscribeOptions, type Subscription } from './feed.js'
import { isDevelopment } from './freeze.js'
import type { IndexBuilder } from './index-types.js'
import { type Commit, Indexer } from './indexer.js'
import { checkOptions, isBoolean, isFunction, isName, isObject, isOneOf, isPositive, isSignal } from './options.js'
import { type Random, systemRandom } from './random.js'
import { assertSource, Reflector } from './reflector.js'
import { Router } from './router.js'
import type { Entry, ListerWatcher } from './source.js'
import { assertHandlers, HandlerSubscription, type Handlers } from './subscription.js'
import { channels, type Logger, type Status } from './telemetry.js'
import type { Version } from './version.js'
import type { StoreView } from './views.js'
import { checkVersionWait, checkWait, Gate, type Settle, VersionWaiters, type Wait, waiting } from './waits.js'

/** `stop` waits this long for a source that does not end, in milliseconds. */
const STOP_GRACE_MS = 1_000
/** Where nobody listens to errors, a process warning says so at most this often, in milliseconds. */
const WARNING_MS = 60_000

/** What can be started and stopped. */
export interface Lifecycle extends AsyncDisposable {
  /** Begins to mirror; a second call does nothing. With `signal`, stops when it aborts. Throws `STOPPED` after `stop`. */
  start(options?: { readonly signal?: AbortSignal | undefined }): this
  /**
   * Resolves when the first list is in the store, also where the collection is empty. Rejects when the state becomes
   * `failed` before that (`NOT_FOUND`, `UNAUTHORIZED`, `PROTOCOL`), while the informer goes on trying.
   */
  synced(wait?: Wait): Promise<void>
  /** Ends it for good: no callback begins any more, running ones get up to 1 s. The store stays readable. */
  stop(): Promise<void>
  /**
   * For probes. `isLive`: started and not stopped. `isReady`: the first list is in, and, with `staleAfterMs`, the source
   * was heard within that time.
   */
  health(options?: { readonly staleAfterMs?: number }): {
    readonly isLive: boolean
    readonly isReady: boolean
    readonly reason: string
  }
}

/**
 * A source mirrored into an indexed store.
 *
 * Promised: the states that the store shows of a key are a subsequence of the states that the source had of it, in
 * order; once faults are over and writes stop, store and subscriptions equal the source. No read sees part of a list
 * or of a batch.
 */
export interface Informer<T, I = {}> extends StoreView<T, I>, Lifecycle {
  /** The version of each source of a set; of a single source under its name. */
  readonly versions: ReadonlyMap<string, Version>
  readonly status: Status
  /** Objects that could not be decoded, with the reason. A later good event clears it. */
  readonly invalid: ReadonlyMap<string, SourceError>
  /** Every failure, with what happens next. An error that nobody listens to is a process warning. */
  on(event: 'error', listener: (error: SourceError) => void): this
  on(event: 'status', listener: (status: Status, previous: Status) => void): this
  off(event: 'error' | 'status', listener: (...args: never[]) => void): this
  /** Tells handlers first what the store holds, then every change exactly once. */
  subscribe(handlers: Handlers<T>, options?: SubscribeOptions<T, I>): Subscription
  /** The same as an async iterator of batches, with backpressure. */
  changes(options?: SubscribeOptions<T, I>): ChangeStream<T>
  /** Runs `fn` for each key that is not yet as it should be: coalesced, retried, never twice at once for a key. */
  reconcile(fn: (key: string, context: ReconcileContext<T>) => Promise<void>, options?: Scope<T, I>): Controller
  /**
   * Resolves when the store includes `version`: a mark from a writer, or any version of the source. Rejects with
   * `EPOCH_CHANGED` for another incarnation of the source. A TypeError where the source cannot compare versions.
   */
  waitFor(version: Version, wait?: Wait & { readonly source?: string | undefined }): Promise<void>
  /** Reads the whole source again, and resolves when that is in the store. */
  relist(wait?: Wait): Promise<void>
  /** Waits until the store includes where the source is now. A TypeError where the source cannot say. */
  fresh(wait?: Wait): Promise<void>
  /** Resolves with the object once `condition` holds for it, after the first list; `undefined` where the key is absent. */
  until(key: string, condition: (object: T | undefined) => boolean, wait?: Wait): Promise<T | undefined>
  /** The store as it is now, readable while it changes; dispose of it when done. */
  snapshot(): StoreView<T, I> & Disposable
  /** Adds an index to a store that may be full. */
  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): X
}

interface InformerEvents {
  error(error: SourceError): void
  status(status: Status, previous: Status): void
}

type AnyListener = (...args: unknown[]) => void

export interface InformerOptions<S, I extends object, T = S> {
  readonly source: ListerWatcher<S>
  /**
   * Makes the stored object of the source's; `undefined` leaves it out, a throw makes it invalid. Runs once for each
   * object that arrives, and must not call the informer.
   */
  readonly transform?: (object: S, key: string) => T | undefined
  /** Whether two objects are the same, so that nobody has to be told. Default: by content. */
  readonly equals?: (a: T, b: T) => boolean
  readonly indexes?: (ix: IndexBuilder<T>) => I
  /** What becomes of the last good object when its successor cannot be decoded. Default `keep-previous`. */
  readonly onInvalid?: 'omit' | 'keep-previous'
  /** Deep-freezes plain objects and arrays. Default: unless NODE_ENV is `production`. */
  readonly freeze?: boolean
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
}

/** Mirrors a source. Nothing is opened before `start`. */
export function createInformer<S, I extends object, T = S>(options: InformerOptions<S, I, T>): Informer<T, I> {
  checkOptions('createInformer', options, {
    source: isObject,
    transform: isFunction,
    equals: isFunction,
    indexes: isFunction,
    onInvalid: isOneOf('omit', 'keep-previous'),
    freeze: isBoolean,
    clock: isObject,
    random: isObject,
    logger: isObject,
  })
  assertSource(options.source, 'createInformer')
  return new SourceInformer<S, I, T>(options)
}

class SourceInformer<S, I extends object, T> implements Informer<T, I> {
  readonly #source: ListerWatcher<S>
  readonly #clock: Clock
  readonly #random: Random
  readonly #logger: Logger | undefined
  readonly #indexer: Indexer<T, I>
  readonly #reflector: Reflector<S>
  readonly #router = new Router<T>()
  readonly #host: FeedHost<T>
  readonly #events = new EventEmitter<InformerEvents>()
  readonly #synced = new Gate()
  readonly #waiters: VersionWaiters
  /** Called after each commit, until they have what they want. */
  readonly #watchers = new Set<() => void>()
  /** Those that are not closed, or still have a handler running. */
  readonly #subscriptions = new Map<Feed<T>, Subscription>()
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #isStopped = false
  #stopped: Promise<void> | undefined
  #unlink: () => void = () => {}
  #startedAt: number | undefined
  #lagMs: number | undefined
  /** The last list that is in the store, by the reflector's count. */
  #listed = 0
  #warnedAt = -Infinity

  constructor(options: InformerOptions<S, I, T>) {
    this.#source = options.source
    this.#clock = options.clock ?? systemClock
    this.#random = options.random ?? systemRandom
    this.#logger = options.logger
    this.#indexer = new Indexer<T, I>(
      { indexes: options.indexes },
      {
        prepare: options.transform as ((object: unknown, key: string) => T | undefined) | undefined,
        ...(options.equals === undefined ? {} : { equals: options.equals }),
        freeze: options.freeze ?? isDevelopment(),
        onInvalid: options.onInvalid,
        onCommit: (commit) => this.#committed(commit),
        // Not in the middle of a batch: a listener that reads would see a part of it.
        report: (error) => void Promise.resolve().then(() => this.#report(error)),
      },
    )
    const clock = { clock: this.#clock, random: this.#random }
    // What the source gives becomes what the store holds inside the indexer, by `transform`.
    this.#reflector = new Reflector<S>(this.#source, this.#indexer as unknown as Indexer<S>, clock, {
      onState: (_state, previous) => this.#moved(this.#statusOf(previous)),
      onError: (error) => this.#report(error),
      onIgnored: (version) =>
        this.#logger?.debug('what the store includes already was left out', { source: this.#source.name, version }),
      isWaitedFor: () => this.#waiters.size > 0 || this.#router.isAwaited,
    })
    this.#waiters = new VersionWaiters((at, mark) => this.#hasReached('waitFor')(at, mark))
    this.#host = this.#makeHost()
  }

  // Reading.

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
    const { version } = this.#indexer
    return new Map(version === undefined ? [] : [[this.#source.name, version]])
  }

  keys(): Iterable<string> {
    return this.#indexer.keys()
  }

  entries(): Iterable<Entry<T>> {
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
    return this.#indexer.snapshot()
  }

  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): X {
    const flaw = isName(name) ?? isFunction(build)
    if (flaw !== undefined) throw new TypeError('addIndex: a name and a function are needed')
    return this.#indexer.addIndex(name, build)
  }

  // Life.

  start(options: { readonly signal?: AbortSignal | undefined } = {}): this {
    checkOptions('start', options, { signal: isSignal })
    if (this.#isStopped) throw this.#stoppedError('start')
    if (this.#running !== undefined) return this
    const { signal } = options
    const abort = (): void => void this.stop()
    signal?.addEventListener('abort', abort, { once: true })
    this.#unlink = () => signal?.removeEventListener('abort', abort)
    this.#startedAt = this.#clock.now()
    if (signal?.aborted) this.#stopping.abort()
    this.#running = this.#reflector.run({ signal: this.#stopping.signal })
    if (signal?.aborted) abort()
    return this
  }

  synced(wait: Wait = {}): Promise<void> {
    checkWait('synced', wait)
    return waiting(`synced of ${this.#source.name}`, wait, this.#clock, (settle) => {
      const leave = this.#synced.enter(settle)
      if (this.#isStopped) settle.reject(this.#stoppedError('synced'))
      else if (this.#reflector.state.name === 'failed') settle.reject(this.#reflector.lastError)
      return leave
    })
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #stop(): Promise<void> {
    this.#isStopped = true
    this.#unlink()
    this.#stopping.abort()
    this.#running ??= this.#reflector.run({ signal: this.#stopping.signal })
    const error = this.#stoppedError('the wait')
    this.#synced.refuse(error)
    this.#waiters.refuse(error)
    for (const watch of [...this.#watchers]) watch()
    const timer = new AbortController()
    const late = this.#clock.sleep(STOP_GRACE_MS, timer.signal).catch(() => {})
    const closing = Array.from(this.#subscriptions.values(), (subscription) => subscription.close())
    await Promise.all([Promise.race([this.#running, late]), ...closing])
    timer.abort()
  }

  get status(): Status {
    return this.#statusOf(this.#reflector.state)
  }

  health(options: { readonly staleAfterMs?: number } = {}): {
    readonly isLive: boolean
    readonly isReady: boolean
    readonly reason: string
  } {
    checkOptions('health', options, { staleAfterMs: isPositive })
    const { state, isSynced, reason, staleMs } = this.status
    const isLive = state !== 'idle' && state !== 'stopped'
    const isStale = staleMs > (options.staleAfterMs ?? Infinity)
    const isReady = isLive && isSynced && !isStale
    const stale = isStale ? `; nothing was heard from the source for ${Math.round(staleMs / 1_000)} s` : ''
    return { isLive, isReady, reason: `${state}: ${reason}${stale}` }
  }

  // Following.

  on(event: 'error' | 'status', listener: (...args: never[]) => void): this {
    this.#checkListener('on', event, listener)
    this.#events.on(event, listener as AnyListener)
    return this
  }

  off(event: 'error' | 'status', listener: (...args: never[]) => void): this {
    this.#checkListener('off', event, listener)
    this.#events.off(event, listener as AnyListener)
    return this
  }

  subscribe(handlers: Handlers<T>, options: SubscribeOptions<T, I> = {}): Subscription {
    assertHandlers(handlers, 'subscribe')
    const feed = this.#feed('subscribe', options)
    return this.#own(feed, new HandlerSubscription(feed, handlers, options))
  }

  changes(options: SubscribeOptions<T, I> = {}): ChangeStream<T> {
    const feed = this.#feed('changes', options, true)
    return this.#own(feed, new IteratorSubscription(feed, options.signal))
  }

  reconcile(fn: (key: string, context: ReconcileContext<T>) => Promise<void>, options: Scope<T, I> = {}): Controller {
    if (typeof fn !== 'function') throw new TypeError('reconcile: the first argument must be a function')
    const feed = this.#feed('reconcile', options)
    const { concurrency, signal } = options
    return this.#own(feed, new FeedController(feed, fn, { concurrency, signal, random: this.#random }))
  }

  waitFor(version: Version, wait: Wait & { readonly source?: string | undefined } = {}): Promise<void> {
    this.#hasReached('waitFor')
    checkVersionWait(version, wait)
    return waiting(`waitFor on ${this.#source.name}`, wait, this.#clock, (settle) => {
      const leave = this.#waiters.enter(version, this.#synced.isOpen ? this.version : undefined, settle)
      if (this.#isStopped) settle.reject(this.#stoppedError('waitFor'))
      if (this.#waiters.size > 0) this.#reflector.nudge()
      return leave
    })
  }

  fresh(wait: Wait = {}): Promise<void> {
    this.#hasReached('fresh')
    checkWait('fresh', wait)
    const { head } = this.#source
    if (head === undefined)
      throw new TypeError(`fresh: the source "${this.#source.name}" cannot say where it is (it has no head)`)
    const asking = new AbortController()
    return waiting<void>(`fresh of ${this.#source.name}`, wait, this.#clock, (settle) => {
      if (this.#isStopped) {
        settle.reject(this.#stoppedError('fresh'))
        return () => {}
      }
      const context = { signal: asking.signal, clock: this.#clock, random: this.#random }
      const refuse = (error: unknown): void =>
        settle.reject(toSourceError(error, { phase: 'watch', source: this.#source.name }))
      const ask = async (): Promise<void> => {
        const version = await head.call(this.#source, context)
        if (!asking.signal.aborted) await this.waitFor(version, { signal: asking.signal })
      }
      ask().then(settle.resolve, refuse)
      const stop = (): void => settle.reject(this.#stoppedError('fresh'))
      this.#stopping.signal.addEventListener('abort', stop, { once: true })
      return () => {
        this.#stopping.signal.removeEventListener('abort', stop)
        asking.abort()
      }
    })
  }

  relist(wait: Wait = {}): Promise<void> {
    checkWait('relist', wait)
    return waiting(`relist of ${this.#source.name}`, wait, this.#clock, (settle) => {
      // A list that is on its way began before this call: it does not count.
      const { lists } = this.#reflector
      const leave = this.#watch(settle, () => {
        if (this.#listed > lists) settle.resolve()
      })
      this.#reflector.relist('asked for by relist()')
      return leave
    })
  }

  until(key: string, condition: (object: T | undefined) => boolean, wait: Wait = {}): Promise<T | undefined> {
    if (typeof key !== 'string') throw new TypeError(`until: the key must be a string, got ${typeof key}`)
    if (typeof condition !== 'function') throw new TypeError('until: the condition must be a function')
    checkWait('until', wait)
    return waiting<T | undefined>(`until "${key}" of ${this.#source.name}`, wait, this.#clock, (settle) =>
      this.#watch(settle, () => {
        if (!this.#synced.isOpen) return
        const object = this.get(key)
        try {
          if (condition(object)) settle.resolve(object)
        } catch (error) {
          settle.reject(error)
        }
      }),
    )
  }

  /** Looks now and after each commit. */
  #watch<V>(settle: Settle<V>, look: () => void): () => void {
    const watch = (): void => {
      if (this.#isStopped) settle.reject(this.#stoppedError('the wait'))
      else look()
    }
    this.#watchers.add(watch)
    watch()
    return () => this.#watchers.delete(watch)
  }

  #feed(call: string, options: FeedOptions<T>, wantsBookmarks = false): Feed<T> {
    if (this.#isStopped) throw this.#stoppedError(call)
    return new Feed<T>(this.#host, call, options, wantsBookmarks)
  }

  /** The informer ends what follows it. */
  #own<Sub extends Subscription>(feed: Feed<T>, subscription: Sub): Sub {
    if (feed.closed === undefined) this.#subscriptions.set(feed, subscription)
    return subscription
  }

  #makeHost(): FeedHost<T> {
    return {
      indexer: this.#indexer,
      clock: this.#clock,
      sourceName: this.#source.name,
      isFilled: () => this.#synced.isOpen,
      hasReached: (call) => this.#hasReached(call),
      report: (error) => this.#report(error),
      attach: (feed) => this.#router.add(feed),
      detach: (feed) => this.#router.remove(feed),
      release: (feed) => this.#subscriptions.delete(feed),
      awaitVersion: (feed) => {
        this.#router.awaitVersion(feed)
        this.#reflector.nudge()
      },
    }
  }

  #hasReached(call: string): (at: Version, mark: Version) => boolean {
    const source = this.#source
    if (source.hasReached === undefined) {
      throw new TypeError(`${call}: the source "${source.name}" cannot compare versions (it has no hasReached)`)
    }
    return (at, mark) => source.hasReached?.(at, mark) === true
  }

  #committed(commit: Commit<T>): void {
    const { version, committedAt, changes } = commit
    if (committedAt !== undefined) this.#lagMs = Math.max(0, this.#clock.now() - committedAt)
    if (commit.type !== 'changed') this.#listed = this.#reflector.lists
    if (commit.type === 'filled') {
      this.#synced.open()
      for (const feed of this.#router.feeds) feed.begin()
    } else this.#router.route(commit, this.#indexer.tracked)
    if (channels.batch.hasSubscribers) {
      channels.batch.publish({ source: this.#source.name, changes: changes.length, version, lagMs: this.#lagMs })
    }
    this.#waiters.check(version)
    for (const watch of [...this.#watchers]) watch()
  }

  #moved(previous: Status): void {
    const { status } = this
    this.#logger?.info(`${this.#source.name} is ${status.state}: ${status.reason}`, { previous: previous.state })
    if (channels.status.hasSubscribers) channels.status.publish({ source: this.#source.name, status, previous })
    if (status.state === 'failed') this.#synced.refuse(this.#reflector.lastError)
    this.#emit('status', status, previous)
  }

  #report(error: SourceError): void {
    const located = toSourceError(error, { phase: error.phase ?? 'apply', source: this.#source.name })
    if (channels.error.hasSubscribers) channels.error.publish({ source: this.#source.name, error: located })
    this.#logger?.warn(located.message, { code: located.code, key: located.key })
    if (this.#events.listenerCount('error') > 0) this.#emit('error', located)
    else if (this.#logger === undefined) this.#warn(located)
  }

  /** A listener that throws harms no other. */
  #emit<E extends 'error' | 'status'>(event: E, ...args: Parameters<InformerEvents[E]>): void {
    for (const listener of this.#events.listeners(event)) {
      try {
        Reflect.apply(listener, undefined, args)
      } catch (thrown) {
        const message = `a listener of "${event}" on ${this.#source.name} threw: ${messageOf(thrown)}`
        this.#warn(new SourceError(message, { code: 'HANDLER', cause: thrown }))
      }
    }
  }

  #warn(error: SourceError): void {
    const now = this.#clock.now()
    if (now - this.#warnedAt < WARNING_MS) return
    this.#warnedAt = now
    process.emitWarning(error.message, { type: 'ListwatchWarning', code: error.code })
  }

  #statusOf(state: Reflector<S>['state']): Status {
    const now = this.#clock.now()
    const { lastContactAt, lastError } = this.#reflector
    return {
      state: state.name,
      isSynced: this.#synced.isOpen,
      version: this.version,
      reason: state.reason,
      lastError,
      lastContactAt,
      staleMs: now - (lastContactAt ?? this.#startedAt ?? now),
      lagMs: this.#lagMs,
      attempt: state.attempt,
      retryInMs: state.retryAt === undefined ? undefined : Math.max(0, state.retryAt - now),
      relists: state.relists,
      reconnects: state.reconnects,
    }
  }

  #stoppedError(call: string): SourceError {
    return new SourceError(`${call}: the informer of ${this.#source.name} was stopped`, {
      code: 'STOPPED',
      source: this.#source.name,
    })
  }

  #checkListener(call: string, event: unknown, listener: unknown): void {
    if (event !== 'error' && event !== 'status')
      throw new TypeError(`${call}: the event must be "error" or "status", got "${String(event)}"`)
    if (typeof listener !== 'function') throw new TypeError(`${call}: the listener must be a function`)
  }
}
