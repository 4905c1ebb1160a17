import type { Clock } from '../../src/clock.js'
import { SourceError } from '../../src/errors.js'
import type { WatchBatch } from '../../src/source.js'
import type { Version } from '../../src/version.js'
import { type ApiStatus, refusalIn } from './api-errors.js'
import { BatchReader } from './batch-reader.js'
import type { Body } from './body.js'
import { SILENCE } from './body.js'
import type { Decoder } from './decoder.js'
import { compareVersions } from './kubernetes-version.js'
import { LineSlicer } from './lines.js'
import type { Visit } from './visit.js'
import { type Line, type Portion, WatchLog } from './watch-log.js'

export interface SharedWatchOptions {
  readonly clock: Clock
  readonly maxObjectBytes: number
  /** After so many milliseconds of silence another connection takes over. */
  readonly heartbeatMs: number
  /** How long it may last, in seconds. */
  readonly timeoutSeconds: number
  visit(signal: AbortSignal): Visit
  /** Opens a stream after a version; where one was open before it, says how far the server was, too. */
  open(visit: Visit, after: Version, timeoutSeconds: number, isAgain: boolean): Promise<Opened>
  /** What it means that the server ended it so. */
  refusal(status: ApiStatus): SourceError
}

export interface Opened {
  readonly body: Body
  readonly head: Version | undefined
}

/** How a watch ended: when its time was over, or before. */
export type WatchEnd = 'in time' | 'early'

export interface FollowContext {
  readonly signal: AbortSignal
  onNudge(listener: () => void): void
  /** Whether somebody waits for a version. */
  isWaitedFor(): boolean
  /** Everything up to there is told with what comes next. */
  told(version: Version): void
}

interface Follower {
  /** What it has read; undefined once it has fallen too far behind. */
  place: Portion | undefined
  /** Whether anybody waits for more of it. */
  isWaitedFor(): boolean
}

/** Those that are open, by what they watch; each by the configuration that it was opened with. */
const open = new WeakMap<object, Map<string, SharedWatch>>()

/** Follows a watch that is open already, where nothing is missing in it; else one that is opened for it. */
export async function* followShared<T>(
  { giver, key }: { readonly giver: object; readonly key: string },
  after: Version,
  decoder: Decoder<T>,
  context: FollowContext,
  options: SharedWatchOptions,
): AsyncGenerator<WatchBatch<T>, WatchEnd> {
  const watches = open.get(giver) ?? new Map<string, SharedWatch>()
  open.set(giver, watches)
  const found = watches.get(key)
  const watch = found?.reaches(after) === true ? found : new SharedWatch(after, options)
  watches.set(key, watch)
  try {
    return yield* watch.follow(after, decoder, context)
  } finally {
    if (watch.isOver && watches.get(key) === watch) watches.delete(key)
  }
}

/** Most events of one batch. */
const BATCH_EVENTS = 256
/** A server may end a stream so much before its time, in milliseconds. */
const EARLY_MS = 2_000
/** Who is so many bytes behind the others has to go on by itself. */
const MAX_BEHIND_BYTES = 16 * 1024 * 1024
/** A server says where it is two seconds before it ends a stream: this one is opened to hear that soon. */
const PROOF_SECONDS = 3
/** What a waiter waits for most often comes by itself within this time, in milliseconds. */
const PATIENCE_MS = 250
/** A server that did not say it is asked again after so long, in milliseconds; ever more rarely after some times in vain. */
const PROOF_AGAIN_MS = 1_000
const PROOF_RARELY_MS = 30_000
const EAGER_PROOFS = 3
/** A server that is too busy for another stream is left alone for so long, where it does not say for how long, in milliseconds. */
const BUSY_MS = 5_000
/** While there is news, nobody asks more often than this, in milliseconds. */
const PROOF_SPACING_MS = 10_000

