import type { Clock } from '../../../src/contract/clock.js'
import { isEpochChange, SourceError } from '../../../src/contract/errors.js'
import type { WatchBatch } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import type { Decoder } from '../decode/decoder.js'
import { compareVersions } from '../history/resource-version.js'
import type { ApiStatus } from '../http/api-error.js'
import type { ApiSession } from '../http/api-session.js'
import { IDLE } from '../http/response-body.js'
import { RetryAfterGate } from '../http/retry-after-gate.js'
import { BatchReader } from './batch-reader.js'
import { BUSY_MS, ProbeSchedule } from './probe-schedule.js'
import { type Line, type LogSegment, WatchLog } from './watch-log.js'
import { type OpenedStream, WatchStream } from './watch-stream.js'

export interface SharedWatchOptions {
  readonly clock: Clock
  readonly maxObjectBytes: number
  /** After so many milliseconds of silence another connection takes over. */
  readonly heartbeatMs: number
  /** After this number of milliseconds without data a second request asks the server what the watch has missed; false: never. */
  readonly probeMs: number | false
  /** How long it may last, in seconds. */
  readonly timeoutSeconds: number
  session(signal: AbortSignal): ApiSession
  /** Opens a stream after a version; where one was open before it, says how far the server was, too. */
  open(session: ApiSession, after: Version, timeoutSeconds: number, isAgain: boolean): Promise<OpenedStream>
  /** What it means that the server ended it so. */
  refusal(status: ApiStatus): SourceError
}

/** How a watch ended: when its time was over and the server there to its end; or before, or nobody knows when. */
export type WatchEnd = 'in time' | 'early'

export interface FollowContext {
  readonly signal: AbortSignal
  onProgressRequest(listener: () => void): void
  /** Whether somebody waits for a version. */
  hasWaiters(): boolean
  /** The server reports no position, and a wait for a version is pending. */
  requestProof(): void
  /** Everything up to there is told with what comes next. */
  onAdvance(version: Version): void
  /** It fails, and has been silent since then, for longer than a watch that is well. */
  onSilence(since: number): void
}

interface Follower {
  /** What it has read; undefined once it has fallen too far behind. */
  position: LogSegment | undefined
  /** Whether anybody waits for more of it. */
  hasWaiters(): boolean
  /** The server did not report a version for which a wait is pending. */
  requestProof(): void
}

/** A short stream beside the other, of which the server says where it is. */
interface BookmarkProbe {
  readonly stream: WatchStream
  readonly begunAt: number
  /** Where we were then. */
  readonly after: Version
  /** When it is to be over, in the time of the clock. */
  readonly until: number
  /** Whether it told what happened. */
  hasEvents: boolean
}

/** Most events of one batch. */
const BATCH_EVENTS = 256
/** A server may end a stream so much before its time, in milliseconds. */
const EARLY_MS = 2_000
/** Who is so many bytes behind the others has to go on by itself. */
const MAX_BEHIND_BYTES = 16 * 1024 * 1024
/** A server says where it is two seconds before it ends a stream: this one is opened to hear that soon. */
const PROBE_SECONDS = 3
/** It may end so much later, in milliseconds. */
const PROBE_GRACE_MS = 2_000
/** What has been silent for longer, in milliseconds, may be half open: it is opened anew for who joins it. */
const MAX_SILENCE_TO_JOIN_MS = 15_000

