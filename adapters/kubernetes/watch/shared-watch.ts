import type { Clock } from '../../../src/contract/clock.js'
import { isEpochChange, SourceError } from '../../../src/contract/errors.js'
import type { WatchBatch, WatchContext, WatchEvent } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { unlessAborted } from '../../../src/util/abort-listeners.js'
import type { Decoder } from '../decode/decoder.js'
import { type LineBlock, linesOf } from '../decode/line-splitter.js'
import { compareVersions } from '../history/resource-version.js'
import type { ApiStatus } from '../http/api-error.js'
import type { ApiSession } from '../http/api-session.js'
import { IDLE } from '../http/response-body.js'
import { RetryAfterGate } from '../http/retry-after-gate.js'
import { BookmarkProbe, isExpiry, PROBE_SECONDS } from './bookmark-probe.js'
import { BUSY_MS, ProbeSchedule } from './probe-schedule.js'
import type { ResumeVersions, WatchConnector } from './watch-connector.js'
import { type LogSegment, WatchLog } from './watch-log.js'
import { WatchStream } from './watch-stream.js'

export interface SharedWatchOptions {
  readonly clock: Clock
  readonly connector: WatchConnector
  readonly maxObjectBytes: number
  /** After this number of milliseconds without data another connection replaces the stream. */
  readonly heartbeatMs: number
  /** After this number of milliseconds without data a probe reads what the watch has missed; false: never. */
  readonly probeMs: number | false
  /** The longest life of the watch, in seconds. */
  readonly timeoutSeconds: number
}

/** `in time`: the server was reachable to the end of the watch. `early`: it ended before, or its end is unknown. */
export type WatchEnd = 'in time' | 'early'

export interface FollowContext
  extends Pick<WatchContext, 'signal' | 'isUnconfirmed' | 'onProgressRequest' | 'hasWaiters' | 'requestProof'> {
  /** These events are yielded next, unless it throws. */
  onBatch(batch: WatchBatch<unknown>): void
  /** Everything up to this version is part of the next batch, or of earlier ones. */
  onAdvance(version: Version): void
  /** The watch fails, and has received no data since then, for longer than `heartbeatMs`. */
  onSilence(since: number): void
}

interface Follower {
  /** The last segment that it has read; undefined once it has fallen too far behind. */
  position: LogSegment | undefined
  readonly context: FollowContext
}

const BATCH_EVENTS = 256
/** A server may end a stream this number of milliseconds before its timeout. */
const EARLY_MS = 2_000
/** A follower that is this number of bytes behind the others leaves the shared watch. */
const MAX_BEHIND_BYTES = 16 * 1024 * 1024
/** A stream without data for longer, in milliseconds, may be half open: it is replaced before a follower joins it. */
const MAX_SILENCE_TO_JOIN_MS = 15_000

