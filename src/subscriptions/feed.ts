import type { Clock } from '../contract/clock.js'
import { ABORTED, messageOf, SourceError } from '../contract/errors.js'
import type { Entry } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import type { Added, Change, Deleted, Updated } from '../queue/change.js'
import { DeltaFIFO } from '../queue/delta-fifo.js'
import type { Membership } from '../store/commit.js'
import type { Indexer } from '../store/indexer.js'
import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import type { Pin } from '../store/pin.js'
import { checkWait, type Settle, type Wait, withDeadline } from '../util/deadline.js'
import { Latch } from '../util/latch.js'
import { type ChangeBatch, checkSubscribeOptions, declaredIn, type FeedOptions } from './subscription-types.js'
import { checkVersionWait, type VersionWait, VersionWaiters } from './version-waiters.js'

/** What a feed needs of its informer. */
export interface FeedHost<T> {
  readonly indexer: Indexer<T, unknown>
  readonly clock: Clock
  readonly sourceName: string
  /** Whether the store mirrors several sources: then versions are positions of the store itself. */
  readonly isOfSet: boolean
  readonly isSynced: () => boolean
  /** Compares versions. A TypeError where the source cannot, or where several sources leave open which. */
  hasReached(call: string, source?: string): (at: Version, mark: Version) => boolean
  /**
   * Which history of its source the store shows; undefined while it is known to be over and the next list is not in. Over several
   * sources always 0: there positions are those of the store.
   */
  readonly history: number | undefined
  /** Follows the history of this source that the store shows now. */
  followHistory(source: string | undefined, onForked: (error: SourceError) => void): FollowedHistory
  /** Settles a wait when the store includes a version, also before this returns. Returns what ends the wait. */
  waitForStore(version: Version, source: string | undefined, settle: Settle<void>): () => void
  report(error: SourceError): void
  attach(feed: Feed<T>): void
  detach(feed: Feed<T>): void
  /** Whoever tells of this feed is done. */
  release(feed: Feed<T>): void
}

export interface FollowedHistory {
  /** Over several sources: whether the store still shows this history; with one source the feed itself compares histories. */
  isShown(): boolean
  leave(): void
}

/** How many objects of the initial replay make a batch. */
const REPLAY_BATCH = 256
/** In how many parts, at most, a resync comes, and how far they are apart at least, in milliseconds. */
const RESYNC_PARTS = 100
const RESYNC_MIN_MS = 10

interface Replay<T> {
  /** All of the store, walked by ordinal; or the entries of a scope, collected at the beginning. */
  readonly pin: Pin<T> | undefined
  readonly entries: readonly Entry<T>[]
  readonly version: Version | undefined
  readonly history: number | undefined
  at: number
}

/** A version, and the history in which it is one. */
interface Place {
  readonly version: Version | undefined
  readonly history: number | undefined
}

const NOWHERE: Place = { version: undefined, history: undefined }

/** Where a feed is when a batch has been handled. */
export interface BatchEnd {
  readonly position: Version | undefined
  readonly isSynced: boolean
}

/**
 * What one subscription is to be told, in order: first the store as it was when it began, then every change in its
 * scope exactly once. It knows nothing of how it is told.
 */
export class Feed<T> {
  readonly host: FeedHost<T>
  readonly name: string | undefined
  readonly key: string | undefined
  /** The indexes that `where` asks, with what it asks them for. */
  readonly where: readonly (readonly [DeclaredIndex<T>, unknown])[]
  readonly wantsBookmarks: boolean
  readonly #filter: ((object: T, key: string) => boolean) | undefined
  readonly #fifo: DeltaFIFO<T>
  readonly #onOverflow: 'coalesce' | 'fail'
  readonly #untrack: readonly (() => void)[]
  readonly #waiters: VersionWaiters
  readonly #synced = new Latch()
  /** The keys that it has been told of and that are in its scope; undefined where all are. */
  readonly #told: Set<string> | undefined
  /** Changes of the commit that is being routed. */
  #collected: Change<T>[] = []
  #replay: Replay<T> | undefined
  /** The commit whose outcome the replay shows; it and all before it are not told as changes. */
  #begunAt = Infinity
  #handled: Place = NOWHERE
  #inFlight = 0
  /** The history to which the batches that were taken lead, and how many of them have to be finished first. */
  #takenHistory: number | undefined
  #unfinished = 0
  #begunSince = 0
  #hasFilterFailed = false
  #closed: SourceError | undefined
  readonly #ended = new AbortController()
  /** Aborts when nothing more is added to what waits. */
  readonly #sealed = new AbortController()
  /** Where the store was then. */
  #sealedAt: Place = NOWHERE
  /** Who wants to know what is not added. */
  #onMissed: ((changes: readonly Change<T>[]) => void) | undefined
  /** Over several sources: where the store was after a batch, which the batch does not say. */
  readonly #positions = new WeakMap<ChangeBatch<T>, Version>()
  /** The handler or run of this feed that has run for longest; set by the follower. */
  longest: () => { readonly key: string; readonly since: number } | undefined = () => undefined
  /** Called when there is something to take, or no more. */
  wake: () => void = () => {}

