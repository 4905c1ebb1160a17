import type { Clock } from '../../../src/contract/clock.js'
import { messageOf, SourceError } from '../../../src/contract/errors.js'
import { ReadPace } from '../../common/poll-timer.js'
import { expired, forked, isExpired, isUnavailable, unavailable } from '../../common/source-errors.js'
import { type EtcdVersion, formatVersion } from '../history/etcd-version.js'
import {
  assertNewest,
  assertReachable,
  type NewestEntries,
  readNewest,
  suspicion,
  verifyHistory,
} from '../history/history-check.js'
import { etcdError, isCompacted, isTooLarge } from '../transport/etcd-errors.js'
import type { EtcdEvent, Header, WatchResponse } from '../transport/etcd-messages.js'
import { type KeyRange, printable } from '../transport/key-range.js'
import { isEntryInRange } from '../transport/received-entry.js'
import { hasReliableProgress } from '../transport/server-version.js'
import type { Session } from '../transport/session.js'
import { Fragments, wholeRevisions } from './fragments.js'
import { type InboxEvent, WatchInbox } from './watch-inbox.js'
import { WatchPosition } from './watch-position.js'

/** After this silence, the revision of a watch is requested if its ranges have different ones, in milliseconds. */
const QUIET_MS = 100
/** A watch that catches up does not respond to some requests. After this number of them, the ranges are read instead. */
const MOST_REQUESTS = 5

export interface WatchOptions {
  readonly session: Session
  /** The server's position when the session was opened. */
  readonly head: Header
  /** Has all keys of the ranges. One watch of it cannot split a transaction. */
  readonly cover: KeyRange
  /** The ranges whose changes are gone are added to it. */
  readonly lost: Map<string, SourceError>
  readonly maxCatchup: number
  readonly requireLeader: boolean
  readonly hasFragments: boolean
  readonly progressMs: number
  readonly timeoutMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
  onProgressRequest(listener: () => void): void
  /** The history check passed, but something is suspicious. */
  requestAudit(reason: string): void
  onServerVersion(version: string): void
}

export interface WatchedRange {
  readonly collection: string
  readonly range: KeyRange
  readonly from: EtcdVersion
}

/** Whole revisions: the events of each range, and the versions after them. Without events it is a bookmark. */
export interface RevisionBatch {
  readonly parts: ReadonlyMap<string, readonly EtcdEvent[]>
  readonly versions: ReadonlyMap<string, string>
}

/** Yields all changes of the ranges after their versions, from one stream. All have the revision of each batch. */
export async function* watchRanges(
  ranges: readonly WatchedRange[],
  options: WatchOptions,
): AsyncGenerator<RevisionBatch> {
  const { head, lost, maxCatchup } = options
  for (const { collection, from } of ranges) {
    assertReachable(head, from)
    const behind = head.revision - from.revision
    const reason = `${behind} revisions behind, more than maxCatchup (${maxCatchup}): a list costs less`
    if (behind > maxCatchup) lost.set(collection, expired(reason))
  }
  for (;;) {
    const left = ranges.filter(({ collection }) => !lost.has(collection))
    if (left.length === 0) throw lost.get(ranges[0]?.collection ?? '')
    yield* watchCover(left, options)
  }
}

/**
 * Watches the range that covers all ranges. The position follows the events: the header of a message has the server's
 * current revision, which may be far ahead of the delivered events. Returns without a batch after a range is lost.
 */
async function* watchCover(ranges: readonly WatchedRange[], options: WatchOptions): AsyncGenerator<RevisionBatch> {
  const { session, head, cover, lost, requireLeader, hasFragments: fragment } = options
  const start_revision = Math.min(...ranges.map(({ from }) => from.revision)) + 1
  const request = { key: cover.start, range_end: cover.end, start_revision, fragment }
  const inbox = new WatchInbox(await session.watch(request, requireLeader), options.clock, options.signal)
  try {
    await created(inbox, options.timeoutMs)
    // After the watch was created: if the server had been replaced since, the stream would have ended.
    const status = await session.status()
    if (status !== undefined) options.onServerVersion(status.version)
    const followed: FollowedRange[] = []
    for (const { collection, range, from } of ranges) {
      try {
        const newest = await verifyHistory(session, range, from)
        const at = { ...from, term: head.term, raftIndex: status?.raftIndex ?? from.raftIndex }
        followed.push({ collection, range, position: new WatchPosition(at, newest) })
      } catch (error) {
        if (!isExpired(error)) throw error
        lost.set(collection, error)
      }
    }
    if (followed.length < ranges.length) return
    const [reason] = ranges.flatMap(({ from }) => suspicion(from, head, status) ?? [])
    if (reason !== undefined) options.requestAudit(reason)
    const isTrusted = status !== undefined && hasReliableProgress(status.version)
    options.onProgressRequest(() => inbox.addProgressRequest())
    const loop = watchLoop(inbox, followed, isTrusted, options)
    // The history check passed: idle ranges are live at once.
    if (!loop.isBehind)
      yield { parts: new Map(), versions: new Map(ranges.map((each) => [each.collection, formatVersion(each.from)])) }
    yield* loop.run()
  } catch (error) {
    if (isTooLarge(error)) throw expired(`the changes since then are one message, ${messageOf(error)}`)
    if (isUnavailable(error)) session.isLost = true
    throw ranges.length > 1 ? withCover(error, cover) : error
  } finally {
    inbox.close(session.isLost)
  }
}

