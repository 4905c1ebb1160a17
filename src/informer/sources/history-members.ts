import type { Clock } from '../../contract/clock.js'
import { ABORTED, OptionError, SourceError } from '../../contract/errors.js'
import {
  type CollectionBatch,
  type HistoryWatchContext,
  HOLD_MS,
  type SharedHistory,
} from '../../contract/shared-history.js'
import { DEFAULT_HEARTBEAT_MS } from '../../contract/source.js'
import { assertVersion, type Version } from '../../contract/version.js'
import { close, iterated } from '../../reflector/source-checks.js'
import { CommitGroup } from '../../store/commit-group.js'
import { StoreWriter } from '../../store/store-writer.js'
import type { Slices } from '../../util/steps.js'
import type { HistoryMember } from './history-member.js'

/** The open watch of a history. */
interface Upstream {
  /** The members that it brings from one commit to the next. One that comes back with another version is not among them. */
  readonly members: Set<HistoryMember>
  readonly ending: AbortController
  batches: AsyncIterator<CollectionBatch> | undefined
  isReading: boolean
  /** The next batch, if it has arrived. */
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
  /** Writes the batches of all members. */
  readonly #writer: StoreWriter<unknown>
  readonly #members = new Set<HistoryMember>()
  readonly #progressListeners = new Set<() => void>()
  #upstream: Upstream | undefined
  #closing: Promise<unknown> = Promise.resolve()
  /** Ends the timers of the current wait of some members for others. */
  #hold: AbortController | undefined

  constructor(history: SharedHistory, clock: Clock, slices: Slices) {
    this.history = history
    this.#clock = clock
    this.#writer = new StoreWriter<unknown>({ clock, slices })
  }

  /** Settles when the closed watches have ended; never if the source is stalled. */
  get closing(): Promise<unknown> {
    return this.#closing
  }

  /** Adds a member that starts. The others wait for its list, unless some of them show a commit. */
  add(member: HistoryMember): void {
    member.hasLeft = [...this.#members].some(({ isIn }) => isIn)
    this.#members.add(member)
  }

  /** Removes a member that was stopped. */
  remove(member: HistoryMember): void {
    member.isIn = false
    this.#members.delete(member)
    this.gone(member)
  }

  /** The list or the watch of a member has ended. */
  gone(member: HistoryMember): void {
    this.#upstream?.members.delete(member)
    this.turn()
  }

  /** @throws OptionError when another informer follows the collection. */
  assertOnly(member: HistoryMember): void {
    for (const other of this.#members) {
      if (other === member || other.collection !== member.collection) continue
      const message = `another informer follows the collection "${member.collection}" of ${this.history.name}; one is allowed for each source object`
      throw new OptionError(message, { option: 'source' })
    }
  }

  requestProgress(): void {
    for (const listener of this.#progressListeners) listener()
  }

  /** Takes the next step, if there is one. Called after each change of a member, and when a batch arrives. */
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
      for (const member of this.#members) {
        const { position, isListing, isIn } = member
        // A bookmark would confirm an older version of a member that is not in.
        if (position !== undefined && !isListing && isIn) member.take({ events: [], version: position })
      }
    }
  }

  #open(ready: readonly HistoryMember[]): void {
    this.#close()
    const ending = new AbortController()
    const upstream: Upstream = {
      members: new Set(ready),
      ending,
      batches: undefined,
      isReading: false,
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
    const watches = ready.flatMap(({ watching }) => watching ?? [])
    const hasWaiters = (): boolean => watches.some((each) => each.hasWaiters?.() === true)
    const { random, warn } = ready.find(({ context }) => context !== undefined)?.context ?? {}
    if (random === undefined) throw new Error('a member of a history that waits has a context')
    return {
      positions,
      signal,
      clock: this.#clock,
      random,
      mirror: this,
      ...(warn && { warn }),
      isUnconfirmed: watches.some(({ isUnconfirmed }) => isUnconfirmed === true),
      hasWaiters,
      onProgressRequest: (listener) => {
        this.#progressListeners.add(listener)
        if (hasWaiters()) listener()
      },
      requestAudit: (...request) => {
        for (const each of watches) each.requestAudit?.(...request)
      },
    }
  }

  #close(): void {
    const upstream = this.#upstream
    if (upstream === undefined) return
    this.#upstream = undefined
    this.#progressListeners.clear()
    upstream.ending.abort(ABORTED)
    this.#closing = Promise.all([this.#closing, close(upstream.batches)])
  }

  async #read(upstream: Upstream): Promise<void> {
    upstream.isReading = true
    try {
      const next = await upstream.batches?.next()
      if (this.#upstream !== upstream) return
      upstream.isReading = false
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

  /**
   * The watch has failed; without an error it has ended. A list that was read is not given up for that, as long as a
   * watch reports the error.
   */
  #failed(upstream: Upstream, error?: { readonly thrown: unknown }): void {
    this.#close()
    const waiting = [...upstream.members].filter(({ phase }) => phase === 'waiting')
    const watching = waiting.filter(({ isListing }) => !isListing)
    for (const member of watching.length === 0 || isOver(error?.thrown) ? waiting : watching) member.fail(error)
  }

  #deliver(upstream: Upstream, batch: CollectionBatch, ready: readonly HistoryMember[]): void {
    const { versions, parts, committedAt, lost } = batch
    upstream.batch = undefined
    const lostMembers = ready.filter(({ collection }) => lost?.has(collection))
    // The others wait for a member that was in. They are brought to a later version with it.
    const isHeld = lostMembers.some(({ isIn }) => isIn)
    if (isHeld) this.#close()
    for (const member of lostMembers) {
      upstream.members.delete(member)
      member.fail({ thrown: lost?.get(member.collection) })
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
      member.hasLeft = !member.isIn
    }
  }
}

/** Whether the history of all members is over. */
function isOver(error: unknown): boolean {
  return error instanceof SourceError && (error.code === 'VERSION_EXPIRED' || error.code === 'EPOCH_CHANGED')
}
