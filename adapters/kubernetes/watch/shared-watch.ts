import type { Clock } from '../../../src/contract/clock.js'
import { isEpochChange, SourceError } from '../../../src/contract/errors.js'
import type { WatchBatch } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import type { Decoder } from '../decode/decoder.js'
import { compareVersions } from '../history/resource-version.js'
import type { ApiStatus } from '../http/api-error.js'
import type { Visit } from '../http/api-session.js'
import { SILENCE } from '../http/response-body.js'
import { ServerWish } from '../http/retry-after-gate.js'
import { BatchReader } from './batch-reader.js'
import { BUSY_MS, ProofTimes } from './probe-schedule.js'
import { type Line, type Portion, WatchLog } from './watch-log.js'
import { type Opened, WatchStream } from './watch-stream.js'

export interface OpenWatchOptions {
  readonly clock: Clock
  readonly maxObjectBytes: number
  /** After so many milliseconds of silence another connection takes over. */
  readonly heartbeatMs: number
  /** After this number of milliseconds without data a second request asks the server what the watch has missed; false: never. */
  readonly probeMs: number | false
  /** How long it may last, in seconds. */
  readonly timeoutSeconds: number
  visit(signal: AbortSignal): Visit
  /** Opens a stream after a version; where one was open before it, says how far the server was, too. */
  open(visit: Visit, after: Version, timeoutSeconds: number, isAgain: boolean): Promise<Opened>
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
  prove(): void
  /** Everything up to there is told with what comes next. */
  told(version: Version): void
  /** It fails, and has been silent since then, for longer than a watch that is well. */
  silent(since: number): void
}

interface Follower {
  /** What it has read; undefined once it has fallen too far behind. */
  place: Portion | undefined
  /** Whether anybody waits for more of it. */
  hasWaiters(): boolean
  /** The server did not report a version for which a wait is pending. */
  prove(): void
}

/** A short stream beside the other, of which the server says where it is. */
interface Proof {
  readonly stream: WatchStream
  readonly begunAt: number
  /** Where we were then. */
  readonly after: Version
  /** When it is to be over, in the time of the clock. */
  readonly until: number
  /** Whether it told what happened. */
  hasNews: boolean
}

/** Most events of one batch. */
const BATCH_EVENTS = 256
/** A server may end a stream so much before its time, in milliseconds. */
const EARLY_MS = 2_000
/** Who is so many bytes behind the others has to go on by itself. */
const MAX_BEHIND_BYTES = 16 * 1024 * 1024
/** A server says where it is two seconds before it ends a stream: this one is opened to hear that soon. */
const PROOF_SECONDS = 3
/** It may end so much later, in milliseconds. */
const PROOF_LATE_MS = 2_000
/** What has been silent for longer, in milliseconds, may be half open: it is opened anew for who joins it. */
const FRESH_MS = 15_000

/** One open watch, for all that follow the same at the same time: each has its own place in it, and its own objects. */
export class OpenWatch {
  readonly #options: OpenWatchOptions
  readonly #log: WatchLog
  readonly #followers = new Set<Follower>()
  readonly #closing = new AbortController()
  readonly #visit: Visit
  readonly #endsAt: number
  readonly #opening: Promise<void>
  readonly #proofs = new ProofTimes()
  #main: WatchStream | undefined
  #proof: Proof | undefined
  /** From when a proof is asked for until it is over. */
  #isProving = false
  /** When the server was asked last. */
  #provedAt = -Infinity
  /** Somebody began to wait meanwhile. */
  #isProgressRequested = false
  /** While another connection is opened. */
  #renewing: Promise<void> | undefined
  /** No other connection goes on from where it is: who stays needs none, and nobody joins it. */
  #isExpired = false
  /** Where it wishes that no other stream is opened, nobody asks for one. */
  readonly #wish = new ServerWish(BUSY_MS)
  #reading: Promise<void> | undefined
  #end: WatchEnd | undefined
  #failure: { readonly error: unknown } | undefined