  constructor(host: FeedHost<T>, call: string, options: FeedOptions<T>, wantsBookmarks = false) {
    checkSubscribeOptions(call, options)
    this.host = host
    this.name = options.name
    this.key = options.key
    this.where = declaredIn(call, options.where ?? {}, host.indexer.declared)
    this.wantsBookmarks = wantsBookmarks
    this.#filter = options.filter
    const { delivery = 'every', capacity } = options
    this.#fifo = new DeltaFIFO(capacity === undefined ? { delivery } : { delivery, capacity })
    this.#onOverflow = options.onOverflow ?? 'coalesce'
    this.#waiters = new VersionWaiters((at, mark) => this.#hasReached(at, mark))
    const isScoped = this.key !== undefined || this.where.length > 0 || this.#filter !== undefined
    this.#told = isScoped ? new Set() : undefined
    this.#untrack = this.where.map(([index]) => host.indexer.writer.track(index))
    host.attach(this)
    if (host.isSynced()) this.startReplay()
    if (options.resyncMs !== undefined) void this.#resync(options.resyncMs).catch(() => {})
  }

  get isScoped(): boolean {
    return this.#told !== undefined
  }

  get closed(): SourceError | undefined {
    return this.#closed
  }

  /** Undefined over several sources, which have a version each. */
  get version(): Version | undefined {
    return this.host.isOfSet ? undefined : this.#place.version
  }

  get #place(): Place {
    if (!this.#synced.isOpen) return NOWHERE
    if (!this.#isIdle || this.#closed !== undefined) return this.#handled
    return this.#sealed.signal.aborted ? this.#sealedAt : this.#storePlace
  }

  get #storePlace(): Place {
    return { version: this.host.indexer.writer.position, history: this.host.history }
  }

