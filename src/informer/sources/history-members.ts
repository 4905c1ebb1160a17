import type { Clock } from '../../contract/clock.js'
import { ABORTED, isEpochChange, OptionError, SourceError } from '../../contract/errors.js'
import { outcomeOf } from '../../contract/outcome.js'
import {
  type CollectionBatch,
  type CollectionSource,
  type HistoryWatchContext,
  HOLD_MS,
  type SharedHistory,
} from '../../contract/shared-history.js'
import {
  DEFAULT_HEARTBEAT_MS,
  type ListContext,
  type ListEvent,
  type ListerWatcher,
  type ListPage,
  type SourceContext,
  type WatchBatch,
  type WatchContext,
  type WatchEvent,
} from '../../contract/source.js'
import { assertVersion, type Version } from '../../contract/version.js'
import { isExpiry, type ReflectorState } from '../../reflector/reflector-state.js'
import { close, idleMsOf, isUnderstood, iterated, WRONG_REPLACE } from '../../reflector/source-checks.js'
import { CommitGroup } from '../../store/write/commit.js'
import { StoreWriter } from '../../store/write/store-writer.js'
import type { Slices } from '../../util/steps.js'

interface Upstream {
  /** The members that it brings from one commit to the next. One that comes back with another version is not among them. */
  readonly members: Set<HistoryMember>
  readonly ending: AbortController
  batches: AsyncIterator<CollectionBatch> | undefined
  isReading: boolean
  /** The time of the last batch, or of the last call of `alive`. */
  activeAt: number
  batch: CollectionBatch | undefined
}

const histories = new WeakMap<SharedHistory, HistoryMembers>()

/** Returns the members of a history, of all informers of the process. */
export function membersOfHistory(history: SharedHistory, clock: Clock, slices: Slices): HistoryMembers {
  const members = histories.get(history) ?? new HistoryMembers(history, clock, slices)
  histories.set(history, members)
  return members
}

/**
 * The informers over collections of one history. Each has a reflector of its own, whose list or watch waits here. When
 * all are ready they receive the next batch of the history, and their stores write it in one step.
 *
 * A member that does not come back is waited for: until `holdMs` is over, or its state is `failed`. It comes back with
 * any version. Then the watch is opened again, from the versions of all, and its first batch brings all to one.
 */
export class HistoryMembers {
  readonly history: SharedHistory
  readonly #clock: Clock
  readonly #writer: StoreWriter<unknown>
  readonly #members = new Set<HistoryMember>()
  readonly #progressListeners = new Set<() => void>()
  #upstream: Upstream | undefined
  /** Settles when the closed watches have ended; never if the source is stalled. */
  closing: Promise<unknown> = Promise.resolve()
  /** Ends the timers of the current wait of some members for others. */
  #hold: AbortController | undefined

  constructor(history: SharedHistory, clock: Clock, slices: Slices) {
    this.history = history
    this.#clock = clock
    this.#writer = new StoreWriter<unknown>({ clock, slices })
  }

