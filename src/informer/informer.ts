import { type Clock, systemClock } from '../contract/clock.js'
import { ABORTED, OptionError, SourceError, thrownFor, toSourceError } from '../contract/errors.js'
import { type Random, systemRandom } from '../contract/random.js'
import type { Entry, ListerWatcher } from '../contract/source.js'
import type { Status } from '../contract/status.js'
import type { Version } from '../contract/version.js'
import { assertSource } from '../reflector/reflector.js'
import type { ReflectorState } from '../reflector/reflector-state.js'
import type { Commit } from '../store/commit.js'
import { isDevelopment } from '../store/deep-freeze.js'
import { Indexer } from '../store/indexer.js'
import type { IndexBuilder } from '../store/indexes/index-types.js'
import { pinsOf } from '../store/store.js'
import type { StoreView } from '../store/store-view.js'
import { BatchIterator, type ChangeStream } from '../subscriptions/batch-iterator.js'
import { ChangeRouter } from '../subscriptions/change-router.js'
import { type Controller, FeedController, type ReconcileContext } from '../subscriptions/controller.js'
import { Feed, type FeedHost } from '../subscriptions/feed.js'
import { assertHandlers, HandlerSubscription, type Handlers } from '../subscriptions/handler-subscription.js'
import type { FeedOptions, Scope, SubscribeOptions, Subscription } from '../subscriptions/subscription-types.js'
import { checkVersionWait, type VersionWait } from '../subscriptions/version-waiters.js'
import { checkWait, type Settle, settleWithin, type Wait, withDeadline } from '../util/deadline.js'
import { Latch } from '../util/latch.js'
import {
  checkOptions,
  isBoolean,
  isFunction,
  isName,
  isObject,
  isOneOf,
  isPositive,
  isSignal,
} from '../util/validate-options.js'
import { AUDIT_PERIOD_MS } from './audit.js'
import { requestHead } from './head-request.js'
import { InformerEvents } from './informer-events.js'
import type { Informer, InformerOptions } from './informer-types.js'
import { assertStartable, type Startable } from './lifecycle.js'
import { type Limitable, limitRelists, type RelistLimiter } from './relist-limiter.js'
import { type RunnerHost, SourceRunner, statusOf } from './source-runner.js'
import { DynamicSourceSet } from './source-set.js'
import { assertSynchronous, flawInSchema, parserOf } from './standard-schema.js'
import { channels } from './telemetry.js'

export type { Informer, InformerOptions, Lifecycle } from './informer-types.js'

/** `stop` waits this long for a source that does not end, in milliseconds. */
const STOP_GRACE_MS = 1_000
/** After this many milliseconds the objects of a removed source are deleted again, if that failed. */
const DROP_RETRY_MS = 1_000

/** Mirrors a source. Nothing is opened before `start`. */
export function createInformer<S, I extends object, P = S, T = P>(
  options: InformerOptions<S, I, P, T>,
): Informer<T, I> {
  if (options?.source === undefined)
    throw new OptionError('createInformer: option "source" is missing', { option: 'source' })
  checkOptions('createInformer', options, {
    source: isObject,
    schema: flawInSchema,
    transform: isFunction,
    equals: isFunction,
    indexes: isFunction,
    onInvalid: isOneOf('omit', 'keep-previous'),
    onAccessLost: isOneOf('keep', 'clear'),
    freeze: isBoolean,
    audit: (value) => (value === false ? undefined : isObject(value) && 'must be false or an object'),
    clock: isObject,
    random: isObject,
    logger: isObject,
  })
  if (options.audit) checkOptions('createInformer: audit', options.audit, { periodMs: isPositive })
  if (options.source instanceof DynamicSourceSet) {
    for (const source of options.source.sources.values()) assertAuditable(source, options.audit)
  } else {
    assertSource(options.source, 'createInformer')
    assertAuditable(options.source as ListerWatcher<unknown>, options.audit)
  }
  return new SourceInformer<S, I, P, T>(options)
}