/** One open watch, for all that follow the same at the same time: each has its own place in it, and its own objects. */
class SharedWatch {
  readonly #options: SharedWatchOptions
  readonly #log: WatchLog
  readonly #followers = new Set<Follower>()
  readonly #closing = new AbortController()
  readonly #visit: Visit
  readonly #endsAt: number
  readonly #opening: Promise<void>
  #body: Body | undefined
  #lines: Line[] = []
  #slicer: LineSlicer
  #heardAt: number
  /** The server wishes that no other stream is opened before then. */
  #notBefore = -Infinity
  #reading: Promise<void> | undefined
  #end: WatchEnd | undefined
  /** Somebody waits for a version: when the server is to be asked where it is. */
  #proofAt: number | undefined
  #provedAt = -Infinity
  #isProof = false
  /** How far the server was when the stream was opened. */
  #head: Version | undefined
  /** How often it was asked, and did not say. */
  #vainProofs = 0

  constructor(after: Version, options: SharedWatchOptions) {
    this.#options = options
    this.#log = new WatchLog(after)
    this.#visit = options.visit(this.#closing.signal)
    this.#heardAt = options.clock.now()
    this.#endsAt = this.#heardAt + options.timeoutSeconds * 1_000
    this.#slicer = this.#newSlicer()
    this.#opening = this.#open(after, options.timeoutSeconds, false)
    this.#opening.catch(() => this.#finish('early')) // Whoever follows is told why.
  }

  /** Whether nobody can follow it any more. */
  get isOver(): boolean {
    return this.#end !== undefined || this.#closing.signal.aborted
  }

  /** Whether what comes after this version is still here, or will come. */
  reaches(after: Version): boolean {
    return !this.isOver && this.#log.placeOf(after) !== undefined
  }