/** One open watch for all its followers. Each follower has its own position in it, and its own objects. */
export class SharedWatch {
  readonly #options: SharedWatchOptions
  readonly #log: WatchLog
  readonly #followers = new Set<Follower>()
  readonly #closing = new AbortController()
  readonly #session: ApiSession
  readonly #endsAt: number
  readonly #opening: Promise<void>
  readonly #schedule = new ProbeSchedule()
  #main: WatchStream | undefined
  #probe: BookmarkProbe | 'opening' | undefined
  #probedAt = -Infinity
  /** Whether a reader began to wait during the current probe. */
  #isProgressRequested = false
  /** Pending while another stream is opened to replace the main one. */
  #replacing: Promise<void> | undefined
  /** No other stream can resume from the current version: followers stay, and none joins. */
  #isExpired = false
  /** No additional stream is opened until the server's Retry-After has passed. */
  readonly #retryAfter = new RetryAfterGate(BUSY_MS)
  #reading: Promise<void> | undefined
  #end: WatchEnd | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(versions: ResumeVersions, options: SharedWatchOptions) {
    this.#options = options
    this.#log = new WatchLog(versions.from)
    this.#session = options.connector.session(this.#closing.signal)
    this.#endsAt = options.clock.now() + options.timeoutSeconds * 1_000
    this.#opening = this.#open(versions, options.timeoutSeconds, false).then((stream) => {
      this.#main = stream
    })
    this.#opening.catch(() => this.#finish('early')) // Each follower receives the error.
  }

  /** Whether no follower can join it any more. */
  get isOver(): boolean {
    return this.#end !== undefined || this.#closing.signal.aborted
  }

  /** Whether every event after `from` is in the log or will arrive, and none of them arrived before `since`. */
  canServe(from: Version, since: number): boolean {
    const isOlder = [this.#main, this.#openProbe?.stream].some((stream) => (stream?.pendingArrival ?? since) < since)
    return !this.isOver && !this.#isExpired && !isOlder && this.#log.segmentBefore(from, since) !== undefined
  }

  /** The newest version that the followers have read from the log. */
  get lastVersion(): Version | undefined {
    return this.#log.lastVersion
  }

  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#finish('early')
    this.#main?.body.interrupt()
  }

  /** Yields everything after `after`. The watch closes when its last follower leaves. */
  async *follow<T>(
    { after, from }: ResumeVersions,
    decoder: Decoder<T>,
    context: FollowContext,
  ): AsyncGenerator<WatchBatch<T>, WatchEnd> {
    const { signal } = context
    const follower: Follower = { position: this.#log.segmentBefore(from), context }
    const reader = new BatchReader(decoder, context, after, follower.position?.end ?? from)
    this.#followers.add(follower)
    try {
      await unlessAborted(signal, () => this.#opening)
      if (this.#silentMs > MAX_SILENCE_TO_JOIN_MS) await unlessAborted(signal, () => this.#replace())
      context.onProgressRequest(() => this.#requestProgress())
      // The watch is open. That confirms no saved content: an expiry may be the first event.
      if (context.isUnconfirmed !== true) yield { events: [], version: after }
      for (;;) {
        if (signal.aborted) throw signal.reason
        if (this.#failure !== undefined) throw this.#failure.error
        const segment = follower.position?.next
        if (segment === undefined) {
          if (follower.position === undefined) return 'early'
          if (this.#end !== undefined) return this.#end
          await unlessAborted(signal, () => this.#readMore())
          continue
        }
        for (const block of segment.blocks)
          for (const line of linesOf(block)) {
            reader.read(line, block.isWhole)
            const batch = reader.size < BATCH_EVENTS ? undefined : reader.take()
            if (batch !== undefined) yield batch
          }
        if (segment.end === undefined) this.#log.recordDelete(reader.deletedAt)
        segment.end ??= reader.streamVersion
        if (follower.position !== undefined) follower.position = segment
        const batch = reader.take()
        context.onAdvance(reader.version)
        if (batch !== undefined) {
          if (batch.events.length > 0) this.#schedule.postpone()
          yield batch
        } else if (segment.blocks.length === 0) yield { events: [], version: reader.version }
        if (reader.failure === undefined) continue
        this.#finish('early')
        throw this.#options.connector.error(reader.failure)
      }
    } catch (error) {
      const { clock, heartbeatMs } = this.#options
      if (this.#silentMs >= heartbeatMs) context.onSilence(clock.now() - this.#silentMs)
      throw error
    } finally {
      this.#followers.delete(follower)
      if (this.#followers.size === 0) this.#close()
    }
  }

  #close(): void {
    this.#closing.abort()
    this.#main?.destroy('the watch is over')
    this.#session.close()
  }

  /** Reads until the log has another segment, or the watch ends. All followers that wait for it share one read. */
  #readMore(): Promise<void> {
    this.#reading ??= this.#read()
      .catch((error: unknown) => {
        // No follower may join: the server may have another history after the failure.
        this.#finish('early')
        throw error
      })
      .finally(() => {
        this.#reading = undefined
      })
    return this.#reading
  }

  async #read(): Promise<void> {
    const { clock } = this.#options
    const { last } = this.#log
    for (;;) {
      if (this.#failure !== undefined) throw this.#failure.error
      const [main, probe, now] = [this.#main, this.#openProbe, clock.now()]
      if (main === undefined || this.#log.last !== last) return
      if (now >= this.#endsAt) return this.#finish(this.#silentMs > MAX_SILENCE_TO_JOIN_MS ? 'early' : 'in time')
      if (probe !== undefined && (probe.stream.body.isReady || now >= probe.deadline)) {
        await this.#readProbe(probe)
        continue
      }
      const due = this.#startDue(main, now)
      const taken = await this.#takeLines(main, due - now)
      if (main !== this.#main || taken === IDLE) continue
      if (taken === undefined) return this.#finish(clock.now() < this.#endsAt - EARLY_MS ? 'early' : 'in time')
      if (taken.length > 0) return this.#append(taken, main.takenArrival)
    }
  }

  /** Takes the lines of the main stream. If it ends while another one is opened, waits for that one. */
  async #takeLines(main: WatchStream, ms: number): Promise<readonly LineBlock[] | undefined | typeof IDLE> {
    try {
      const taken = await main.take(ms)
      if (taken === undefined) await this.#replacing?.catch(() => {})
      return taken
    } catch (error) {
      await this.#replacing?.catch(() => {})
      if (main === this.#main) throw error
      return IDLE
    }
  }

  /** Starts a replacement or a probe if it is due. Returns when to check again. */
  #startDue(main: WatchStream, now: number): number {
    const { heartbeatMs, probeMs } = this.#options
    const silentAt = Math.max(
      main.lastDataAt + heartbeatMs,
      Math.min(this.#busyUntil, main.lastDataAt + 2 * heartbeatMs),
    )
    if (now >= silentAt) this.#replace().catch(() => {}) // If that ends the watch, its readers receive the error.
    const wantedAt = this.#schedule.at === undefined ? undefined : Math.max(this.#schedule.at, this.#retryAfter.until)
    // A stream without data may be half open.
    const silenceProbeAt = probeMs === false ? Infinity : Math.max(main.lastDataAt, this.#probedAt) + probeMs
    const dueAt = Math.min(wantedAt ?? Infinity, Math.max(silenceProbeAt, this.#retryAfter.until))
    const probeAt = this.#probe === undefined ? dueAt : this.#openProbe?.deadline
    if (this.#probe === undefined && now >= dueAt) void this.#startProbe(now >= silenceProbeAt)
    return Math.min(
      this.#endsAt,
      now >= silentAt ? Infinity : silentAt,
      probeAt === undefined || now >= probeAt ? Infinity : probeAt,
    )
  }

  #append(blocks: readonly LineBlock[], arrival: number): void {
    this.#log.append(blocks, undefined, arrival)
    const { at } = this.#log.last
    for (const follower of this.#followers)
      if (follower.position !== undefined && at - follower.position.at > MAX_BEHIND_BYTES && this.#followers.size > 1)
        follower.position = undefined
    this.#log.release(Math.min(...Array.from(this.#followers, ({ position }) => position?.at ?? at)))
  }

  /**
   * Opens another stream from the current version; no event is lost. The old stream is read until then. It stays if
   * that fails, unless it has been without data for too long. Only one replacement is opened at a time.
   */
  #replace(): Promise<void> {
    const { end } = this.#log.last
    if (end === undefined) return Promise.resolve() // A follower is reading the data that has just arrived.
    this.#replacing ??= this.#replaceStream(end).finally(() => {
      this.#replacing = undefined
      this.#main?.body.interrupt()
    })
    return this.#replacing
  }

  async #replaceStream(end: Version): Promise<void> {
    const { clock, heartbeatMs } = this.#options
    const before = this.#main
    try {
      this.#retryAfter.assertOpen(clock.now())
      const seconds = Math.max(1, Math.ceil((this.#endsAt - clock.now()) / 1_000))
      this.#main = await this.#open(this.#log.resumeAfter(end), seconds, true)
    } catch (error) {
      this.#retryAfter.observe(error, clock.now())
      this.#isExpired ||= error instanceof SourceError && error.code === 'VERSION_EXPIRED'
      // If the server is only too busy for another stream, the open one stays, but a silent one not indefinitely.
      const isBusy = this.#busyUntil > clock.now() && this.#busyUntil <= (before?.lastDataAt ?? 0) + 2 * heartbeatMs
      if (isEpochChange(error) || (this.#silentMs >= heartbeatMs && !isBusy)) this.fail(error)
      throw error
    }
    this.#log.append([], this.#log.last.end)
    before?.body.interrupt()
    before?.destroy('another connection has replaced it')
  }

  /** Until when the server is known to be reachable, and too busy. */
  get #busyUntil(): number {
    return this.#retryAfter.isBusy ? this.#retryAfter.until : -Infinity
  }

  /** Opens a probe. One that only serves waiting readers is skipped if none waits, or if the main stream ends soon. */
  async #startProbe(isForSilence: boolean): Promise<void> {
    const { clock } = this.#options
    const startedAt = clock.now()
    this.#probedAt = startedAt
    const { end } = this.#log.last
    // A stream that ends soon sends a bookmark itself.
    const endsSoon = this.#endsAt - startedAt <= PROBE_SECONDS * 1_000
    if (!(isForSilence || this.#hasWaiters) || end === undefined || endsSoon) {
      this.#schedule.cancel()
      return
    }
    this.#schedule.start(startedAt)
    this.#probe = 'opening'
    this.#isProgressRequested = false
    try {
      const stream = await this.#open(this.#log.resumeAfter(end), PROBE_SECONDS, true)
      this.#probe = new BookmarkProbe(stream, { startedAt, openedAt: clock.now(), after: end })
      stream.body.whenReady(() => this.#main?.body.interrupt())
    } catch (error) {
      if (isEpochChange(error)) this.fail(error)
      if (error instanceof SourceError && error.code === 'VERSION_EXPIRED') this.#failIfSilent()
      this.#retryAfter.observe(error, clock.now())
      this.#probe = undefined
      const retryAfterMs = error instanceof SourceError ? error.retryAfterMs : undefined
      this.#schedule.recordFailure(clock.now(), retryAfterMs)
    }
    this.#main?.body.interrupt()
  }

  /** Events delivered by both streams appear twice in the log. BatchReader drops the second copy by version. */
  async #readProbe(probe: BookmarkProbe): Promise<void> {
    const taken = await probe.take()
    if (taken === IDLE) return
    const { lines, failed } = probe.accept(taken ?? [])
    if (lines.length > 0) this.#append(lines, probe.stream.takenArrival)
    if (taken === undefined || failed !== undefined) this.#endProbe(probe)
    if (failed !== undefined && isExpiry(failed)) this.#failIfSilent()
  }

  /** No stream can resume at the current version any more, and the open one may be half open. */
  #failIfSilent(): void {
    const message = 'the server sent nothing, and cannot resume the watch: its version has expired'
    if (this.#silentMs >= (this.#options.probeMs || Infinity))
      this.fail(new SourceError(message, { code: 'VERSION_EXPIRED' }))
  }

  #endProbe(probe: BookmarkProbe): void {
    probe.stream.destroy('the probe is complete')
    this.#probe = undefined
    const { end } = this.#log.last
    if (end === probe.after) this.#log.append([], end) // The followers yield the version, even if it is not new.
    const now = this.#options.clock.now()
    if (probe.isInconclusive(end) && this.#hasWaiters) {
      this.#schedule.recordInconclusive(now)
      for (const { context } of this.#followers) if (isAwaited(context)) context.requestProof?.()
    } else if (this.#isProgressRequested) this.#schedule.request(now)
    if (this.#main !== undefined && probe.provesHalfOpen(this.#main.lastDataAt)) this.#replace().catch(() => {})
  }

  async #open(versions: ResumeVersions, timeoutSeconds: number, isResumed: boolean): Promise<WatchStream> {
    const { connector, maxObjectBytes } = this.#options
    const opened = await connector.open(this.#session, versions, timeoutSeconds, isResumed)
    return new WatchStream(this.#session, opened, maxObjectBytes)
  }

  #finish(end: WatchEnd): void {
    this.#end ??= end
  }

  get #openProbe(): BookmarkProbe | undefined {
    return this.#probe === 'opening' ? undefined : this.#probe
  }

  get #silentMs(): number {
    const now = this.#options.clock.now()
    return now - (this.#main?.lastDataAt ?? now)
  }

  get #hasWaiters(): boolean {
    return [...this.#followers].some(({ context }) => isAwaited(context))
  }

  /** A reader that begins to wait during a probe uses its result; if that is too old, another probe follows. */
  #requestProgress(): void {
    if (this.#probe !== undefined) {
      this.#isProgressRequested = true
      return
    }
    this.#schedule.request(this.#options.clock.now())
    this.#main?.body.interrupt()
  }
}

function isAwaited(context: FollowContext): boolean {
  return context.hasWaiters?.() ?? true
}

class BatchReader<T> {
  readonly #decoder: Decoder<T>
  readonly #context: FollowContext
  #events: WatchEvent<T>[] = []
  #hasMoved = false
  version: Version
  /** The version of the lines that were read. The follower itself may be ahead of it. */
  streamVersion: Version
  /** The version of the last line that deletes an object. */
  deletedAt: Version | undefined
  /** The status with which the server ended the watch. Later lines are ignored. */
  failure: ApiStatus | undefined

  /** Skips everything up to `after`. The lines begin at `from`, which may be before it. */
  constructor(decoder: Decoder<T>, context: FollowContext, after: Version, from: Version) {
    this.#decoder = decoder
    this.#context = context
    this.version = after
    this.streamVersion = from
  }

  get size(): number {
    return this.#events.length
  }

  /** Reads the bytes of a line, or its text if that is ASCII. An empty line is skipped. */
  read(bytes: Buffer | string, isWhole: boolean): void {
    if (this.failure !== undefined || bytes.length === 0) return
    const line = this.#decoder.line(bytes, isWhole)
    if (line.type === 'error') {
      this.failure = line.status
      return
    }
    const { version } = line
    if (version !== undefined && compareVersions(version, this.streamVersion) > 0) this.streamVersion = version
    const order = version === undefined ? 1 : compareVersions(version, this.version)
    // Objects that expire together, such as Events, are deleted in one revision. A repeated delete has no effect.
    const isNew = order > 0 || (order === 0 && line.type === 'delete')
    if (line.type === 'delete') this.deletedAt = version
    // A bookmark is delivered even if its version is not new.
    if (!isNew && line.type !== 'bookmark') return
    this.#hasMoved = true
    if (line.type !== 'bookmark') this.#events.push(line.event)
    if (isNew && version !== undefined) this.version = version
  }

  /** Returns the events since the last call; undefined if nothing was read. */
  take(): WatchBatch<T> | undefined {
    if (!this.#hasMoved) return undefined
    const batch = { events: this.#events, version: this.version }
    this.#events = []
    this.#hasMoved = false
    this.#context.onBatch(batch)
    return batch
  }
}