function assertAuditable(source: ListerWatcher<unknown>, audit: unknown): void {
  if (audit && source.hasReached === undefined) throw new TypeError(`createInformer: ${notAuditable(source)}`)
}

function notAuditable({ name }: ListerWatcher<unknown>): string {
  return `the source "${name}" cannot be audited: it cannot compare versions (it has no hasReached)`
}

function isAudited(source: ListerWatcher<unknown>, audit: InformerOptions<unknown, object>['audit']): boolean {
  return source.hasReached !== undefined && audit !== false && (audit ?? source.versions) !== undefined
}

class SourceInformer<S, I extends object, P, T> implements Informer<T, I>, Limitable, Startable {
  readonly #set: DynamicSourceSet<S> | undefined
  /** By the names that they have in the set; a single one by its own. */
  readonly #mirrors = new Map<string, SourceRunner<S, T>>()
  readonly #mirrorHost: Omit<RunnerHost<S, T>, 'auditMs'>
  readonly #audit: InformerOptions<S, I>['audit']
  readonly #clock: Clock
  readonly #random: Random
  readonly #indexer: Indexer<T, I>
  readonly #router = new ChangeRouter<T>()
  readonly #host: FeedHost<T>
  readonly #listeners: InformerEvents
  readonly #synced = new Latch()
  /** Called after each commit, until they have what they want. */
  readonly #watchers = new Set<() => void>()
  /** Those that are not closed, or still have a handler running. */
  readonly #subscriptions = new Map<Feed<T>, Subscription>()
  /** Aborts when it is stopped. */
  readonly #ending = new AbortController()
  #isStarted = false
  #isStopped = false
  #stopped: Promise<void> | undefined
  #unlink: () => void = () => {}
  #unfollow: () => void = () => {}
  #limit: RelistLimiter | undefined

