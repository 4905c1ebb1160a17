import type { Clock } from '../../../src/contract/clock.js'
import { messageOf, type SourceError } from '../../../src/contract/errors.js'
import { expired, forked, isUnavailable, unavailable } from '../../common/source-errors.js'
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
import type { KeyRange } from '../transport/key-range.js'
import { isEntryInRange } from '../transport/received-entry.js'
import { hasReliableProgress } from '../transport/server-version.js'
import type { Session } from '../transport/session.js'
import { Fragments, wholeRevisions } from './fragments.js'
import { type InboxEvent, WatchInbox } from './watch-inbox.js'
import { WatchPosition } from './watch-position.js'

export interface WatchSettings {
  readonly range: KeyRange
  readonly maxCatchup: number
  readonly requireLeader: boolean
  readonly hasFragments: boolean
  readonly progressMs: number
  readonly timeoutMs: number
}

export interface WatchCallbacks {
  readonly clock: Clock
  readonly signal: AbortSignal
  onProgressRequest(listener: () => void): void
  /** The history check passed, but something is suspicious. */
  requestAudit(reason: string): void
  /** Called with the version of the member that serves the watch. */
  onServerVersion(version: string): void
}

/** Whole revisions, and the version after them. Without events it is a bookmark. */
export interface RevisionBatch {
  readonly events: readonly EtcdEvent[]
  readonly version: string
}

/**
 * Yields all changes after `from`, from one stream. The position follows the events: the header of a message has the
 * server's current revision, which may be far ahead of the delivered events.
 */
export async function* watchRange(
  session: Session,
  head: Header,
  from: EtcdVersion,
  settings: WatchSettings,
  callbacks: WatchCallbacks,
): AsyncGenerator<RevisionBatch> {
  const { range, maxCatchup, requireLeader, hasFragments } = settings
  assertReachable(head, from)
  const behind = head.revision - from.revision
  if (behind > maxCatchup)
    throw expired(`${behind} revisions behind, more than maxCatchup (${maxCatchup}): a list costs less`)
  const request = { key: range.start, end: range.end, startRevision: from.revision + 1, hasFragments }
  const inbox = new WatchInbox(await session.watch(request, requireLeader), callbacks.clock, callbacks.signal)
  try {
    await created(inbox, settings.timeoutMs)
    // After the watch was created: if the server had been replaced since, the stream would have ended.
    const status = await session.status()
    if (status !== undefined) callbacks.onServerVersion(status.version)
    const newest = await verifyHistory(session, range, from)
    const reason = suspicion(from, head, status)
    if (reason !== undefined) callbacks.requestAudit(reason)
    const position = new WatchPosition(
      { ...from, term: head.term, raftIndex: status?.raftIndex ?? from.raftIndex },
      newest,
    )
    const isTrusted = status !== undefined && hasReliableProgress(status.version)
    callbacks.onProgressRequest(() => inbox.addProgressRequest())
    // The history check passed: an idle range is live at once.
    yield { events: [], version: formatVersion(from) }
    yield* new WatchLoop(session, inbox, position, settings, callbacks.clock, isTrusted).run()
  } catch (error) {
    if (isTooLarge(error)) throw expired(`the changes since then are one message, ${messageOf(error)}`)
    if (isUnavailable(error)) session.markLost()
    throw error
  } finally {
    inbox.close(session.isLost)
  }
}

/** Waits until the server has created the watch. A watch from a compacted revision is canceled afterwards. */
async function created(inbox: WatchInbox, timeoutMs: number): Promise<void> {
  const event = await inbox.next(timeoutMs)
  if (event === 'silence' || event === 'progress-request') {
    throw unavailable(`no watch was opened within ${Math.round(timeoutMs)} ms`)
  }
  if (event.isCanceled) throw canceled(event)
}

class WatchLoop {
  readonly #session: Session
  readonly #inbox: WatchInbox
  readonly #position: WatchPosition
  readonly #settings: WatchSettings
  readonly #clock: Clock
  /** Whether progress notifications of the server are reliable. */
  readonly #isTrusted: boolean
  readonly #fragments = new Fragments()
  readonly #hasArrived: () => boolean
  #activeAt: number
  /** Whether the server supports progress requests. A proxy may not forward them. */
  #progress: 'not requested' | 'requested' | 'supported' | 'unsupported' = 'not requested'
  #comparedAt: number
  #differsSince: number | undefined

  constructor(
    session: Session,
    inbox: WatchInbox,
    position: WatchPosition,
    settings: WatchSettings,
    clock: Clock,
    isTrusted: boolean,
  ) {
    this.#session = session
    this.#inbox = inbox
    this.#position = position
    this.#settings = settings
    this.#clock = clock
    this.#isTrusted = isTrusted
    this.#hasArrived = session.progressMeter()
    this.#activeAt = this.#comparedAt = clock.now()
  }