/** One open watch, for all that follow the same at the same time: each has its own place in it, and its own objects. */
export class SharedWatch {
  readonly #options: SharedWatchOptions
  readonly #log: WatchLog
  readonly #followers = new Set<Follower>()
  readonly #closing = new AbortController()
  readonly #session: ApiSession
  readonly #endsAt: number
  readonly #opening: Promise<void>
  readonly #probes = new ProbeSchedule()
  #main: WatchStream | undefined
  #probe: BookmarkProbe | undefined
  /** From when a probe is asked for until it is over. */
  #isProbing = false
  /** When the server was asked last. */
  #probedAt = -Infinity
  /** Somebody began to wait meanwhile. */
  #isProgressRequested = false
  /** While another connection is opened. */
  #replacing: Promise<void> | undefined
  /** No other connection goes on from where it is: who stays needs none, and nobody joins it. */
  #isExpired = false
  /** Where it wishes that no other stream is opened, nobody asks for one. */
  readonly #retryAfter = new RetryAfterGate(BUSY_MS)
  #reading: Promise<void> | undefined
  #end: WatchEnd | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(after: Version, options: SharedWatchOptions) {
    this.#options = options
    this.#log = new WatchLog(after)
    this.#session = options.session(this.#closing.signal)
    this.#endsAt = options.clock.now() + options.timeoutSeconds * 1_000
    this.#opening = this.#stream(after, options.timeoutSeconds, false).then((stream) => {
      this.#main = stream
    })
    this.#opening.catch(() => this.#finish('early')) // Whoever follows is told why.
  }

  /** Whether nobody can follow it any more. */
  get isOver(): boolean {
    return this.#end !== undefined || this.#closing.signal.aborted
  }

  /** Whether what comes after this version is still here, or will come, and none of it came before that moment. */
  canServe(after: Version, since: number): boolean {
    const isHeld = [this.#main, this.#probe?.stream].some((stream) => (stream?.pendingArrival ?? since) < since)
    return !this.isOver && !this.#isExpired && !isHeld && this.#log.segmentBefore(after, since) !== undefined
  }

  /** How far the history was of which it tells. */
  get lastVersion(): Version | undefined {
    return this.#log.lastVersion
  }

  /** Ends it for all who follow. */
  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#finish('early')
    this.#main?.interrupt()
  }

  /** Everything after `after`. It is closed when the last that follows has left. */
  async *follow<T>(
    after: Version,
    decoder: Decoder<T>,
    { signal, onProgressRequest, hasWaiters, requestProof: prove, onAdvance: told, onSilence: silent }: FollowContext,
  ): AsyncGenerator<WatchBatch<T>, WatchEnd> {
    const follower: Follower = { position: this.#log.segmentBefore(after), hasWaiters, requestProof: prove }
    const reader = new BatchReader(decoder, after, follower.position?.end ?? after)
    this.#followers.add(follower)
    try {
      await unlessAborted(this.#opening, signal)
      if (this.#silentMs > MAX_SILENCE_TO_JOIN_MS) await unlessAborted(this.#replace(), signal)
      onProgressRequest(() => this.#requestProgress())
      yield { events: [], version: after } // It is open.
      for (;;) {
        if (signal.aborted) throw signal.reason
        if (this.#failure !== undefined) throw this.#failure.error
        const segment = follower.position?.next
        if (segment === undefined) {
          if (follower.position === undefined) return 'early'
          if (this.#end !== undefined) return this.#end
          await unlessAborted(this.#readMore(), signal)
          continue
        }
        for (const { bytes, isWhole } of segment.lines) {
          reader.read(bytes, isWhole)
          const batch = reader.size < BATCH_EVENTS ? undefined : reader.take()
          if (batch !== undefined) yield batch
        }
        segment.end ??= reader.streamVersion
        if (follower.position !== undefined) follower.position = segment
        const batch = reader.take()
        told(reader.version)
        if (batch !== undefined) {
          if (batch.events.length > 0) this.#probes.postpone()
          yield batch
        } else if (segment.lines.length === 0) yield { events: [], version: reader.version }
        if (reader.failure === undefined) continue
        this.#finish('early')
        throw this.#options.refusal(reader.failure)
      }
    } catch (error) {
      const { clock, heartbeatMs } = this.#options
      if (this.#silentMs >= heartbeatMs) silent(clock.now() - this.#silentMs)
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

  /** Reads until there is another segment, or the end; for all that wait for it. */
  #readMore(): Promise<void> {
    this.#reading ??= this.#read()
      .catch((error: unknown) => {
        // Nobody joins it any more: what broke it may have been another history.
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
      const [main, probe, now] = [this.#main, this.#probe, clock.now()]
      if (main === undefined || this.#log.last !== last) return
      if (now >= this.#endsAt) return this.#finish(this.#silentMs > MAX_SILENCE_TO_JOIN_MS ? 'early' : 'in time')
      if (probe !== undefined && (probe.stream.isReady || now >= probe.until)) {
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

  /** What it tells; where it ends while another is opened, that is waited for. */
  async #takeLines(main: WatchStream, ms: number): Promise<readonly Line[] | undefined | typeof IDLE> {
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

  /** Begins what is due, beside what is open; gives when to look again. */
  #startDue(main: WatchStream, now: number): number {
    const { heartbeatMs } = this.#options
    const silentAt = Math.max(
      main.lastDataAt + heartbeatMs,
      Math.min(this.#busyUntil, main.lastDataAt + 2 * heartbeatMs),
    )
    if (now >= silentAt) this.#replace().catch(() => {}) // Where that is the end, whoever reads is told.
    const wantedAt = this.#probes.at === undefined ? undefined : Math.max(this.#probes.at, this.#retryAfter.until)
    const { probeMs } = this.#options
    // The silence may be that of a half-open connection.
    const probeAt = probeMs === false ? Infinity : Math.max(main.lastDataAt, this.#probedAt) + probeMs
    const dueAt = Math.min(wantedAt ?? Infinity, Math.max(probeAt, this.#retryAfter.until))
    const proofAt = this.#isProbing ? this.#probe?.until : dueAt
    if (!this.#isProbing && now >= dueAt) void this.#startProbe(now >= probeAt)
    return Math.min(
      this.#endsAt,
      now >= silentAt ? Infinity : silentAt,
      proofAt === undefined || now >= proofAt ? Infinity : proofAt,
    )
  }

  #append(lines: readonly Line[], cameAt: number): void {
    this.#log.append(lines, undefined, cameAt)
    const { at } = this.#log.last
    for (const follower of this.#followers)
      if (follower.position !== undefined && at - follower.position.at > MAX_BEHIND_BYTES && this.#followers.size > 1)
        follower.position = undefined
    this.#log.release(Math.min(...Array.from(this.#followers, ({ position: place }) => place?.at ?? at)))
  }

  /**
   * Goes on over another connection, from where we are: nothing is lost. What was open is read until then, and stays where that fails
   * and it has not been silent for too long. One at a time.
   */
  #replace(): Promise<void> {
    const { end } = this.#log.last
    if (end === undefined) return Promise.resolve() // Somebody is reading what has just come.
    this.#replacing ??= this.#replaceStream(end).finally(() => {
      this.#replacing = undefined
      this.#main?.interrupt()
    })
    return this.#replacing
  }

  async #replaceStream(end: Version): Promise<void> {
    const { clock, heartbeatMs } = this.#options
    const before = this.#main
    try {
      this.#retryAfter.assertOpen(clock.now())
      const seconds = Math.max(1, Math.ceil((this.#endsAt - clock.now()) / 1_000))
      this.#main = await this.#stream(end, seconds, true)
    } catch (error) {
      this.#retryAfter.observe(error, clock.now())
      this.#isExpired ||= error instanceof SourceError && error.code === 'VERSION_EXPIRED'
      // Where the server is there, and only too busy for another stream, the one that is open stays; not for ever, if it is silent.
      const isBusy = this.#busyUntil > clock.now() && this.#busyUntil <= (before?.lastDataAt ?? 0) + 2 * heartbeatMs
      if (isEpochChange(error) || (this.#silentMs >= heartbeatMs && !isBusy)) this.fail(error)
      throw error
    }
    this.#log.append([], this.#log.last.end)
    before?.interrupt()
    before?.destroy('another connection has taken over')
  }

  /** Until when the server is known to be there, and too busy. */
  get #busyUntil(): number {
    return this.#retryAfter.isBusy ? this.#retryAfter.until : -Infinity
  }

  /** Asks the server where it is, with a stream beside the one that is open. */
  async #startProbe(isProbe: boolean): Promise<void> {
    const { clock } = this.#options
    const begunAt = clock.now()
    this.#probedAt = begunAt
    const { end } = this.#log.last
    // What ends soon says so itself.
    if (!(isProbe || this.#hasWaiters) || end === undefined || this.#endsAt - begunAt <= PROBE_SECONDS * 1_000) {
      this.#probes.cancel()
      return
    }
    this.#probes.start(begunAt)
    this.#isProbing = true
    this.#isProgressRequested = false
    try {
      const stream = await this.#stream(end, PROBE_SECONDS, true)
      const until = clock.now() + PROBE_SECONDS * 1_000 + PROBE_GRACE_MS
      this.#probe = { stream, begunAt, after: end, until, hasEvents: false }
      stream.whenReady(() => this.#main?.interrupt())
    } catch (error) {
      if (isEpochChange(error)) this.fail(error)
      this.#retryAfter.observe(error, clock.now())
      this.#isProbing = false
      this.#probes.recordFailure(clock.now(), retryAfterMsOf(error))
    }
    this.#main?.interrupt()
  }

  /** What both streams tell is in the log twice: nobody is told twice, since each tells all from where we were on. */
  async #readProbe(probe: BookmarkProbe): Promise<void> {
    const taken = probe.stream.isReady ? await probe.stream.take(0).catch(() => undefined) : undefined
    if (taken === IDLE) return
    const types = (taken ?? []).map(typeOf)
    // From what is no event on, nothing counts.
    const odd = types.indexOf(undefined)
    const lines = (taken ?? []).slice(0, odd === -1 ? undefined : odd)
    probe.hasEvents ||= lines.some((_line, at) => types[at] !== 'BOOKMARK')
    if (lines.length > 0) this.#append(lines, probe.stream.takenArrival)
    if (taken === undefined || odd !== -1) this.#endProbe(probe)
  }

  /**
   * A server says nothing new where the last that it knows of is an object that a selector leaves out: only once anything else
   * was written. One without a watch cache never says it.
   */
  #endProbe({ stream, begunAt, after, hasEvents: hasNews }: BookmarkProbe): void {
    stream.destroy('it has said where it is')
    this.#probe = undefined
    this.#isProbing = false
    const { end } = this.#log.last
    if (end === after) this.#log.append([], end) // Who asked is told where we are, also where that is nothing new.
    const isVain = end !== undefined && stream.head !== undefined && compareVersions(end, stream.head) < 0
    const now = this.#options.clock.now()
    if (isVain && this.#hasWaiters) {
      this.#probes.recordInconclusive(now)
      for (const follower of this.#followers) if (follower.hasWaiters()) follower.requestProof()
    } else if (this.#isProgressRequested) this.#probes.request(now)
    // What did not tell it, too, is half open.
    if (hasNews && this.#main !== undefined && this.#main.lastDataAt < begunAt) this.#replace().catch(() => {})
  }

  async #stream(after: Version, timeoutSeconds: number, isAgain: boolean): Promise<WatchStream> {
    const opened = await this.#options.open(this.#session, after, timeoutSeconds, isAgain)
    return new WatchStream(this.#session, opened, this.#options.maxObjectBytes)
  }

  #finish(end: WatchEnd): void {
    this.#end ??= end
  }

  get #silentMs(): number {
    const now = this.#options.clock.now()
    return now - (this.#main?.lastDataAt ?? now)
  }

  get #hasWaiters(): boolean {
    return [...this.#followers].some((follower) => follower.hasWaiters())
  }

  /** Who waits while the server is being asked is served by that, or it is asked again after it. */
  #requestProgress(): void {
    if (this.#isProbing) {
      this.#isProgressRequested = true
      return
    }
    this.#probes.request(this.#options.clock.now())
    this.#main?.interrupt()
  }
}

function retryAfterMsOf(error: unknown): number {
  return (error instanceof SourceError ? error.retryAfterMs : undefined) ?? 0
}

/** How a line of a watch begins that tells what happened, or how far the server is. */
const EVENT_TYPE = /^\s*\{\s*"type"\s*:\s*"(ADDED|MODIFIED|DELETED|BOOKMARK)"/
/** So many bytes of it are looked at. */
const EVENT_TYPE_BYTES = 64

/** Undefined where it is an error, or nothing that a watch tells. */
function typeOf({ bytes }: Line): string | undefined {
  return EVENT_TYPE.exec(bytes.subarray(0, EVENT_TYPE_BYTES).toString())?.[1]
}

/** `promise`, or the signal's reason. */
function unlessAborted<V>(promise: Promise<V>, signal: AbortSignal): Promise<V> {
  return new Promise<V>((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    const settle = (): void => signal.removeEventListener('abort', abort)
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    promise.then(resolve, reject).then(settle, settle)
  })
}