  constructor(options: InformerOptions<S, I, P, T>) {
    this.#clock = options.clock ?? systemClock
    this.#random = options.random ?? systemRandom
    this.#listeners = new InformerEvents(this.#clock, options.logger, () => this.#name)
    this.#audit = options.audit
    this.#set = options.source instanceof DynamicSourceSet ? options.source : undefined
    this.#indexer = new Indexer<T, I>(
      { indexes: options.indexes },
      {
        prepare: preparing(options),
        ...(options.equals === undefined ? {} : { equals: options.equals }),
        freeze: options.freeze ?? isDevelopment(),
        onInvalid: options.onInvalid,
        onReleased: (source) => this.#mirrors.get(source)?.reflector.relist('another source gave up a key'),
        remembersFiltered:
          this.#set === undefined
            ? isAudited(options.source as ListerWatcher<S>, options.audit)
            : options.audit !== false,
        sourceOf: (part) => (part === undefined ? this.#name : this.#mirrors.get(part)?.source.name),
        report: (error, part) => {
          const source = part === undefined ? undefined : this.#mirrors.get(part)?.source.name
          // Not in the middle of a batch: a listener that reads would see a part of it.
          void Promise.resolve().then(() => this.#report(error, source))
        },
      },
    )
    this.#mirrorHost = {
      clock: this.#clock,
      random: this.#random,
      onAccessLost: options.onAccessLost ?? 'keep',
      admit: (signal) => this.#limit?.acquire(signal, this.#clock),
      moved: (mirror, previous) => this.#moved(mirror, previous),
      report: (error) => this.#report(error),
      warn: (message) => this.#listeners.warning(message),
      ignored: (source, version) =>
        this.#listeners.log('debug', 'what the store includes already was left out', { source, version }),
      waitFor: (version, wait, mirror) => this.#waitForMirror(mirror, version, wait),
    }
    this.#host = this.#makeHost()
    if (this.#set === undefined) {
      const source = options.source as ListerWatcher<S>
      this.#mirrors.set(source.name, this.#mirror(source.name, source))
    } else {
      for (const [name, source] of this.#set.sources) this.#mirrors.set(name, this.#mirror(name, source))
      this.#unfollow = this.#set.follow({
        added: (name, source) => this.#whenFree(() => this.#addSource(name, source)),
        removed: (name) => this.#whenFree(() => this.#removeSource(name)),
      })
    }
  }

  #mirror(name: string, source: ListerWatcher<S>): SourceRunner<S, T> {
    const part = this.#set === undefined ? this.#indexer.whole : this.#indexer.partition(name)
    const { periodMs = AUDIT_PERIOD_MS } = this.#audit === false ? {} : (this.#audit ?? {})
    const auditMs = isAudited(source, this.#audit) && periodMs
    const mirror = new SourceRunner<S, T>(name, source, part, { ...this.#mirrorHost, auditMs })
    part.onCommit = (commit) => this.#committed(mirror, commit)
    return mirror
  }

  /** Sources come and go between two steps of the store: what asks for it may be a function that the store calls in one. */
  #whenFree(act: () => unknown): void {
    this.#indexer.writer.reentrancy.defer(() => {
      if (!this.#isStopped) act()
    })
  }

  #addSource(name: string, source: ListerWatcher<S>): void {
    const previous = this.#mirrors.get(name)
    if (previous !== undefined && !this.#dropSource(previous)) {
      this.#retryLater(() => this.#set?.sources.get(name) === source && this.#addSource(name, source))
      return
    }
    const mirror = this.#mirror(name, source)
    this.#mirrors.set(name, mirror)
    if (this.#audit && source.hasReached === undefined)
      this.#report(new SourceError(notAuditable(source), { code: 'PROTOCOL', source: source.name }))
    if (this.#isStarted) mirror.start()
  }

  #removeSource(name: string): void {
    const mirror = this.#mirrors.get(name)
    if (mirror === undefined) return
    void mirror.end(new SourceError(`the source "${name}" was removed`, { code: 'STOPPED', source: name }))
    if (this.#dropSource(mirror)) return
    this.#retryLater(() => this.#mirrors.get(name) === mirror && this.#removeSource(name))
  }

  /** Deletes what a source gave that was removed. Returns whether that is done: a step that throws is undone. */
  #dropSource(mirror: SourceRunner<S, T>): boolean {
    try {
      mirror.part.drop()
    } catch (error) {
      this.#report(toSourceError(error, { phase: 'apply', source: mirror.source.name }))
      return false
    }
    this.#mirrors.delete(mirror.name)
    this.#openIfListed()
    this.#lookAgain()
    return true
  }

  #retryLater(act: () => unknown): void {
    this.#clock.sleep(DROP_RETRY_MS, this.#ending.signal).then(
      () => this.#whenFree(act),
      () => {}, // Stopped.
    )
  }

  /** @internal */
  [limitRelists](limit: RelistLimiter): void {
    this.#limit = limit
  }

  /** @internal */
  get [pinsOf](): number {
    return this.#indexer.store.pinCount
  }

  /** @internal */
  [assertStartable](): void {
    this.#assertNotStopped('start')
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
    const versions = new Map<string, Version>()
    for (const { name, version } of this.#mirrors.values()) if (version !== undefined) versions.set(name, version)
    return versions
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

  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): X {
    const flaw = isName(name) ?? isFunction(build)
    if (flaw !== undefined) throw new TypeError('addIndex: a name and a function are needed')
    this.#assertNotStopped('addIndex')
    return this.#indexer.addIndex(name, build)
  }

  // Life.

  start(options: { readonly signal?: AbortSignal | undefined } = {}): this {
    checkOptions('start', options, { signal: isSignal })
    this[assertStartable]()
    if (this.#isStarted) return this
    this.#isStarted = true
    const { signal } = options
    const abort = (): void => void this.stop()
    signal?.addEventListener('abort', abort, { once: true })
    this.#unlink = () => signal?.removeEventListener('abort', abort)
    if (signal?.aborted) abort()
    else {
      for (const mirror of [...this.#mirrors.values()]) mirror.start()
      // Without sources there is no list that would open it.
      if (this.#openIfListed()) this.#lookAgain()
    }
    return this
  }

  synced(wait: Wait = {}): Promise<void> {
    checkWait('synced', wait)
    return withDeadline(
      `synced of ${this.#name}`,
      wait,
      this.#clock,
      (settle) => {
        if (this.#isStopped) settle.reject(this.#stoppedError('synced'))
        const leave = this.#synced.enter(settle)
        for (const { reflector } of this.#mirrors.values())
          if (reflector.state.name === 'failed') settle.reject(thrownFor(reflector.lastError))
        return leave
      },
      () => this.#howItIs,
    )
  }

  stop(options: { readonly drainMs?: number | undefined } = {}): Promise<void> {
    checkOptions('stop', options, { drainMs: isPositive })
    if (this.#stopped === undefined) {
      // Known before anybody hears of it, who may call this again.
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
    this.#isStopped = true
    this.#ending.abort(ABORTED)
    this.#unlink()
    this.#unfollow()
    const error = this.#stoppedError('the wait')
    const ended = Promise.all(Array.from(this.#mirrors.values(), (mirror) => mirror.end(error)))
    this.#synced.rejectAll(error)
    this.#lookAgain()
    // Before the first list nobody was told of anything, and there is no list any more.
    if (drainMs !== undefined && this.#synced.isOpen) await this.#drained(drainMs)
    const closing = Array.from(this.#subscriptions.values(), (subscription) => subscription.close())
    await settleWithin(STOP_GRACE_MS, Promise.all([ended, ...closing]), this.#clock)
    await Promise.all(closing)
    // What outlives its second may still fail, and a source may still have something to say.
    this.#listeners.close()
  }

  /** Whoever follows handles what waits. Nothing comes any more. */
  async #drained(ms: number): Promise<void> {
    const draining = Array.from(this.#subscriptions.values(), (subscription) => subscription.close({ drain: true }))
    await settleWithin(ms, Promise.all(draining), this.#clock)
  }

  get status(): Status {
    return this.#statusWith()
  }

  health(options: { readonly staleAfterMs?: number | undefined; readonly stuckAfterMs?: number | undefined } = {}): {
    readonly isLive: boolean
    readonly isReady: boolean
    readonly reason: string
  } {
    checkOptions('health', options, { staleAfterMs: isPositive, stuckAfterMs: isPositive })
    const { state, staleMs } = this.status
    const isSynced = this.#synced.isOpen
    const isLive = state !== 'idle' && state !== 'stopped'
    const isStale = staleMs > (options.staleAfterMs ?? Infinity)
    const stuck = this.#stuck(options.stuckAfterMs ?? Infinity)
    const cleared = Array.from(this.#mirrors.values()).find(({ isCleared }) => isCleared)
    const isReady = isLive && isSynced && !isStale && cleared === undefined && stuck === undefined
    const stale = isStale ? `; nothing was heard from the source for ${Math.round(staleMs / 1_000)} s` : ''
    const hangs = stuck === undefined ? '' : `; ${stuck}`
    const clear =
      cleared === undefined ? '' : `; access to ${cleared.source.name} was lost, and its objects were deleted`
    return { isLive, isReady, reason: `${this.#howItIs}${stale}${clear}${hangs}` }
  }

  /** Says which handler or run has been running for longer than this. */
  #stuck(ms: number): string | undefined {
    for (const { name, longest } of this.#subscriptions.keys()) {
      const running = longest()
      const ranMs = this.#clock.now() - (running?.since ?? Infinity)
      if (running === undefined || ranMs <= ms) continue
      const of = name === undefined ? '' : ` of "${name}"`
      return `a handler${of} has not settled for ${(ranMs / 1_000).toFixed(ranMs < 10_000 ? 1 : 0)} s at key "${running.key}"`
    }
    return undefined
  }

  // Following.

  on(event: 'error' | 'status', listener: (...args: never[]) => void): this {
    this.#listeners.on(event, listener)
    return this
  }

  off(event: 'error' | 'status', listener: (...args: never[]) => void): this {
    this.#listeners.off(event, listener)
    return this
  }

  subscribe(handlers: Handlers<T>, options: SubscribeOptions<T, I> = {}): Subscription {
    assertHandlers(handlers, 'subscribe')
    const feed = this.#feed('subscribe', options)
    return this.#own(feed, new HandlerSubscription(feed, handlers, options))
  }

  changes(options: SubscribeOptions<T, I> = {}): ChangeStream<T> {
    const feed = this.#feed('changes', options, true)
    return this.#own(feed, new BatchIterator(feed, options.signal))
  }

  reconcile(fn: (key: string, context: ReconcileContext<T>) => Promise<void>, options: Scope<T, I> = {}): Controller {
    if (typeof fn !== 'function') throw new TypeError('reconcile: the first argument must be a function')
    const feed = this.#feed('reconcile', options)
    const { concurrency, timeoutMs, signal } = options
    return this.#own(feed, new FeedController(feed, fn, { concurrency, timeoutMs, signal, random: this.#random }))
  }

  waitFor(version: Version, wait: VersionWait = {}): Promise<void> {
    checkVersionWait(version, wait)
    this.#hasReached('waitFor', wait.source)
    const { source, ...rest } = wait
    return this.#waitForMirror(this.#mirrorOf('waitFor', source), version, rest)
  }

  #waitForMirror(mirror: SourceRunner<S, T>, version: Version, wait: Wait): Promise<void> {
    return withDeadline(
      `waitFor on ${mirror.source.name}`,
      wait,
      this.#clock,
      (settle) => this.#enter(mirror, version, settle),
      () => this.#howItIs,
    )
  }

  #enter(mirror: SourceRunner<S, T>, version: Version, settle: Settle<void>): () => void {
    if (this.#isStopped) {
      settle.reject(this.#stoppedError('waitFor'))
      return () => {}
    }
    const leave = mirror.waiters.enter(version, mirror.reached, settle)
    if (mirror.refusal !== undefined) mirror.waiters.rejectAll(mirror.refusal)
    if (mirror.waiters.size > 0) mirror.reflector.requestProgress()
    return leave
  }

  fresh(wait: Wait = {}): Promise<void> {
    const asked = Array.from(this.#mirrors.values(), (mirror) => {
      this.#hasReached('fresh', mirror.name)
      if (mirror.source.head !== undefined) return mirror
      throw new TypeError(`fresh: the source "${mirror.source.name}" cannot say where it is (it has no head)`)
    })
    checkWait('fresh', wait)
    const asking = new AbortController()
    let failure: SourceError | undefined
    const failed = (error: SourceError): void => {
      failure = error
    }
    return withDeadline<void>(
      `fresh of ${this.#name}`,
      wait,
      this.#clock,
      (settle) => {
        if (this.#isStopped) {
          settle.reject(this.#stoppedError('fresh'))
          return () => {}
        }
        Promise.all(asked.map((mirror) => this.#freshen(mirror, asking.signal, failed))).then(
          () => settle.resolve(),
          settle.reject,
        )
        // A source that was removed may never answer.
        const watch = (): void => {
          const gone = asked.find(({ refusal }) => refusal !== undefined)
          if (this.#isStopped) settle.reject(this.#stoppedError('fresh'))
          else if (gone !== undefined) settle.reject(gone.refusal)
        }
        this.#watchers.add(watch)
        return () => {
          this.#watchers.delete(watch)
          asking.abort(ABORTED)
        }
      },
      () => (failure === undefined ? this.#howItIs : `${this.#howItIs}; head failed: ${failure.message}`),
    )
  }

  async #freshen(mirror: SourceRunner<S, T>, signal: AbortSignal, failed: (error: SourceError) => void): Promise<void> {
    const { source } = mirror
    const warn = (message: string): void => this.#listeners.warning(`${source.name}: ${message}`)
    try {
      const version = await requestHead(source, { signal, clock: this.#clock, random: this.#random, warn }, failed)
      if (version !== undefined && !signal.aborted) await this.#waitForMirror(mirror, version, { signal })
    } catch (error) {
      throw error instanceof OptionError ? error : toSourceError(error, { phase: 'watch', source: source.name })
    }
  }

  relist(wait: Wait = {}): Promise<void> {
    checkWait('relist', wait)
    return withDeadline(
      `relist of ${this.#name}`,
      wait,
      this.#clock,
      (settle) => {
        // A list that is on its way began before this call: it does not count.
        const before = Array.from(this.#mirrors, ([name, mirror]) => ({ name, mirror, lists: mirror.reflector.lists }))
        const leave = this.#watch(settle, () => {
          const isThere = before.every(
            ({ name, mirror, lists }) => mirror.listed > lists || this.#mirrors.get(name) !== mirror,
          )
          if (isThere) settle.resolve()
        })
        for (const { mirror } of before) mirror.reflector.relist('asked for by relist()')
        return leave
      },
      () => this.#howItIs,
    )
  }

  until(key: string, condition: (object: T | undefined) => boolean, wait: Wait = {}): Promise<T | undefined> {
    if (typeof key !== 'string') throw new TypeError(`until: the key must be a string, got ${typeof key}`)
    if (typeof condition !== 'function') throw new TypeError('until: the condition must be a function')
    checkWait('until', wait)
    return withDeadline<T | undefined>(`until "${key}" of ${this.#name}`, wait, this.#clock, (settle) =>
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

  #lookAgain(): void {
    for (const watch of [...this.#watchers]) watch()
  }

  #feed(call: string, options: FeedOptions<T>, wantsBookmarks = false): Feed<T> {
    this.#assertNotStopped(call)
    this.#indexer.writer.assertNotWriting(call)
    // Its filter is run over the store now.
    return this.#indexer.writer.reentrancy.run(() => new Feed<T>(this.#host, call, options, wantsBookmarks))
  }

  /** The informer ends what follows it. */
  #own<Sub extends Subscription>(feed: Feed<T>, subscription: Sub): Sub {
    if (feed.closed === undefined) this.#subscriptions.set(feed, subscription)
    // A filter that was run over the store may have stopped this.
    if (this.#isStopped) void subscription.close()
    return subscription
  }

  #makeHost(): FeedHost<T> {
    const nameNow = (): string => this.#name
    const historyNow = (): number | undefined =>
      this.#set === undefined ? this.#mirrorOf('waitFor', undefined).history : 0
    return {
      indexer: this.#indexer,
      clock: this.#clock,
      get sourceName() {
        return nameNow()
      },
      get history() {
        return historyNow()
      },
      isOfSet: this.#set !== undefined,
      isSynced: () => this.#synced.isOpen,
      hasReached: (call, source) => this.#hasReached(call, source),
      followHistory: (source, onForked) => {
        const mirror = this.#mirrorOf('waitFor', source)
        const { history } = mirror
        const isOfSet = this.#set !== undefined
        return {
          // The wait for the store has no answer for a source that was removed.
          isShown: () => !isOfSet || mirror.refusal !== undefined || mirror.history === history,
          leave: mirror.onForked(onForked),
        }
      },
      waitForStore: (version, source, settle) => this.#enter(this.#mirrorOf('waitFor', source), version, settle),
      // Not in the middle of a commit: a listener that takes a source away would overtake it.
      report: (error) => void Promise.resolve().then(() => this.#report(error)),
      attach: (feed) => this.#router.add(feed),
      detach: (feed) => this.#router.remove(feed),
      release: (feed) => this.#subscriptions.delete(feed),
    }
  }

  /** The source that a call is about. */
  #mirrorOf(call: string, name: string | undefined): SourceRunner<S, T> {
    const [only] = this.#mirrors.values()
    if (name === undefined && this.#set === undefined && only !== undefined) return only
    const names = [...this.#mirrors.keys()].join(', ')
    if (name === undefined)
      throw new TypeError(`${call}: over several sources the option "source" must say which of ${names}`)
    const mirror = this.#mirrors.get(name)
    if (mirror === undefined) throw new TypeError(`${call}: there is no source "${name}"; there are ${names}`)
    return mirror
  }

  #hasReached(call: string, name?: string): (at: Version, mark: Version) => boolean {
    const { source } = this.#mirrorOf(call, name)
    if (source.hasReached === undefined) {
      throw new TypeError(`${call}: the source "${source.name}" cannot compare versions (it has no hasReached)`)
    }
    return (at, mark) => source.hasReached?.(at, mark) === true
  }

  #committed(mirror: SourceRunner<S, T>, commit: Commit<T>): void {
    const { origin, version, committedAt, changes } = commit
    mirror.committed(origin === 'initial' || origin === 'relist', committedAt)
    if (!this.#openIfListed()) this.#router.route(commit)
    if (channels.batch.hasSubscribers) {
      const { lagMs, source } = mirror
      channels.batch.publish({ source: source.name, changes: changes.length, version, lagMs })
    }
    mirror.waiters.check(mirror.reached)
    this.#lookAgain()
  }

  /** With the first list of each source the store may be shown. Whether it is that moment. */
  #openIfListed(): boolean {
    if (!this.#isStarted || this.#synced.isOpen) return false
    if (!Array.from(this.#mirrors.values()).every(({ isListed, isCleared }) => isListed && !isCleared)) return false
    this.#synced.open()
    // A filter may subscribe: what comes by that has begun already.
    this.#indexer.writer.reentrancy.run(() => {
      for (const feed of [...this.#router.feeds]) feed.startReplay()
    })
    return true
  }

  #moved(mirror: SourceRunner<S, T>, before: ReflectorState): void {
    const { status } = this
    const previous = this.#statusWith(mirror, before)
    const { source, reflector } = mirror
    this.#listeners.log('info', `${source.name} is ${reflector.state.name}: ${reflector.state.reason}`, {
      previous: before.name,
    })
    if (channels.status.hasSubscribers) {
      channels.status.publish({ source: source.name, status: mirror.status(), previous: mirror.status(before) })
    }
    if (reflector.state.name === 'failed') this.#synced.rejectAll(thrownFor(reflector.lastError))
    this.#listeners.status(status, previous)
  }

  #report(error: SourceError, source = this.#name): void {
    if (this.#listeners.isClosed) return
    const located = toSourceError(error, { phase: error.phase ?? 'apply', source })
    if (channels.error.hasSubscribers) channels.error.publish({ source, error: located })
    this.#listeners.error(located)
  }

  /** The status; or what it was while one of the sources was in another state. */
  #statusWith(mirror?: SourceRunner<S, T>, before?: ReflectorState): Status {
    const [only] = this.#mirrors.values()
    if (this.#set === undefined && only !== undefined) return only.status(before)
    const each = new Map<string, Status>()
    for (const [name, one] of this.#mirrors) each.set(name, one.status(one === mirror ? before : undefined))
    const state = this.#isStopped ? 'stopped' : this.#isStarted ? undefined : 'idle'
    return statusOf(each, { state, isSynced: this.#synced.isOpen })
  }

  get #howItIs(): string {
    const { state, reason } = this.status
    return state === reason ? state : `${state}: ${reason}`
  }

  /** For messages. */
  get #name(): string {
    const names = Array.from(this.#mirrors.values(), ({ source }) => source.name)
    return this.#set === undefined ? (names[0] ?? '') : `the sources ${names.join(', ')}`
  }

  #assertNotStopped(call: string): void {
    if (this.#isStopped) throw this.#stoppedError(call)
  }

  #stoppedError(call: string): SourceError {
    return new SourceError(`${call}: the informer of ${this.#name} was stopped`, {
      code: 'STOPPED',
      source: this.#name,
    })
  }
}

/** Schema and transform as one step. */
function preparing<S, P, T>({
  schema,
  transform,
}: Pick<InformerOptions<S, object, P, T>, 'schema' | 'transform'>):
  | ((object: unknown, key: string) => T | undefined)
  | undefined {
  const convert =
    transform &&
    ((object: unknown, key: string): T | undefined => {
      const result = transform(object as P, key)
      assertSynchronous(result, 'transform')
      return result
    })
  if (schema === undefined) return convert
  const parse = parserOf(schema)
  if (convert === undefined) return parse as (object: unknown) => T | undefined
  return (object, key) => convert(parse(object), key)
}