  /** Adds a member that starts. The others wait for its list, unless some of them show a commit. */
  add(member: HistoryMember): void {
    member.hasLeft = [...this.#members].some(({ isIn }) => isIn)
    this.#members.add(member)
  }

  remove(member: HistoryMember): void {
    member.isIn = false
    this.#members.delete(member)
    this.gone(member)
  }

  gone(member: HistoryMember): void {
    this.#upstream?.members.delete(member)
    this.turn()
  }

  /** @throws OptionError when an informer that was started before follows the collection. */
  assertOnly(member: HistoryMember): void {
    for (const other of this.#members) {
      if (other === member) return
      if (other.collection !== member.collection) continue
      const message = `another informer follows the collection "${member.collection}" of ${this.history.name}; one is allowed for each source object`
      throw new OptionError(message, { option: 'source' })
    }
  }

  /** Whether the watch that is read has been without data for longer than this, in milliseconds. */
  isSilent(idleMs: number): boolean {
    const { isReading = false, activeAt = 0 } = this.#upstream ?? {}
    return isReading && this.#clock.now() - activeAt > idleMs
  }

  requestProgress(): void {
    for (const listener of this.#progressListeners) listener()
  }

  /** Called after each change of a member, and when a batch arrives. */
  turn(): void {
    const members = [...this.#members]
    if (this.#upstream?.members.size === 0) this.#close()
    if (members.some(({ phase }) => phase === 'working')) return
    const ready = members.filter(({ phase }) => phase === 'waiting')
    if (ready.length > 0 && members.some(({ phase, hasLeft }) => phase === 'away' && !hasLeft)) {
      this.#startHold()
      return
    }
    this.#endHold()
    if (ready.length === 0) return
    const upstream = this.#upstream
    if (upstream === undefined || !ready.every((member) => upstream.members.has(member))) this.#open(ready)
    else if (upstream.batch !== undefined) this.#deliver(upstream, upstream.batch, ready)
    else if (!upstream.isReading) void this.#read(upstream)
  }

  #startHold(): void {
    if (this.#hold !== undefined) return
    const hold = new AbortController()
    const { signal } = hold
    this.#hold = hold
    const { holdMs = HOLD_MS } = this.history
    const expired = (): void => {
      this.#endHold()
      for (const member of this.#members) if (member.phase === 'away') member.hasLeft = true
      this.turn()
    }
    if (holdMs < Infinity) this.#clock.sleep(holdMs, signal).then(expired, () => {})
    this.#keepAlive(signal).catch(() => {}) // The hold is over.
  }

  #endHold(): void {
    this.#hold?.abort(ABORTED)
    this.#hold = undefined
  }

  /** Yields bookmarks to the watches that wait for other members: their source is not silent. */
  async #keepAlive(signal: AbortSignal): Promise<void> {
    const times = Array.from(this.#members, ({ heartbeatMs = DEFAULT_HEARTBEAT_MS }) => heartbeatMs)
    for (;;) {
      await this.#clock.sleep(Math.min(...times), signal)
      this.#bookmark()
    }
  }

  /** The source works, and has no batch for the watches that wait. */
  #bookmark(): void {
    for (const member of this.#members) {
      const { position, isListing, isIn, watching } = member
      if (position === undefined || isListing) continue
      if (isIn) member.take({ events: [], version: position })
      else watching?.alive?.() // A bookmark would confirm an older version of a member that is not in.
    }
  }

  #open(ready: readonly HistoryMember[]): void {
    for (const member of ready) {
      const error = epochErrorOf(member, ready)
      if (error === undefined) continue
      member.wasRefused = member.isListing
      member.fail({ thrown: error })
      return
    }
    this.#close()
    const ending = new AbortController()
    const upstream: Upstream = {
      members: new Set(ready),
      ending,
      batches: undefined,
      isReading: false,
      activeAt: this.#clock.now(),
      batch: undefined,
    }
    this.#upstream = upstream
    try {
      upstream.batches = iterated('watch', this.history.watch(this.#context(ready, ending.signal)))
    } catch (error) {
      this.#failed(upstream, { thrown: error })
      return
    }
    void this.#read(upstream)
  }

  #context(ready: readonly HistoryMember[], signal: AbortSignal): HistoryWatchContext {
    const positions = new Map<string, Version>()
    for (const { collection, position } of ready) if (position !== undefined) positions.set(collection, position)
    // All members of the time of the call: one that is listing now begins its watch later, and one may be stopped.
    const members = this.#members
    const watches = (): readonly WatchContext[] => Array.from(members, ({ watching }) => watching ?? []).flat()
    const hasWaiters = (): boolean => watches().some((each) => each.hasWaiters?.() === true)
    const random = ready.find(({ context }) => context !== undefined)?.context?.random
    if (random === undefined) throw new Error('a member of a history that waits has a context')
    return {
      positions,
      signal,
      clock: this.#clock,
      random,
      mirror: this,
      warn: (message) => [...members].find(({ context }) => context !== undefined)?.context?.warn?.(message),
      isUnconfirmed: ready.some(({ watching }) => watching?.isUnconfirmed === true),
      hasWaiters,
      alive: () => {
        if (this.#upstream?.ending.signal !== signal) return
        this.#upstream.activeAt = this.#clock.now()
        this.#bookmark()
      },
      onProgressRequest: (listener) => {
        this.#progressListeners.add(listener)
        if (hasWaiters()) listener()
      },
      requestAudit: (...request) => {
        for (const each of watches()) each.requestAudit?.(...request)
      },
    }
  }

  #close(): void {
    const upstream = this.#upstream
    if (upstream === undefined) return
    this.#upstream = undefined
    this.#progressListeners.clear()
    upstream.ending.abort(ABORTED)
    this.closing = Promise.all([this.closing, close(upstream.batches)]).then(() => {})
  }

  async #read(upstream: Upstream): Promise<void> {
    upstream.isReading = true
    try {
      const next = await upstream.batches?.next()
      if (this.#upstream !== upstream) return
      upstream.isReading = false
      upstream.activeAt = this.#clock.now()
      if (next === undefined || next.done === true) {
        this.#failed(upstream)
        return
      }
      assertVersion(next.value.version, 'the version of a batch')
      upstream.batch = next.value
    } catch (error) {
      if (this.#upstream === upstream) this.#failed(upstream, { thrown: error })
      return
    }
    this.turn()
  }

  /** Without an error the watch has ended. A list that was read is kept, as long as a watch reports the error. */
  #failed(upstream: Upstream, error?: { readonly thrown: unknown }): void {
    this.#close()
    const waiting = [...upstream.members].filter(({ phase }) => phase === 'waiting')
    const watching = waiting.filter(({ isListing }) => !isListing)
    for (const member of watching.length === 0 || isExpiry(error?.thrown) ? waiting : watching) member.fail(error)
  }

  #deliver(upstream: Upstream, batch: CollectionBatch, ready: readonly HistoryMember[]): void {
    const { versions, parts, committedAt } = batch
    upstream.batch = undefined
    const losses = new Map(ready.map((member) => [member, lossOf(member, batch)]))
    const lostMembers = ready.filter((member) => losses.get(member) !== undefined)
    // The others wait for a member that has not left. They are brought to a later version with it.
    const isHeld = lostMembers.some(({ hasLeft }) => !hasLeft)
    if (isHeld) this.#close()
    for (const member of lostMembers) {
      upstream.members.delete(member)
      member.fail(losses.get(member))
    }
    if (isHeld) return
    const taking = ready.filter((member) => !lostMembers.includes(member))
    const partitions = taking.map(({ part }) => part)
    const group = new CommitGroup(this.#writer, partitions, (written) => this.#committed(written))
    for (const member of taking) {
      const events = parts.get(member.collection) ?? []
      const version = versions?.get(member.collection) ?? batch.version
      member.take(committedAt === undefined ? { events, version } : { events, version, committedAt }, group)
    }
  }

  /** From now on the members that were written show the last commit. The others come back with one of their own. */
  #committed(written: ReadonlySet<object>): void {
    for (const member of this.#members) {
      member.isIn = written.has(member.part)
      member.wasRefused &&= !member.isIn
      member.hasLeft = !member.isIn
    }
  }
}

/** Why a member cannot take a batch: its collection is lost, or was replaced as a whole after its list was read. */
function lossOf(
  { collection, isListing, position }: HistoryMember,
  { lost, parts, versions, version }: CollectionBatch,
): { readonly thrown: unknown } | undefined {
  if (lost?.has(collection) === true) return { thrown: lost.get(collection) }
  if (!isListing || position === (versions?.get(collection) ?? version)) return undefined
  if (parts.get(collection)?.some(({ type }) => type === 'replace') !== true) return undefined
  return { thrown: new SourceError('the collection was replaced after it was read', { code: 'UNAVAILABLE' }) }
}

/**
 * A member cannot continue beside others of another epoch if its list may be of an earlier one. Not all sources know: the
 * next list is of a later one. Nor can it if it has left, and its watch follows another one. The epoch of the others may
 * not be over.
 */
function epochErrorOf(member: HistoryMember, ready: readonly HistoryMember[]): unknown {
  const { isIn, isListing, position, hasReached, isLaterEpoch } = member
  if ((isIn && !isListing) || position === undefined) return undefined
  for (const other of ready) {
    if (!other.isIn || other.position === undefined) continue
    // The watch ends the epoch of the others.
    if (isListing && (member.wasRefused || isLaterEpoch?.(other.position, position) === true)) continue
    try {
      hasReached?.(other.position, position)
    } catch (error) {
      if (!isEpochChange(error)) continue
      const message = 'the list is of another epoch than the other collections'
      return isListing ? new SourceError(message, { code: 'UNAVAILABLE', cause: error }) : error
    }
  }
  return undefined
}

/** A list that waits for the other members is alive this often, in milliseconds. */
const ALIVE_MS = 10_000

/** A list that is read, or an open watch, which waits for the next commit of the history. */
interface Waiting {
  readonly position: Version
  readonly isList: boolean
  /** Without a batch the watch ends. */
  resolve(batch: WatchBatch<unknown> | undefined): void
  reject(reason: unknown): void
}

/**
 * The source of one reflector. A list ends with the next commit of the history: its last page has the changes since the
 * list was read. A watch yields each commit. Both wait until all members are ready.
 */
export class HistoryMember implements ListerWatcher<unknown> {
  readonly name: string
  readonly heartbeatMs?: number
  readonly silenceHint?: string
  readonly hasReached?: (at: Version, mark: Version) => boolean
  readonly isLaterEpoch?: (at: Version, mark: Version) => boolean
  readonly collection: string
  readonly members: HistoryMembers
  /** The partition of its store. Its next write is in `group`. */
  readonly part: { group: CommitGroup | undefined }
  /** Whether its store shows the last commit of the history. */
  isIn = false
  hasLeft = false
  /** Whether its last list was of another epoch than the others. */
  wasRefused = false
  /** That of the last call. */
  context: SourceContext | undefined
  watching: (WatchContext & Pick<HistoryWatchContext, 'alive'>) | undefined
  /** Releases the slot of a relist: others wait for it, and this member for them. */
  onRead: () => void = () => {}
  readonly #source: CollectionSource<unknown>
  #waiting: Waiting | undefined
  #isWorking = false
  /** The version of its last list, if no watch has begun since. */
  #listed: Version | undefined

  constructor(source: CollectionSource<unknown>, members: HistoryMembers, part: HistoryMember['part']) {
    this.name = source.name
    if (source.heartbeatMs !== undefined) this.heartbeatMs = source.heartbeatMs
    if (source.silenceHint !== undefined) this.silenceHint = source.silenceHint
    if (source.hasReached !== undefined) this.hasReached = (at, mark) => source.hasReached?.(at, mark) === true
    if (source.isLaterEpoch !== undefined) this.isLaterEpoch = (at, mark) => source.isLaterEpoch?.(at, mark) === true
    this.collection = source.collection
    this.members = members
    this.part = part
    this.#source = source
  }

  /** `working`: it has received a batch, and has not come back. `away`: its reflector does not read it now. */
  get phase(): 'waiting' | 'working' | 'away' {
    if (this.#waiting !== undefined) return 'waiting'
    return this.#isWorking ? 'working' : 'away'
  }

  get position(): Version | undefined {
    return this.#waiting?.position
  }

  get isListing(): boolean {
    return this.#waiting?.isList === true
  }

  async *list(context: ListContext): AsyncIterable<ListPage<unknown>> {
    this.members.assertOnly(this)
    this.context = context
    this.watching = undefined
    let version: Version | undefined
    for await (const { version: at, ...page } of this.#source.list(context)) {
      version = at ?? version
      yield page
    }
    if (version === undefined) return
    this.onRead()
    const timer = new AbortController()
    const keepAlive = async (): Promise<void> => {
      for (;;) {
        await context.clock.sleep(ALIVE_MS, timer.signal)
        if (!this.members.isSilent(idleMsOf(this))) context.alive?.()
      }
    }
    keepAlive().catch(() => {}) // The list has ended.
    let batch: WatchBatch<unknown> | undefined
    try {
      batch = await this.#next(version, true)
    } finally {
      timer.abort(ABORTED)
    }
    if (batch === undefined) throw new SourceError('the watch of the history ended', { code: 'UNAVAILABLE' })
    this.#listed = batch.version
    yield { events: listed(outcomeOf(batch.events)), version: batch.version }
  }

  async *watch(context: WatchContext): AsyncIterable<WatchBatch<unknown>> {
    this.members.assertOnly(this)
    this.context = context
    this.watching = context
    context.onProgressRequest(() => this.members.requestProgress())
    // The watch of the history is open already: it has ended the list.
    if (this.#listed === context.after && this.isIn) yield { events: [], version: context.after }
    this.#listed = undefined
    for (let position = context.after; ; ) {
      const batch = await this.#next(position, false)
      if (batch === undefined) return
      position = batch.version
      yield batch
    }
  }

  #next(position: Version, isList: boolean): Promise<WatchBatch<unknown> | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<WatchBatch<unknown> | undefined>()
    this.#waiting = { position, isList, resolve, reject }
    this.#isWorking = false
    // If its reflector has not written the last batch, this has confirmed saved content that did not change.
    this.part.group?.leave(this.part, !isList)
    this.part.group = undefined
    this.members.turn()
    return promise
  }

  /** Its store writes the batch in this group. */
  take(batch: WatchBatch<unknown>, group?: CommitGroup): void {
    this.part.group = group
    this.#end()?.resolve(batch)
  }

  /** Without an error its watch ends. */
  fail(error?: { readonly thrown: unknown }): void {
    const waiting = this.#end()
    if (error === undefined) waiting?.resolve(undefined)
    else waiting?.reject(error.thrown)
  }

  #end(): Waiting | undefined {
    const waiting = this.#waiting
    this.#waiting = undefined
    this.#isWorking = true
    return waiting
  }

  stateChanged(state: ReflectorState): void {
    const { name } = state
    if (name === 'failed') this.hasLeft = true
    if (name === 'connecting' || name === 'live') return
    const { group } = this.part
    // The list that comes next has the batch. So the others wait for that list, and read the batch again.
    if (name === 'backing-off' && state.next.type === 'list' && this.isIn) group?.withdraw(this.part)
    this.part.group = undefined
    this.#end()?.reject(ABORTED)
    this.#isWorking = false
    if (name === 'stopped') this.members.remove(this)
    else this.members.gone(this)
    group?.leave(this.part)
  }
}

/** As events of a list they override the objects that were read. */
function listed(events: readonly WatchEvent<unknown>[]): readonly ListEvent<unknown>[] {
  return events.flatMap((event) => {
    if (event.type !== 'replace') return event
    // As puts, entries without a key would be left out, and the list would be wrong for minutes.
    if (!isUnderstood(event)) throw new SourceError(WRONG_REPLACE, { code: 'PROTOCOL' })
    // The list was read at this version, so it has every key, and no other.
    return event.entries.map((entry) => ({ ...entry, type: 'put' as const }))
  })
}
