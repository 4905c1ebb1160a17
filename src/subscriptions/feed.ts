import { ABORTED, messageOf, SourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import type { Change } from '../queue/change.js'
import { ChangeQueue, NO_POSITION, type StorePosition } from '../queue/change-queue.js'
import type { Indexer } from '../store/indexer.js'
import type { Commit } from '../store/write/commit.js'
import type { Wait } from '../util/deadline.js'
import type { SerialQueue } from '../util/serial-queue.js'
import { finish, type Slices, type Steps } from '../util/steps.js'
import type { FailingKey } from './controller/controller-types.js'
import { DeliveredBatch } from './delivered-batch.js'
import type { SlowHandlerMonitor } from './delivery/slow-handler-monitor.js'
import { type FeedCounts, newCounts, type SubscriptionKind } from './feed-counts.js'
import { type AwaitedFeed, type AwaitedStore, FeedWaits } from './feed-waits.js'
import { Replay } from './replay.js'
import { ScopeFilter } from './scope-filter.js'
import { checkSubscribeOptions, type FeedOptions } from './subscription-types.js'
import type { VersionWait } from './version-waiters.js'

/** The largest number of parts of a resync, and the shortest time between two parts, in milliseconds. */
const RESYNC_PARTS = 100
const RESYNC_MIN_MS = 10

export interface FeedWants {
  readonly bookmarks: boolean
  /** The adds of the initial replay. Without them it has no objects, which are read only if a scope needs that. */
  readonly initialAdds: boolean
}

export const WANTS_CHANGES: FeedWants = { bookmarks: false, initialAdds: false }
export const WANTS_BATCHES: FeedWants = { bookmarks: true, initialAdds: true }
export const WANTS_ADDS: FeedWants = { bookmarks: false, initialAdds: true }

export interface FeedReader {
  readonly kind: SubscriptionKind
  /** Knows the asynchronous handlers or runs; undefined before the first one. */
  readonly slow: SlowHandlerMonitor | undefined
  readonly failing?: ReadonlyMap<string, FailingKey>
  /** The informers that are not synced, and why, if a controller waits for them. */
  readonly waitsFor?: string | undefined
  /** Called when a batch can be dequeued, and when the feed was closed. */
  wake(): void
  closed?(reason: SourceError): void
}

/** The consumer of a feed whose consumer is not constructed yet. */
const NO_READER: FeedReader = { kind: 'subscription', slow: undefined, wake: () => {} }

export interface FeedHost<T> extends AwaitedStore {
  readonly indexer: Indexer<T, unknown>
  readonly router: FeedRouter<T>
  readonly title: string
  readonly isSynced: boolean
  report(error: SourceError): void
  /** The consumer of this feed has finished. */
  release(feed: Feed<T>): void
}

export interface FeedRouter<T> {
  readonly slices: Slices
  /** Scans of the store for subscriptions that begin. One runs at a time, so that their slices do not add up. */
  readonly scans: SerialQueue
  /** Whether readers see objects: the first list, or saved content. */
  readonly isFilled: boolean
  readonly current: StorePosition
  /** The position after the last commit whose changes were queued in all feeds. It is older while one is routed. */
  readonly routed: StorePosition
  add(feed: Feed<T>): void
  remove(feed: Feed<T>): void
}

interface Draining<T> {
  /** The position of the store when it stopped accepting changes. */
  readonly position: StorePosition
  /** The last commit that is accepted, if it was being routed then. */
  readonly lastCommit: number | undefined
  readonly onSkipped: ((changes: readonly Change<T>[]) => void) | undefined
}

/**
 * The batches of one subscription, in order: first the objects of the store when the feed began, then every later
 * change in its scope exactly once. A consumer acknowledges the batches when they are handled.
 */
export class Feed<T> implements AwaitedFeed {
  readonly host: FeedHost<T>
  readonly name: string | undefined
  readonly scope: ScopeFilter<T>
  readonly wants: FeedWants
  reader: FeedReader = NO_READER
  counts: FeedCounts = newCounts()
  informer = ''
  readonly #queue: ChangeQueue<T>
  readonly #onOverflow: 'coalesce' | 'fail'
  /** Created by the first wait: most feeds have none. */
  #waits: FeedWaits | undefined
  /** The position of the last synced batch that was acknowledged. */
  #handled = NO_POSITION
  isSynced = false
  #inFlight = 0
  /** How many of these have places in `InFlightBatches`. */
  trackedBatches = 0
  #matched: Change<T>[] | undefined
  #replay: Replay<T> | undefined
  /** The commit whose result the replay shows. Changes of it and of earlier commits are not queued. */
  #replayedCommit: number | undefined
  closed: SourceError | undefined
  #draining: Draining<T> | undefined
  /** Aborts when the feed stops accepting changes; undefined without `resyncMs`. */
  readonly #resyncing: AbortController | undefined

  constructor(host: FeedHost<T>, call: string, options: FeedOptions<T>, wants: FeedWants = WANTS_ADDS) {
    checkSubscribeOptions(call, options)
    this.host = host
    this.name = options.name
    this.scope = new ScopeFilter(call, options, host.indexer, ({ what, effect, error, key }) => {
      this.report(`${this.named(what)} failed: ${messageOf(error)}; ${effect}`, error, key)
    })
    this.wants = wants
    this.#queue = new ChangeQueue(options, host.router.slices.changesPerStep)
    this.#onOverflow = options.onOverflow ?? 'coalesce'
    host.router.add(this)
    if (host.router.isFilled) this.startReplay()
    if (options.resyncMs === undefined) return
    this.#resyncing = new AbortController()
    this.#resync(options.resyncMs, this.#resyncing.signal).catch(() => {}) // It ends by an abort.
  }

  /** The version up to which every change was handled; undefined with several sources, which have a version each. */
  get version(): Version | undefined {
    return this.host.isOfSet ? undefined : this.#position.version
  }

  get #position(): StorePosition {
    if (!this.isSynced) return NO_POSITION
    if (this.closed !== undefined || this.hasQueued || this.#inFlight > 0) return this.#handled
    return this.#draining?.position ?? this.#storePosition
  }

  /** The position of the store, as far as its changes were queued here. */
  get #storePosition(): StorePosition {
    const { routed, current } = this.host.router
    return this.isBehind ? routed : current
  }

  /** Whether the commit that is being routed may have changes that are not queued here yet. */
  get isBehind(): boolean {
    const { routed, current } = this.host.router
    return routed !== current && !this.#isReplayed
  }

  /** The version with which waits are compared; undefined if its history has ended. */
  get reached(): Version | undefined {
    const { version, history } = this.#position
    return history !== undefined && history === this.host.history ? version : undefined
  }

  /** The likely reason for which a function hangs during a drain. */
  get drainHint(): string {
    const isDraining = this.closed === undefined && this.#draining !== undefined
    return isDraining ? '; a drain waits for it: a function must not await the drain of its own subscription' : ''
  }

  get backlog(): { readonly keys: number; readonly oldestMs: number } {
    const keys = (this.#replay?.remaining ?? 0) + this.#queue.keys
    const since = this.oldestAt
    return { keys, oldestMs: keys === 0 || since === undefined ? 0 : this.host.clock.now() - since }
  }

  /** The time at which the oldest queued batch was queued, or the replay began. */
  get oldestAt(): number | undefined {
    return this.#replay === undefined ? this.#queue.oldestAt : this.#replay.since
  }

  get hasMore(): boolean {
    if (this.closed !== undefined) return false
    return this.#replay === undefined ? !(this.#queue.isEmpty || this.#queue.isBusy) : this.#replay.isReady
  }

  /** Whether a batch is queued, or is being queued in steps. */
  get hasQueued(): boolean {
    if (this.closed !== undefined) return false
    const isLast = this.#draining?.lastCommit === this.#commits
    return this.#replay !== undefined || !this.#queue.isEmpty || (isLast && this.isBehind)
  }

  get #commits(): number {
    return this.host.router.current.commit
  }

  startReplay(): void {
    if (this.closed !== undefined) return
    const { indexer, clock, router } = this.host
    const { slices, scans } = router
    try {
      this.#replayedCommit = this.#commits
      const scan = this.scope.scan(this.wants.initialAdds)
      this.#replay = new Replay(scan ?? indexer.store.readers.pin(), this.#storePosition, clock.now())
      if (scan !== undefined && scan.undecided > slices.largeWrite) {
        scan.pin()
        const ended = scans.run(() => scan.inSlices(clock, slices, indexer.writer.reentrancy))
        ended.then(() => this.reader.wake()).catch((error: unknown) => this.fail(error))
        return
      }
      if (scan !== undefined) finish(scan.steps())
      this.reader.wake()
    } catch (error) {
      this.fail(error)
    }
  }

  /** It is unknown which changes the feed misses. */
  fail(thrown: unknown): void {
    if (this.closed !== undefined) return
    this.#failWith(`was closed by an error: ${messageOf(thrown)}`, thrown)
  }

  #failWith(why: string, cause?: unknown): void {
    this.close(this.report(`${this.named('a subscription')} ${why}`, cause))
  }

  report(message: string, cause?: unknown, key?: string): SourceError {
    const error = new SourceError(message, { code: 'HANDLER', phase: 'handle', cause, key })
    this.host.report(error)
    return error
  }

  /** The change as the subscriber sees it. `keepsValue`: the object has the first value of `where`, as before. */
  match({ changes, memberships, tracked }: Commit<T>, i: number, keepsValue: boolean): Change<T> | undefined {
    const change = changes[i]
    if (change === undefined || this.closed !== undefined || this.#isReplayed) return undefined
    this.#replay?.decide(change.key)
    return keepsValue && this.scope.isOneValue ? change : this.scope.match(change, memberships[i], tracked)
  }

  /** Collects a change of a commit. Returns true for the first. `enqueueMatched` ends it. */
  collect(matched: Change<T>): boolean {
    this.#matched?.push(matched)
    if (this.#matched !== undefined) return false
    this.#matched = [matched]
    return true
  }

  enqueueMatched(position: StorePosition, source: string | undefined): Steps | undefined {
    const matched = this.#matched
    this.#matched = undefined
    return matched && this.enqueue(matched, position, source)
  }

  /** All changes concern this feed. They cannot be dequeued before the last of the steps that are returned. */
  enqueue(changes: readonly Change<T>[], position: StorePosition, source: string | undefined): Steps | undefined {
    if (this.closed !== undefined || this.#isReplayed) return undefined
    try {
      return this.#enqueue(changes, position, source)
    } catch (error) {
      this.fail(error)
      return undefined
    }
  }

  #enqueue(changes: readonly Change<T>[], position: StorePosition, source?: string): Steps | undefined {
    if (!this.#accepts(changes)) return undefined
    const isQueued = this.#queue.push(changes, position, this.host.clock.now(), source)
    if (!isQueued && (this.#onOverflow === 'coalesce' || this.#queue.isMerging)) return this.#merge()
    if (isQueued) this.reader.wake()
    else this.#failWith('fell behind by more changes than its capacity, and was closed')
    return undefined
  }

  *#merge(): Steps {
    try {
      for (const _ of this.#queue.merge()) {
        yield
        if (this.closed !== undefined) return
      }
      this.reader.wake()
    } catch (error) {
      this.fail(error)
    }
  }

  /** What the store had while nothing was queued is handled when the next change is accepted. */
  #accepts(changes: readonly Change<T>[]): boolean {
    if (this.closed !== undefined) return false
    const draining = this.#draining
    const isAccepted = draining === undefined || draining.lastCommit === this.#commits
    if (isAccepted) this.#handled = this.#position
    else draining.onSkipped?.(changes)
    return isAccepted
  }

  /**
   * Delivers the objects in scope again once a period, in parts that are spread over it, until `signal` aborts. A part
   * waits until the queue is empty. Then the store holds the objects that were delivered last.
   */
  async #resync(periodMs: number, signal: AbortSignal): Promise<never> {
    const { scope } = this
    const { clock } = this.host
    await this.synced('resync', { signal })
    for (;;) {
      const { size } = scope
      const parts = Math.max(1, Math.min(size, RESYNC_PARTS, Math.floor(periodMs / RESYNC_MIN_MS)))
      const entries = scope.entries()
      for (let part = 0; part < parts; part++) {
        await clock.sleep(periodMs / parts, signal)
        while (this.hasQueued || this.isBehind) await clock.sleep(periodMs / parts, signal)
        const changes: Change<T>[] = []
        // An object that leaves the scope and returns is listed twice, so the last part has no limit.
        for (let left = part === parts - 1 ? Infinity : Math.ceil(size / parts); left > 0; left--) {
          const { done, value: entry } = entries.next()
          if (done) break
          const { key, object } = entry
          const resync = { key, object, previous: object, version: undefined, origin: 'resync' } as const
          changes.push(scope.sinceReceived({ type: 'update', ...resync }))
        }
        if (changes.length > 0) finish(this.#enqueue(changes, this.#storePosition))
      }
    }
  }

  /** Whether the replay includes the commit that is being routed. */
  get #isReplayed(): boolean {
    return this.#replayedCommit === undefined || this.#commits <= this.#replayedCommit
  }

  dequeue(): DeliveredBatch<T> | undefined {
    if (!this.hasMore) return undefined
    const replayed = this.#replay?.take()
    if (replayed?.position !== undefined) this.#replay = undefined
    const taken = replayed ?? this.#queue.take()
    if (taken === undefined) return undefined
    this.#inFlight++
    return new DeliveredBatch(taken.changes, taken.position, taken.source, this.host.isOfSet)
  }

  ack(batch: DeliveredBatch<T>): void {
    this.ackThrough(batch.position, 1)
  }

  /** Acknowledges dequeued batches, the last of which has this position. */
  ackThrough(position: StorePosition | undefined, batches: number): void {
    this.#inFlight -= batches
    if (position !== undefined) {
      this.isSynced = true
      this.#handled = position
    }
    this.#waits?.check()
  }

  routed(): void {
    this.#waits?.check()
    this.reader.wake() // A controller, and a consumer that drains, wait for the commit.
  }

  synced(call: string, wait: Wait = {}): Promise<void> {
    return this.#awaited.synced(call, wait)
  }

  waitFor(version: Version, wait: VersionWait = {}): Promise<void> {
    return this.#awaited.waitFor(version, wait)
  }

  get #awaited(): FeedWaits {
    this.#waits ??= new FeedWaits(this)
    return this.#waits
  }

  /** Has no effect before the first list. With `onSkipped` the feed stays in the router, and its scope is current. */
  stopAccepting(onSkipped?: (changes: readonly Change<T>[]) => void): void {
    if (this.#replayedCommit === undefined || this.closed !== undefined || this.#draining !== undefined) return
    // Readers see the commit that is being routed, so its changes are accepted.
    const { isBehind } = this
    this.#handled = this.#position
    const lastCommit = isBehind ? this.#commits : undefined
    this.#draining = { position: this.host.router.current, lastCommit, onSkipped }
    this.#resyncing?.abort(ABORTED)
    if (onSkipped === undefined && !isBehind) this.host.router.remove(this)
    this.#waits?.check() // While a commit is routed, the handled batch of it counts from now on.
  }

  close(reason: SourceError): void {
    if (this.closed !== undefined) return
    this.#handled = this.#position // Later the store advances without this feed.
    this.closed = reason
    this.#waits?.rejectAll(reason)
    this.#resyncing?.abort(ABORTED)
    this.host.router.remove(this)
    this.scope.close()
    this.#replay?.close()
    this.#replay = undefined
    this.#queue.clear()
    this.reader.wake()
    this.reader.closed?.(reason)
  }

  named(what: string): string {
    const of = this.name === undefined ? '' : ` of "${this.name}"`
    return `${what}${of} on ${this.host.title}`
  }
}