  /** The version that answers waits; undefined while it is of a history that is over. */
  get #reached(): Version | undefined {
    const { version, history } = this.#place
    return history !== undefined && history === this.host.history ? version : undefined
  }

  get backlog(): { readonly keys: number; readonly oldestMs: number } {
    const replay = this.#replay
    const replayed = replay === undefined ? 0 : (replay.pin?.size ?? replay.entries.length) - replay.at
    const keys = Math.max(replayed, 0) + this.#fifo.keys
    const since = this.oldestAt
    return { keys, oldestMs: keys === 0 || since === undefined ? 0 : this.host.clock.now() - since }
  }

  /** Since when the oldest of what waits has waited. */
  get oldestAt(): number | undefined {
    return this.#replay === undefined ? this.#fifo.oldestAt : this.#begunSince
  }

  get hasMore(): boolean {
    return this.#closed === undefined && (this.#replay !== undefined || !this.#fifo.isEmpty)
  }

  /** Whether `key` is in the scope now, as far as it has been told. */
  isInScope(key: string): boolean {
    return this.#told === undefined || this.#told.has(key)
  }

  /** The store has its first list: what it holds is told first. */
  startReplay(): void {
    try {
      this.#begin()
    } catch (error) {
      this.fail(error)
    }
  }

  #begin(): void {
    if (this.#closed !== undefined) return
    const { indexer, clock } = this.host
    this.#begunAt = indexer.writer.commits
    this.#begunSince = clock.now()
    const place = this.#storePlace
    if (this.#told === undefined) this.#replay = { pin: indexer.store.pin(), entries: [], ...place, at: 0 }
    else {
      const entries = this.#candidates().filter((entry) => this.#passes(entry.object, entry.key))
      if (this.#closed !== undefined) return // By a filter.
      for (const { key } of entries) this.#told.add(key)
      this.#replay = { pin: undefined, entries, ...place, at: 0 }
    }
    this.wake()
  }

  /** What has to be told cannot be found out: its follower is told that, instead of a part. */
  fail(thrown: unknown): void {
    if (this.#closed !== undefined) return
    const message = `${this.#named('a subscription')} was closed by an error: ${messageOf(thrown)}`
    const error = new SourceError(message, { code: 'HANDLER', phase: 'handle', cause: thrown })
    this.host.report(error)
    this.close(error)
  }

  /** A change that may concern this feed, out of a commit that `flush` ends. */
  match(change: Change<T>, membership: Membership | undefined, positions: ReadonlyMap<DeclaredIndex<T>, number>): void {
    const told = this.#told
    if (told === undefined || this.#closed !== undefined || this.#isNotYet) return
    const { key } = change
    const wasIn = told.has(key)
    const isIn = change.type !== 'delete' && this.#isIn(change, membership, positions)
    if (isIn) {
      told.add(key)
      this.#collected.push(wasIn ? change : entering(change))
    } else if (wasIn) {
      told.delete(key)
      this.#collected.push(change.type === 'delete' ? change : leaving(change))
    }
  }

  /** Ends a commit. */
  publish(position: Version | undefined, source?: string): void {
    if (this.#collected.length === 0) return
    const changes = this.#collected
    this.#collected = []
    this.enqueue(changes, position, source)
  }

  /** Queues a commit, all of which concerns this feed. */
  enqueue(changes: readonly Change<T>[], position: Version | undefined, source?: string): void {
    if (this.#closed !== undefined || this.#isNotYet) return
    try {
      this.#queue(changes, position, source)
    } catch (error) {
      this.fail(error)
    }
  }

  #queue(changes: readonly Change<T>[], position: Version | undefined, source?: string): void {
    if (this.#sealed.signal.aborted) {
      this.#onMissed?.(changes)
      return
    }
    const { clock, history } = this.host
    if (!this.#fifo.push(changes, position, clock.now(), source, history)) {
      if (this.#onOverflow === 'coalesce') this.#fifo.coalesce()
      else this.#overflow()
    }
    this.wake()
  }

  /** The next batch, or undefined where nothing waits. Each is ended by `finish`, in the order of taking. */
  dequeue(): ChangeBatch<T> | undefined {
    if (this.#closed !== undefined) return undefined
    const batch = this.#replay === undefined ? this.#takeQueued() : this.#takeReplay(this.#replay)
    if (batch === undefined) return undefined
    this.#inFlight++
    return batch
  }

  ack(batch: ChangeBatch<T>): void {
    this.ackThrough(this.endOf(batch), 1)
  }

  /** All that has to be kept of a taken batch to finish it later. */
  endOf(batch: ChangeBatch<T>): BatchEnd {
    return { position: this.#positions.get(batch) ?? batch.version, isSynced: batch.isSynced }
  }

  /** Finishes so many taken batches, the last of which has this end. */
  ackThrough({ position, isSynced }: BatchEnd, batches: number): void {
    this.#inFlight -= batches
    this.#unfinished -= batches
    if (isSynced) {
      const history = this.#unfinished > 0 ? this.#handled.history : this.#takenHistory
      this.#handled = { version: position, history }
      if (!this.#synced.isOpen) this.#synced.open()
    }
    this.checkWaiters()
  }

  /** Resolves the waits for versions that this feed has reached. */
  checkWaiters(): void {
    if (this.#waiters.size > 0) this.#waiters.check(this.#reached)
  }

  synced(call: string, wait: Wait = {}): Promise<void> {
    checkWait(call, wait)
    return withDeadline(this.#named('synced'), wait, this.host.clock, (settle) => {
      if (this.#closed !== undefined) settle.reject(this.#closed)
      return this.#synced.enter(settle)
    })
  }

  waitFor(version: Version, wait: VersionWait = {}): Promise<void> {
    checkVersionWait(version, wait)
    this.host.hasReached('waitFor', wait.source)
    const { source, ...rest } = wait
    return withDeadline(this.#named('waitFor'), rest, this.host.clock, (settle) => this.#await(version, source, settle))
  }

  /**
   * First the store has to include it, then this feed: over several sources, what the store had at that moment; both again if
   * access to the source was lost before this feed was there. If the source's history ended before, the wait rejects.
   */
  #await(version: Version, source: string | undefined, settle: Settle<void>): () => void {
    if (this.#closed !== undefined) {
      settle.reject(this.#closed)
      return () => {}
    }
    const { indexer, isOfSet } = this.host
    const reached = isOfSet ? undefined : this.#reached
    if (reached !== undefined && this.#hasHandled(reached, version)) {
      settle.resolve()
      return () => {}
    }
    let leaveStore = (): void => {}
    let leaveFeed = (): void => {}
    const waitForStore = (): void => {
      leaveStore = this.host.waitForStore(version, source, { resolve: waitForFeed, reject: settle.reject })
    }
    // In the same turn as the store: between the two, no history can end.
    const waitForFeed = (): void => {
      leaveStore()
      const mark = isOfSet ? (indexer.writer.position ?? '0') : version
      const history = this.host.followHistory(source, settle.reject)
      const resolve = (): void => {
        if (history.isShown()) settle.resolve()
        else {
          leaveFeed()
          waitForStore()
        }
      }
      leaveFeed = history.leave
      const leaveWaiters = this.#waiters.enter(mark, this.#reached, { resolve, reject: settle.reject })
      leaveFeed = () => {
        history.leave()
        leaveWaiters()
      }
    }
    waitForStore()
    const refused = (): void => settle.reject(this.#closed)
    this.#ended.signal.addEventListener('abort', refused, { once: true })
    return () => {
      this.#ended.signal.removeEventListener('abort', refused)
      leaveStore()
      leaveFeed()
    }
  }

  /** What is no version at all is refused by the wait for the store. */
  #hasHandled(reached: Version, version: Version): boolean {
    try {
      return this.#waiters.includes(reached, version)
    } catch {
      return false
    }
  }

  /**
   * From now on nothing is added to what waits. Before the first list it has no effect. Where `onMissed` is given, it is
   * told instead of what would have been added, and `has` goes on to say what is in the scope.
   */
  stopAccepting(onMissed?: (changes: readonly Change<T>[]) => void): void {
    if (this.#begunAt === Infinity || this.#sealed.signal.aborted) return
    this.#sealedAt = this.#storePlace
    this.#sealed.abort(ABORTED)
    this.#onMissed = onMissed
    if (onMissed === undefined) this.host.detach(this)
  }

  close(reason: SourceError): void {
    if (this.#closed !== undefined) return
    this.#handled = this.#place // From now on the store moves without this feed.
    this.#closed = reason
    this.#ended.abort(ABORTED)
    this.#sealed.abort(ABORTED)
    this.host.detach(this)
    for (const untrack of this.#untrack) untrack()
    this.#replay?.pin?.close()
    this.#replay = undefined
    while (this.#fifo.take() !== undefined); // Nobody will be told.
    this.#told?.clear()
    this.#synced.rejectAll(reason)
    this.#waiters.rejectAll(reason)
    this.wake()
  }

  #hasReached(at: Version, mark: Version): boolean {
    if (this.host.isOfSet) return Number(at) >= Number(mark)
    return this.host.hasReached('waitFor')(at, mark)
  }

  get #isNotYet(): boolean {
    return this.host.indexer.writer.commits <= this.#begunAt
  }

  get #isIdle(): boolean {
    return this.#inFlight === 0 && !this.hasMore
  }

  #takeQueued(): ChangeBatch<T> | undefined {
    const queued = this.#fifo.take()
    if (queued === undefined) return undefined
    const { changes, version, source, history } = queued
    this.#leadsTo(history)
    return this.#batch(changes, version, source, true)
  }

  /** The batch that is taken now is one of this history. */
  #leadsTo(history: number | undefined): void {
    if (history === this.#takenHistory) return
    this.#takenHistory = history
    this.#unfinished = this.#inFlight + 1
  }

  #batch(
    changes: readonly Change<T>[],
    position: Version | undefined,
    source: string | undefined,
    isSynced: boolean,
  ): ChangeBatch<T> {
    if (!this.host.isOfSet) return { changes, version: position, source: undefined, isSynced }
    const batch: ChangeBatch<T> = { changes, version: undefined, source, isSynced }
    if (position !== undefined) this.#positions.set(batch, position)
    return batch
  }

  #takeReplay(replay: Replay<T>): ChangeBatch<T> {
    const { pin, entries } = replay
    const changes: Added<T>[] = []
    const end = pin?.ordinalLimit ?? entries.length
    while (replay.at < end && changes.length < REPLAY_BATCH) {
      const at = replay.at++
      const entry = pin === undefined ? entries[at] : pin.entryAt(at)
      if (entry !== undefined) changes.push(added(entry))
    }
    const isLast = replay.at >= end
    if (isLast) {
      this.#leadsTo(replay.history)
      pin?.close()
      this.#replay = undefined
    }
    return this.#batch(changes, isLast ? replay.version : undefined, undefined, isLast)
  }

  /**
   * Tells what is in scope again, a part at a time. Only while nothing waits: then what the store has is what was told
   * last, and nothing piles up.
   */
  async #resync(periodMs: number): Promise<void> {
    const { clock, indexer } = this.host
    const { signal } = this.#sealed
    await this.synced('resync', { signal })
    for (;;) {
      const size = this.#told?.size ?? indexer.store.size
      const parts = Math.max(1, Math.min(size, RESYNC_PARTS, Math.floor(periodMs / RESYNC_MIN_MS)))
      const entries = this.#inScope()
      for (let part = 0; part < parts; part++) {
        await clock.sleep(periodMs / parts, signal)
        while (this.hasMore) await clock.sleep(periodMs / parts, signal)
        const changes: Updated<T>[] = []
        // Who left the scope and came back is met twice: the last part is whatever is left.
        for (let left = part === parts - 1 ? Infinity : Math.ceil(size / parts); left > 0; left--) {
          const { done, value: entry } = entries.next()
          if (done) break
          const { key, object } = entry
          changes.push({ type: 'update', key, object, previous: object, version: undefined, origin: 'resync' })
        }
        if (changes.length > 0) this.#queue(changes, indexer.writer.position)
      }
    }
  }

  /** What is in scope while it is walked. */
  *#inScope(): Iterator<Entry<T>, undefined> {
    const { store } = this.host.indexer
    if (this.#told !== undefined) {
      for (const key of this.#told) {
        const entry = store.entryOf(key)
        if (entry !== undefined) yield entry
      }
      return
    }
    for (let ordinal = 0; ordinal < store.ordinalLimit; ordinal++) {
      const entry = store.entryAt(ordinal)
      if (entry !== undefined) yield entry
    }
  }

  /** The entries that may be in scope, as the store has them now. */
  #candidates(): readonly Entry<T>[] {
    const { store } = this.host.indexer
    const [first, ...rest] = this.where
    if (first !== undefined) store.assertIndexed()
    let entries: readonly Entry<T>[]
    if (this.key !== undefined) {
      const entry = store.entryOf(this.key)
      entries = entry === undefined ? [] : [entry]
    } else if (first !== undefined) {
      const [index, value] = first
      entries = index.entriesWith(value)
    } else entries = store.entries()
    const others = this.key === undefined ? rest : this.where
    if (others.length === 0) return entries
    return entries.filter(({ key }) => {
      const ordinal = store.ordinalOf(key)
      return others.every(
        ([declared, value]) => ordinal !== undefined && declared.includes(declared.index.valueAt(ordinal), value),
      )
    })
  }

  #isIn(
    change: Change<T>,
    membership: Membership | undefined,
    positions: ReadonlyMap<DeclaredIndex<T>, number>,
  ): boolean {
    if (this.key !== undefined && change.key !== this.key) return false
    for (const [declared, value] of this.where) {
      const position = positions.get(declared)
      if (position === undefined || !declared.includes(membership?.is[position], value)) return false
    }
    return this.#passes(change.object, change.key)
  }

  #passes(object: T, key: string): boolean {
    if (this.#filter === undefined) return true
    try {
      return this.#filter(object, key)
    } catch (error) {
      if (!this.#hasFilterFailed) {
        const message = `${this.#named('the filter')} failed: ${messageOf(error)}; such objects are out of scope`
        this.host.report(new SourceError(message, { code: 'HANDLER', phase: 'handle', cause: error, key }))
      }
      this.#hasFilterFailed = true
      return false
    }
  }

  #overflow(): void {
    const error = new SourceError(
      `${this.#named('a subscription')} fell behind by more changes than its capacity, and was closed`,
      {
        code: 'HANDLER',
        phase: 'handle',
      },
    )
    this.host.report(error)
    this.close(error)
  }

  #named(what: string): string {
    return this.name === undefined
      ? `${what} on ${this.host.sourceName}`
      : `${what} of "${this.name}" on ${this.host.sourceName}`
  }
}

function added<T>({ key, object }: Entry<T>): Added<T> {
  return { type: 'add', key, object, previous: undefined, version: undefined, origin: 'initial' }
}

function entering<T>({ key, object, version, origin }: Change<T>): Added<T> {
  return { type: 'add', key, object, previous: undefined, version, origin }
}

/** What leaves a scope was last seen as the object in it. */
function leaving<T>({ key, object, previous, version, origin }: Change<T>): Deleted<T> {
  const last = previous ?? object
  return { type: 'delete', key, object: last, previous: last, version, origin, finalState: 'known' }
}