  async *run(): AsyncGenerator<RevisionBatch> {
    for (;;) {
      const event: InboxEvent = await this.#inbox.next(this.#settings.progressMs)
      if (event === 'progress-request') {
        if (await this.#answersProgressRequest()) yield await this.#bookmark()
      } else if (event === 'silence') {
        if (await this.#isAlive()) yield await this.#bookmark()
      } else {
        this.#received(event)
        if (event.events.length === 0 && !event.isFragment && !this.#fragments.isWaiting) {
          if (!event.isCreated) yield await this.#progressed(event)
        } else yield* this.#delivered(event)
      }
    }
  }

  #received(message: WatchResponse): void {
    this.#activeAt = this.#clock.now()
    this.#differsSince = undefined
    if (message.isCanceled) throw canceled(message)
    if (message.header.clusterId !== this.#position.clusterId) throw forked('the cluster is another')
  }

  async *#delivered(message: WatchResponse): AsyncGenerator<RevisionBatch> {
    const complete = this.#fragments.complete(message)
    const { range } = this.#settings
    const { revision } = this.#position
    // Old servers send some events twice. Some sent events outside of the range, which the user may not read.
    const isNew = ({ kv }: EtcdEvent): boolean => kv.modRevision > revision && isEntryInRange(kv, range)
    const events = complete.every(isNew) ? complete : complete.filter(isNew)
    for (const part of wholeRevisions(events)) {
      this.#position.apply(part)
      yield { events: part, version: await this.#version() }
    }
    this.#position.settle()
    // A fragment in the middle of a revision shows that the watch is alive.
    if (events.length === 0 && message.isFragment) yield await this.#bookmark()
  }

  async #progressed({ header }: WatchResponse): Promise<RevisionBatch> {
    this.#progress = 'supported'
    if (this.#isTrusted) this.#position.advanceTo(header.revision)
    return await this.#bookmark()
  }

  /** Whether the position is known to be current. If not, the response comes as a message. */
  async #answersProgressRequest(): Promise<boolean> {
    if (this.#isTrusted && this.#progress !== 'unsupported') {
      this.#requestProgress()
      return false
    }
    return await this.#compare()
  }

  /** After silence: whether the server has proved otherwise that it is alive. Throws if it seems to be gone. */
  async #isAlive(): Promise<boolean> {
    const { timeoutMs } = this.#settings
    const now = this.#clock.now()
    if (this.#hasArrived()) {
      // A message is arriving: a large one over a slow connection, or the response to a read of this loop.
      this.#activeAt = now
      return true
    }
    switch (this.#progress) {
      case 'supported':
        if (now - this.#activeAt >= timeoutMs) throw stalled(now - this.#activeAt)
        this.#requestProgress()
        return false
      case 'not requested':
        this.#requestProgress()
        return false
      case 'requested':
        this.#progress = 'unsupported'
        return await this.#compare()
      case 'unsupported':
        if (now - this.#comparedAt >= timeoutMs) await this.#compare()
        else this.#assertSame(await this.#session.head(this.#settings.range, this.#readTimeoutMs()))
        this.#activeAt = this.#clock.now()
        return true
    }
  }

  #requestProgress(): void {
    if (this.#progress === 'not requested') this.#progress = 'requested'
    this.#inbox.requestProgress()
  }

  /**
   * Compares the delivered state with the server's. If the number of keys and the newest entry are equal, no change is
   * missing. This proves a position without a progress notification, but the server reads all keys. A proxy keeps a
   * watch open while the server behind it is replaced: only this comparison notices it.
   */
  async #compare(): Promise<boolean> {
    const { range, timeoutMs } = this.#settings
    this.#comparedAt = this.#clock.now()
    const { revision } = this.#position
    const fingerprint = await this.#position.fingerprint(this.#session, range)
    const isEqual = ({ count, kvs }: NewestEntries): boolean =>
      count === fingerprint.count && kvs.every(({ modRevision }) => modRevision <= revision)
    const read = async (hasValues: boolean): Promise<NewestEntries> => {
      const seen = await readNewest(this.#session, range, fingerprint, 0, {
        timeoutMs: this.#readTimeoutMs(),
        hasValues,
      })
      this.#assertSame(seen.header)
      this.#activeAt = this.#clock.now()
      return seen
    }
    // While the watch is catching up, the values of newer entries would delay its messages.
    const isBehind = this.#differsSince !== undefined || this.#fragments.isWaiting
    let seen = await read(!isBehind)
    if (isBehind && isEqual(seen)) seen = await read(true)
    if (isEqual(seen)) {
      assertNewest(seen, fingerprint)
      this.#position.advanceTo(seen.header.revision)
      return true
    }
    // The watch must deliver the difference soon. If it does not, it is dead.
    this.#differsSince ??= this.#comparedAt
    const silentMs = this.#clock.now() - this.#differsSince
    if (silentMs >= timeoutMs) throw stalled(silentMs)
    return false
  }

  /** The deadline of a read. It includes the silence before the read, so that a dead connection costs one timeout. */
  #readTimeoutMs(): number {
    const { timeoutMs, progressMs } = this.#settings
    return Math.max(progressMs, timeoutMs - (this.#clock.now() - this.#activeAt))
  }

  /** Another term may belong to a restored backup. A new watch then runs the history check. */
  #assertSame({ clusterId, revision, term }: Header): void {
    const position = this.#position
    if (clusterId !== position.clusterId) throw forked('the cluster is another')
    if (revision < position.revision) throw forked(`the revision went back from ${position.revision} to ${revision}`)
    if (term === position.term) return
    throw unavailable(`the term was ${position.term}, and is ${term}`)
  }

  async #bookmark(): Promise<RevisionBatch> {
    return { events: [], version: await this.#version() }
  }

  #version(): Promise<string> {
    return this.#position.version(this.#session, this.#settings.range)
  }
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