/** The user may read each range, but not what lies between them. */
function withCover(error: unknown, { start, end }: KeyRange): unknown {
  if (!(error instanceof SourceError) || error.code !== 'UNAUTHORIZED') return error
  const message = `a watch of all collections reads the keys from ${printable(start)} to ${printable(end)}: ${messageOf(error)}`
  return new SourceError(message, { code: 'UNAUTHORIZED', cause: error })
}

/** Waits until the server has created the watch. A watch from a compacted revision is canceled afterwards. */
async function created(inbox: WatchInbox, timeoutMs: number): Promise<void> {
  const event = await inbox.next(timeoutMs)
  if (event === 'silence' || event === 'progress-request') {
    throw unavailable(`no watch was opened within ${Math.round(timeoutMs)} ms`)
  }
  if (event.isCanceled) throw canceled(event)
}

interface FollowedRange {
  readonly collection: string
  readonly range: KeyRange
  readonly position: WatchPosition
}

function watchLoop(
  inbox: WatchInbox,
  ranges: readonly FollowedRange[],
  isTrusted: boolean,
  { session, head, cover, progressMs, timeoutMs, clock }: WatchOptions,
): { readonly isBehind: boolean; run(): AsyncGenerator<RevisionBatch> } {
  const fragments = new Fragments()
  const pace = new ReadPace(clock)
  const hasArrived = session.progressMeter()
  let parts = new Map<string, EtcdEvent[]>()
  let activeAt = clock.now()
  let comparedAt = activeAt
  /** Progress requests while the ranges had different revisions. */
  let requests = 0
  /** Whether the server supports progress requests. A proxy may not forward them. */
  let progress: 'not requested' | 'requested' | 'supported' | 'unsupported' = 'not requested'
  let differsSince: number | undefined

  const latestRevision = (): number => Math.max(...ranges.map(({ position }) => position.revision))
  /** Whether the watch has not reached the version of a range yet, which was listed after another one. */
  const isBehind = (): boolean => {
    const latest = latestRevision()
    return ranges.some(({ position }) => position.revision < latest)
  }
  let yieldedAt = isBehind() ? -Infinity : clock.now()

  async function* run(): AsyncGenerator<RevisionBatch> {
    for (;;) {
      const isCatchingUp = isBehind()
      // If a comparison has found a difference, the watch delivers it.
      const isSoon = isCatchingUp && differsSince === undefined
      const event: InboxEvent = await inbox.next(isSoon ? Math.min(QUIET_MS, progressMs) : progressMs)
      if (event === 'progress-request') {
        if (await answersProgressRequest()) yield* batch()
      } else if (event === 'silence') {
        if (await (isCatchingUp ? catchesUp() : isAlive())) yield* batch()
      } else {
        received(event)
        if (event.events.length === 0 && !event.isFragment && !fragments.isWaiting) {
          if (!event.isCreated) yield* progressed(event)
        } else {
          const { length } = event.events
          yield* applied(event)
          const restMs = pace.restMs(length)
          if (restMs > 0) await clock.sleep(restMs)
        }
      }
    }
  }

  const received = (message: WatchResponse): void => {
    activeAt = clock.now()
    differsSince = undefined
    if (message.isCanceled) throw canceled(message)
    if (message.header.clusterId !== head.clusterId) throw forked('the cluster is another')
  }

  async function* applied(message: WatchResponse): AsyncGenerator<RevisionBatch> {
    let isQuiet = true
    for (const part of wholeRevisions(fragments.complete(message))) {
      apply(part)
      if (parts.size === 0) continue
      isQuiet = false
      yield* batch()
    }
    for (const { position } of ranges) position.settle()
    // A fragment in the middle of a revision shows that the watch is alive. So do changes of other keys.
    const isActive = message.isFragment || clock.now() - yieldedAt >= progressMs
    if (isQuiet && isActive) yield* batch()
  }

  const apply = (events: readonly EtcdEvent[]): void => {
    const last = events.at(-1)?.kv.modRevision ?? 0
    for (const { collection, range, position } of ranges) {
      const { revision } = position
      // Old servers send some events twice. Some sent events outside of the range, which the user may not read.
      const own = events.filter(({ kv }) => kv.modRevision > revision && isEntryInRange(kv, range))
      position.apply(own)
      position.advanceTo(last)
      if (own.length === 0) continue
      const part = parts.get(collection)
      if (part === undefined) parts.set(collection, own)
      else for (const event of own) part.push(event)
    }
  }

  async function* progressed({ header }: WatchResponse): AsyncGenerator<RevisionBatch> {
    progress = 'supported'
    if (isTrusted) advanceTo(header.revision)
    yield* batch()
  }

  const advanceTo = (revision: number): void => {
    for (const { position } of ranges) position.advanceTo(revision)
  }

  /**
   * After a short silence while the ranges have different revisions: whether they are known to be current. A watch that
   * is not synced yet does not respond to a progress request, and a proxy does not forward it.
   */
  const catchesUp = async (): Promise<boolean> => {
    if (!isTrusted || ++requests > MOST_REQUESTS) return await compare()
    inbox.requestProgress()
    return false
  }

  /** Whether the position is known to be current. If not, the response comes as a message. */
  const answersProgressRequest = async (): Promise<boolean> => {
    if (isTrusted && progress !== 'unsupported') {
      requestProgress()
      return false
    }
    return await compare()
  }

  /** After silence: whether the server has proved otherwise that it is alive. Throws if it seems to be gone. */
  const isAlive = async (): Promise<boolean> => {
    const now = clock.now()
    if (hasArrived()) {
      // A message is arriving: a large one over a slow connection, or the response to a read of this loop.
      activeAt = now
      return true
    }
    switch (progress) {
      case 'supported':
        if (now - activeAt >= timeoutMs) throw stalled(now - activeAt)
        requestProgress()
        return false
      case 'not requested':
        requestProgress()
        return false
      case 'requested':
        progress = 'unsupported'
        return await compare()
      case 'unsupported':
        if (now - comparedAt >= timeoutMs) await compare()
        else assertSame(await session.head(cover, readTimeoutMs()))
        activeAt = clock.now()
        return true
    }
  }

  const requestProgress = (): void => {
    if (progress === 'not requested') progress = 'requested'
    inbox.requestProgress()
  }

  /**
   * Compares the delivered state with the server's. If the number of keys and the newest entry are equal, no change is
   * missing. This proves a position without a progress notification, but the server reads all keys. A proxy keeps a
   * watch open while the server behind it is replaced: only this comparison notices it.
   */
  const compare = async (): Promise<boolean> => {
    comparedAt = clock.now()
    let revision = Infinity
    for (const each of ranges) revision = Math.min(revision, await unchangedUntil(each))
    if (revision > 0) {
      advanceTo(revision)
      return true
    }
    // The watch must deliver the difference soon. If it does not, it is dead.
    differsSince ??= comparedAt
    const silentMs = clock.now() - differsSince
    if (silentMs >= timeoutMs) throw stalled(silentMs)
    return false
  }

  /** The server's revision if the range has no change after its position, else 0. */
  const unchangedUntil = async ({ range, position }: FollowedRange): Promise<number> => {
    const { revision } = position
    const fingerprint = await position.fingerprint(session, range)
    const isEqual = ({ count, kvs }: NewestEntries): boolean =>
      count === fingerprint.count && kvs.every(({ modRevision }) => modRevision <= revision)
    const read = async (hasValues: boolean): Promise<NewestEntries> => {
      const reading = { timeoutMs: readTimeoutMs(), hasValues }
      const seen = await readNewest(session, range, fingerprint, 0, reading)
      assertSame(seen.header)
      activeAt = clock.now()
      return seen
    }
    // While the watch is catching up, the values of newer entries would delay its messages.
    const isCatchingUp = differsSince !== undefined || fragments.isWaiting
    let seen = await read(!isCatchingUp)
    if (isCatchingUp && isEqual(seen)) seen = await read(true)
    if (!isEqual(seen)) return 0
    assertNewest(seen, fingerprint)
    return seen.header.revision
  }

  /** The deadline of a read. It includes the silence before the read, so that a dead connection costs one timeout. */
  const readTimeoutMs = (): number => Math.max(progressMs, timeoutMs - (clock.now() - activeAt))
  /** Another term may belong to a restored backup. A new watch then runs the history check. */
  const assertSame = ({ clusterId, revision, term }: Header): void => {
    const latest = latestRevision()
    if (clusterId !== head.clusterId) throw forked('the cluster is another')
    if (revision < latest) throw forked(`the revision went back from ${latest} to ${revision}`)
    if (term === head.term) return
    throw unavailable(`the term was ${head.term}, and is ${term}`)
  }

  /** The events since the last batch, if all ranges have one revision. */
  async function* batch(): AsyncGenerator<RevisionBatch> {
    if (isBehind()) return
    const delivered = parts
    parts = new Map()
    const versions = new Map<string, string>()
    for (const { collection, range, position } of ranges)
      versions.set(collection, await position.version(session, range))
    yieldedAt = clock.now()
    yield { parts: delivered, versions }
  }

  return { isBehind: isBehind(), run }
}

function stalled(ms: number): SourceError {
  return unavailable(`no data for ${Math.round(ms)} ms`)
}

/** The reason for which the server canceled a watch. For a compaction the server sends only the revision. */
function canceled({ compactRevision, cancelReason }: WatchResponse): Error {
  if (compactRevision > 0) return expired(`everything before revision ${compactRevision} has been compacted`)
  if (isCompacted(cancelReason)) return expired('it has been compacted')
  return etcdError(new Error(cancelReason === '' ? 'the server canceled the watch' : cancelReason))
}