  /** Everything after `after`. It is closed when the last that follows has left. */
  async *follow<T>(
    after: Version,
    decoder: Decoder<T>,
    { signal, onNudge, isWaitedFor, told }: FollowContext,
  ): AsyncGenerator<WatchBatch<T>, WatchEnd> {
    const follower: Follower = { place: this.#log.placeOf(after), isWaitedFor }
    const reader = new BatchReader(decoder, after, follower.place?.end ?? after)
    this.#followers.add(follower)
    try {
      await unlessAborted(this.#opening, signal)
      onNudge(() => this.#nudge())
      yield { events: [], version: after } // It is open.
      for (;;) {
        if (signal.aborted) throw signal.reason
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
          this.#toldNews(batch)
          yield batch
        } else if (portion.lines.length === 0) yield { events: [], version: reader.version }
        if (reader.failure === undefined) continue
        this.#finish('early')
        throw this.#options.refusal(reader.failure)
      }
    } finally {
      this.#followers.delete(follower)
      if (this.#followers.size === 0) this.#close()
    }
  }

  #close(): void {
    this.#closing.abort()
    this.#body?.destroy(new Error('the watch is over'))
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
    for (;;) {
      const now = clock.now()
      const silentAt = Math.max(this.#heardAt + this.#options.heartbeatMs, this.#notBefore)
      if (now >= this.#endsAt) return this.#finish('in time')
      const due = Math.min(this.#endsAt, silentAt, this.#proofAt ?? Infinity)
      if (now >= due) {
        const isProof = this.#proofAt !== undefined && now >= this.#proofAt
        if (!isProof || this.#isWaitedFor) return await this.#changeOver(isProof)
        this.#proofAt = undefined
        continue
      }
      const body = this.#body
      const taken = body === undefined ? undefined : await this.#visit.take(body, due - now)
      if (taken === SILENCE) continue
      if (taken === undefined) {
        if (this.#isProof) return await this.#afterProof()
        return this.#finish(clock.now() < this.#endsAt - EARLY_MS ? 'early' : 'in time')
      }
      if (taken.length > 0) this.#heardAt = clock.now()
      for (const chunk of taken) this.#slicer.push(chunk)
      if (this.#lines.length > 0) return this.#append()
    }
  }

  #append(): void {
    this.#log.append(this.#lines)
    this.#lines = []
    const { at } = this.#log.last
    for (const follower of this.#followers)
      if (follower.place !== undefined && at - follower.place.at > MAX_BEHIND_BYTES && this.#followers.size > 1)
        follower.place = undefined
    this.#log.release(Math.min(...Array.from(this.#followers, ({ place }) => place?.at ?? at)))
  }

  /**
   * Goes on over another connection, from where we are: nothing is lost, and what has gone silent is left behind, once there is
   * something in its place.
   */
  async #changeOver(isProof: boolean): Promise<void> {
    const { end } = this.#log.last
    if (end === undefined) return // Somebody is reading it.
    const { clock } = this.#options
    const left = Math.max(1, Math.ceil((this.#endsAt - clock.now()) / 1_000))
    const isShort = isProof && left > PROOF_SECONDS
    if (isProof) {
      this.#proofAt = undefined
      this.#provedAt = clock.now()
    }
    const before = this.#body
    try {
      await this.#open(end, isShort ? PROOF_SECONDS : left, true)
    } catch (error) {
      const againAt = before?.isOver === false ? this.#againAt(error) : undefined
      if (againAt === undefined) throw error
      this.#notBefore = againAt
      if (isProof) this.#proofAt = againAt
      return
    }
    before?.destroy(new Error('another connection has taken over'))
    this.#isProof = isShort
    this.#lines = []
    this.#slicer = this.#newSlicer()
    this.#log.append([], end)
  }

  /** Where the server is there, and only too busy for another stream, the one that is open stays; not for ever, if it is silent. */
  #againAt(error: unknown): number | undefined {
    if (!(error instanceof SourceError) || refusalIn(error)?.code !== 429) return undefined
    const at = this.#options.clock.now() + Math.max(error.retryAfterMs ?? 0, BUSY_MS)
    return at <= this.#heardAt + 2 * this.#options.heartbeatMs ? at : undefined
  }

  /**
   * A server says nothing new where the last that it knows of is an object that a selector leaves out: only once anything else
   * was written. One without a watch cache never says it.
   */
  async #afterProof(): Promise<void> {
    const { end } = this.#log.last
    const isVain = end !== undefined && this.#head !== undefined && compareVersions(end, this.#head) < 0
    await this.#changeOver(false)
    if (!isVain || !this.#isWaitedFor) return
    const afterMs = PROOF_AGAIN_MS * 2 ** Math.max(0, ++this.#vainProofs - EAGER_PROOFS)
    this.#proofAt ??= this.#options.clock.now() + Math.min(afterMs, PROOF_RARELY_MS)
  }

  async #open(after: Version, timeoutSeconds: number, isAgain: boolean): Promise<void> {
    const { body, head } = await this.#options.open(this.#visit, after, timeoutSeconds, isAgain)
    this.#body = body
    this.#head = head
    this.#heardAt = this.#options.clock.now()
  }

  #finish(end: WatchEnd): void {
    this.#end ??= end
  }

  get #isWaitedFor(): boolean {
    return [...this.#followers].some((follower) => follower.isWaitedFor())
  }

  #nudge(): void {
    this.#vainProofs = 0
    if (this.#proofAt !== undefined) return
    this.#proofAt = this.#options.clock.now() + PATIENCE_MS
    this.#body?.poke()
  }

  /** What somebody waits for has most likely come with it; if not, it can wait a little. */
  #toldNews({ events }: WatchBatch<unknown>): void {
    if (this.#proofAt === undefined || events.length === 0) return
    this.#proofAt = Math.max(this.#proofAt, this.#provedAt + PROOF_SPACING_MS)
  }

  #newSlicer(): LineSlicer {
    return new LineSlicer((bytes, isWhole) => this.#lines.push({ bytes, isWhole }), this.#options.maxObjectBytes)
  }
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