  constructor(after: Version, options: OpenWatchOptions) {
    this.#options = options
    this.#log = new WatchLog(after)
    this.#visit = options.visit(this.#closing.signal)
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
  reaches(after: Version, since: number): boolean {
    const isHeld = [this.#main, this.#proof?.stream].some((stream) => (stream?.heldSince ?? since) < since)
    return !this.isOver && !this.#isExpired && !isHeld && this.#log.placeOf(after, since) !== undefined
  }

  /** How far the history was of which it tells. */
  get heard(): Version | undefined {
    return this.#log.heard
  }

  /** Ends it for all who follow. */
  fail(error: unknown): void {
    this.#failure ??= { error }
    this.#finish('early')
    this.#main?.poke()
  }

  /** Everything after `after`. It is closed when the last that follows has left. */
  async *follow<T>(
    after: Version,
    decoder: Decoder<T>,
    { signal, onProgressRequest, hasWaiters, prove, told, silent }: FollowContext,
  ): AsyncGenerator<WatchBatch<T>, WatchEnd> {
    const follower: Follower = { place: this.#log.placeOf(after), hasWaiters, prove }
    const reader = new BatchReader(decoder, after, follower.place?.end ?? after)
    this.#followers.add(follower)
    try {
      await unlessAborted(this.#opening, signal)
      if (this.#silentMs > FRESH_MS) await unlessAborted(this.#renew(), signal)
      onProgressRequest(() => this.#requestProgress())
      yield { events: [], version: after } // It is open.
      for (;;) {
        if (signal.aborted) throw signal.reason
        if (this.#failure !== undefined) throw this.#failure.error
        const portion = follower.place?.next
        if (portion === undefined) {
          if (follower.place === undefined) return 'early'
          if (this.#end !== undefined) return this.#end
          await unlessAborted(this.#readOn(), signal)
          continue
        }
        for (const { bytes, isWhole } of portion.lines) {
          reader.read(bytes, isWhole)
          const batch = reader.size < BATCH_EVENTS ? undefined : reader.take()
          if (batch !== undefined) yield batch
        }
        portion.end ??= reader.heard
        if (follower.place !== undefined) follower.place = portion
        const batch = reader.take()
        told(reader.version)
        if (batch !== undefined) {
          if (batch.events.length > 0) this.#proofs.news()
          yield batch
        } else if (portion.lines.length === 0) yield { events: [], version: reader.version }
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
    this.#visit.close()
  }

  /** Reads until there is another portion, or the end; for all that wait for it. */
  #readOn(): Promise<void> {
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
      const [main, proof, now] = [this.#main, this.#proof, clock.now()]
      if (main === undefined || this.#log.last !== last) return
      if (now >= this.#endsAt) return this.#finish(this.#silentMs > FRESH_MS ? 'early' : 'in time')
      if (proof !== undefined && (proof.stream.isReady || now >= proof.until)) {
        await this.#readProof(proof)
        continue
      }
      const due = this.#begin(main, now)
      const taken = await this.#taken(main, due - now)
      if (main !== this.#main || taken === SILENCE) continue
      if (taken === undefined) return this.#finish(clock.now() < this.#endsAt - EARLY_MS ? 'early' : 'in time')
      if (taken.length > 0) return this.#append(taken, main.cameAt)
    }
  }

  /** What it tells; where it ends while another is opened, that is waited for. */
  async #taken(main: WatchStream, ms: number): Promise<readonly Line[] | undefined | typeof SILENCE> {
    try {
      const taken = await main.take(ms)
      if (taken === undefined) await this.#renewing?.catch(() => {})
      return taken
    } catch (error) {
      await this.#renewing?.catch(() => {})
      if (main === this.#main) throw error
      return SILENCE
    }
  }

  /** Begins what is due, beside what is open; gives when to look again. */
  #begin(main: WatchStream, now: number): number {
    const { heartbeatMs } = this.#options
    const silentAt = Math.max(main.heardAt + heartbeatMs, Math.min(this.#busyUntil, main.heardAt + 2 * heartbeatMs))
    if (now >= silentAt) this.#renew().catch(() => {}) // Where that is the end, whoever reads is told.
    const wantedAt = this.#proofs.at === undefined ? undefined : Math.max(this.#proofs.at, this.#wish.until)
    const { probeMs } = this.#options
    // The silence may be that of a half-open connection.
    const probeAt = probeMs === false ? Infinity : Math.max(main.heardAt, this.#provedAt) + probeMs
    const dueAt = Math.min(wantedAt ?? Infinity, Math.max(probeAt, this.#wish.until))
    const proofAt = this.#isProving ? this.#proof?.until : dueAt
    if (!this.#isProving && now >= dueAt) void this.#prove(now >= probeAt)
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
      if (follower.place !== undefined && at - follower.place.at > MAX_BEHIND_BYTES && this.#followers.size > 1)
        follower.place = undefined
    this.#log.release(Math.min(...Array.from(this.#followers, ({ place }) => place?.at ?? at)))
  }

  /**
   * Goes on over another connection, from where we are: nothing is lost. What was open is read until then, and stays where that fails
   * and it has not been silent for too long. One at a time.
   */
  #renew(): Promise<void> {
    const { end } = this.#log.last
    if (end === undefined) return Promise.resolve() // Somebody is reading what has just come.
    this.#renewing ??= this.#renewed(end).finally(() => {
      this.#renewing = undefined
      this.#main?.poke()
    })
    return this.#renewing
  }

  async #renewed(end: Version): Promise<void> {
    const { clock, heartbeatMs } = this.#options
    const before = this.#main
    try {
      this.#wish.assertOver(clock.now())
      const seconds = Math.max(1, Math.ceil((this.#endsAt - clock.now()) / 1_000))
      this.#main = await this.#stream(end, seconds, true)
    } catch (error) {
      this.#wish.heed(error, clock.now())
      this.#isExpired ||= error instanceof SourceError && error.code === 'VERSION_EXPIRED'
      // Where the server is there, and only too busy for another stream, the one that is open stays; not for ever, if it is silent.
      const isBusy = this.#busyUntil > clock.now() && this.#busyUntil <= (before?.heardAt ?? 0) + 2 * heartbeatMs
      if (isEpochChange(error) || (this.#silentMs >= heartbeatMs && !isBusy)) this.fail(error)
      throw error
    }
    this.#log.append([], this.#log.last.end)
    before?.poke()
    before?.destroy('another connection has taken over')
  }

  /** Until when the server is known to be there, and too busy. */
  get #busyUntil(): number {
    return this.#wish.isBusy ? this.#wish.until : -Infinity
  }

  /** Asks the server where it is, with a stream beside the one that is open. */
  async #prove(isProbe: boolean): Promise<void> {
    const { clock } = this.#options
    const begunAt = clock.now()
    this.#provedAt = begunAt
    const { end } = this.#log.last
    // What ends soon says so itself.
    if (!(isProbe || this.#hasWaiters) || end === undefined || this.#endsAt - begunAt <= PROOF_SECONDS * 1_000) {
      this.#proofs.unwanted()
      return
    }
    this.#proofs.begun(begunAt)
    this.#isProving = true
    this.#isProgressRequested = false
    try {
      const stream = await this.#stream(end, PROOF_SECONDS, true)
      const until = clock.now() + PROOF_SECONDS * 1_000 + PROOF_LATE_MS
      this.#proof = { stream, begunAt, after: end, until, hasNews: false }
      stream.whenReady(() => this.#main?.poke())
    } catch (error) {
      if (isEpochChange(error)) this.fail(error)
      this.#wish.heed(error, clock.now())
      this.#isProving = false
      this.#proofs.failed(clock.now(), retryAfterMsOf(error))
    }
    this.#main?.poke()
  }

  /** What both streams tell is in the log twice: nobody is told twice, since each tells all from where we were on. */
  async #readProof(proof: Proof): Promise<void> {
    const taken = proof.stream.isReady ? await proof.stream.take(0).catch(() => undefined) : undefined
    if (taken === SILENCE) return
    const types = (taken ?? []).map(typeOf)
    // From what is no event on, nothing counts.
    const odd = types.indexOf(undefined)
    const lines = (taken ?? []).slice(0, odd === -1 ? undefined : odd)
    proof.hasNews ||= lines.some((_line, at) => types[at] !== 'BOOKMARK')
    if (lines.length > 0) this.#append(lines, proof.stream.cameAt)
    if (taken === undefined || odd !== -1) this.#endProof(proof)
  }

  /**
   * A server says nothing new where the last that it knows of is an object that a selector leaves out: only once anything else
   * was written. One without a watch cache never says it.
   */
  #endProof({ stream, begunAt, after, hasNews }: Proof): void {
    stream.destroy('it has said where it is')
    this.#proof = undefined
    this.#isProving = false
    const { end } = this.#log.last
    if (end === after) this.#log.append([], end) // Who asked is told where we are, also where that is nothing new.
    const isVain = end !== undefined && stream.head !== undefined && compareVersions(end, stream.head) < 0
    const now = this.#options.clock.now()
    if (isVain && this.#hasWaiters) {
      this.#proofs.vain(now)
      for (const follower of this.#followers) if (follower.hasWaiters()) follower.prove()
    } else if (this.#isProgressRequested) this.#proofs.wanted(now)
    // What did not tell it, too, is half open.
    if (hasNews && this.#main !== undefined && this.#main.heardAt < begunAt) this.#renew().catch(() => {})
  }

  async #stream(after: Version, timeoutSeconds: number, isAgain: boolean): Promise<WatchStream> {
    const opened = await this.#options.open(this.#visit, after, timeoutSeconds, isAgain)
    return new WatchStream(this.#visit, opened, this.#options.maxObjectBytes)
  }

  #finish(end: WatchEnd): void {
    this.#end ??= end
  }

  get #silentMs(): number {
    const now = this.#options.clock.now()
    return now - (this.#main?.heardAt ?? now)
  }

  get #hasWaiters(): boolean {
    return [...this.#followers].some((follower) => follower.hasWaiters())
  }

  /** Who waits while the server is being asked is served by that, or it is asked again after it. */
  #requestProgress(): void {
    if (this.#isProving) {
      this.#isProgressRequested = true
      return
    }
    this.#proofs.wanted(this.#options.clock.now())
    this.#main?.poke()
  }
}

function retryAfterMsOf(error: unknown): number {
  return (error instanceof SourceError ? error.retryAfterMs : undefined) ?? 0
}

/** How a line of a watch begins that tells what happened, or how far the server is. */
const TOLD = /^\s*\{\s*"type"\s*:\s*"(ADDED|MODIFIED|DELETED|BOOKMARK)"/
/** So many bytes of it are looked at. */
const TOLD_BYTES = 64

/** Undefined where it is an error, or nothing that a watch tells. */
function typeOf({ bytes }: Line): string | undefined {
  return TOLD.exec(bytes.subarray(0, TOLD_BYTES).toString())?.[1]
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
