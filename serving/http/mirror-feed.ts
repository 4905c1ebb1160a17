import type { Clock } from '../../src/contract/clock.js'
import { SourceError, toSourceError } from '../../src/contract/errors.js'
import { CATCH_UP_MS } from '../../src/informer/joined-changes.js'
import type { Change } from '../../src/queue/change.js'
import type { ChangeBatch } from '../../src/subscriptions/subscription-types.js'
import { onAbort } from '../../src/util/abort-listeners.js'
import { TimeSlice } from '../../src/util/time-slice.js'
import { CHUNK_CHARACTERS, type EncodedParts } from './encoded-parts.js'
import { eventText, invalidText } from './event-json.js'
import { errorFrame, Follower, frameOf } from './follower.js'
import { FrameLog } from './frame-log.js'
import { formatVersion } from './http-version.js'
import type { InvalidKeys } from './invalid-keys.js'
import { randomId } from './random-id.js'
import type { ServedChanges, ServedMirror, Where } from './served-mirror.js'

/** An encoded list that no follower has requested for this time is dropped, in milliseconds. */
const LIST_IDLE_MS = 60_000
/** A list whose reader takes no part of it for this time ends, in milliseconds. */
const LIST_STUCK_MS = 600_000
/** A feed that no follower has used for this time ends, in milliseconds. */
const FEED_IDLE_MS = 300_000
/** A batch with more changes is sent in parts, so that its encoding does not block the event loop. */
const PART_CHANGES = 1_000

const encoder = new TextEncoder()

export interface FeedOptions {
  readonly historyBytes: number
  readonly heartbeatMs: number
  readonly watchMs: number
  /** The invalid objects that followers receive; undefined if they receive none. */
  readonly invalid: InvalidKeys | undefined
  /** Of a share: called when the objects were deleted after lost access. The parts of its lists are in shared memory. */
  readonly onCleared?: ((feed: object) => void) | undefined
}

/** An encoded list. With `tail` and the frames after `after` it is the mirror at each later sequence. */
interface EncodedList {
  readonly after: number
  readonly collections: ReadonlyMap<string, EncodedParts>
  readonly tail: readonly Uint8Array[]
}

/** A watch or a list that has not ended. */
interface Body {
  readonly isList: boolean
  /** When it began; of a list, when its reader was last seen to take a part. */
  since: number
  /** The sequence at that time. */
  sequence: number
  /** In Node, the signal of a request that was collected does not abort. */
  readonly request: Request
}

export interface FeedPosition {
  readonly version: string
  readonly sequence: number
  /** The size of all frames before it, in bytes. */
  readonly pushedBytes: number
}

/** One scope of a mirror, encoded once for all its followers. It begins with the first request for its scope. */
export class MirrorFeed<T> {
  /** Identifies the feed in versions: a sequence means nothing in another feed. */
  readonly id: string = randomId()
  /** Resolves when followers can list and watch. */
  readonly ready: Promise<void>
  readonly #mirror: ServedMirror<T>
  readonly #clock: Clock
  readonly #options: FeedOptions
  readonly #stream: ServedChanges<T>
  #log: FrameLog
  readonly #followers = new Map<Follower, Body>()
  readonly #closing = new AbortController()
  /** The sequence of the last frame that ends a batch. */
  #last = 0
  #isEncoding = false
  #isDelivering = false
  #upstream = ''
  /** Encodes the objects that the store shows now, by collection. */
  readonly #encodeNow: () => Promise<EncodedList['collections']>
  /** The list, which is encoded once for all followers. */
  #list: Promise<EncodedList> | undefined
  /** Of each list that is being encoded, the frames after its snapshot: the log may have dropped them at its end. */
  readonly #tails = new Set<Uint8Array[]>()
  #usedAt: number
  #pushedAt: number
  #ended: SourceError | undefined

  constructor(mirror: ServedMirror<T>, where: Where, clock: Clock, options: FeedOptions) {
    this.#mirror = mirror
    this.#clock = clock
    this.#options = options
    this.#log = new FrameLog(options.historyBytes)
    this.#usedAt = clock.now()
    this.#pushedAt = clock.now()
    const { invalid = [], onCleared } = options
    try {
      this.#stream = mirror.changes(where, this.#closing.signal)
    } catch (error) {
      this.#closing.abort() // The streams of other collections may have begun.
      throw error
    }
    const own = structuredClone(where) // The program may change a Date later.
    this.#encodeNow = () => mirror.encode(own, invalid, onCleared !== undefined)
    this.ready = this.#stream.synced()
    this.ready.catch(() => {})
    void this.#follow()
    this.#beat().catch(() => {}) // It ends with the feed.
    this.#endWatches().catch(() => {})
  }

  get signal(): AbortSignal {
    return this.#closing.signal
  }

  get position(): FeedPosition {
    return { version: this.version, sequence: this.#last, pushedBytes: this.#log.pushedBytes }
  }

  get version(): string {
    return this.#versionAt(this.#last)
  }

  /** Why the feed has ended; undefined while it continues. */
  get ended(): SourceError | undefined {
    return this.#ended
  }

  /** For how long no follower has used the feed, in milliseconds. */
  get idleMs(): number {
    return this.#followers.size > 0 ? 0 : this.#clock.now() - this.#usedAt
  }

  canResume(sequence: number): boolean {
    return this.#log.canResume(sequence)
  }

  /** Ends when the request or the right of its caller aborts. `data` is that of the first frame. */
  watch(after: number, request: Request, data: object, right?: AbortSignal): Follower {
    return this.#body(frameOf('begin', data), this.#log, after, request, right)
  }

  /**
   * Returns the body of the list of now: its version, the encoded list, which all followers share, and the changes
   * after it. Its frames stay until it has ended, so a slow reader reads it to the end. With `collection` it has no
   * objects of other collections, but their changes.
   */
  async list(request: Request, data: object, right?: AbortSignal, collection?: string): Promise<Follower> {
    const list = await this.#encodedList()
    const frames = new FrameLog(Number.POSITIVE_INFINITY)
    let size = 0
    for (const [name, each] of list.collections) {
      if (collection !== undefined && name !== collection) continue
      for (const part of each.parts) frames.push(part)
      size += each.size
    }
    for (const part of list.tail) frames.push(part)
    for (let sequence = list.after + 1; sequence <= this.#last; sequence++) {
      const frame = this.#log.at(sequence)
      if (frame !== undefined) frames.push(frame)
    }
    frames.push(frameOf('end'))
    return this.#body(frameOf('begin', { ...data, version: this.version, size }), frames, 0, request, right)
  }

  /** Returns a list after which the log has all frames. */
  async #encodedList(): Promise<EncodedList> {
    for (;;) {
      const { encoding } = await this.atCommit(() => ({ encoding: this.#encoding() }))
      const list = await encoding
      // Another request has begun the next list already, or lost access has dropped this one.
      if (this.#list !== encoding) continue
      if (this.canResume(list.after)) return list
      this.#list = undefined
    }
  }

  #encoding(): Promise<EncodedList> {
    if (this.#list === undefined) {
      const list = this.#encode()
      this.#list = list
      list.catch(() => {
        if (this.#list === list) this.#list = undefined
      })
    }
    return this.#list
  }

  async #encode(): Promise<EncodedList> {
    const tail: Uint8Array[] = []
    this.#tails.add(tail)
    try {
      const collections = await this.#encodeNow()
      // In such a step the frames end with a whole batch.
      return await this.atCommit(() => ({ after: this.#last, collections, tail: [...tail] }))
    } finally {
      this.#tails.delete(tail)
    }
  }

  #body(begin: Uint8Array, log: FrameLog, after: number, request: Request, right: AbortSignal | undefined): Follower {
    const isList = log !== this.#log
    const until = isList ? log.last : Number.POSITIVE_INFINITY
    const follower: Follower = new Follower(begin, log, after, until, () => {
      unlink()
      unlinkRight?.()
      this.#followers.delete(follower)
      this.#usedAt = this.#clock.now()
    })
    this.#followers.set(follower, { isList, since: this.#clock.now(), sequence: after, request })
    const { signal } = request
    const unlink = onAbort(signal, () => follower.end())
    const unlinkRight = right && onAbort(right, () => follower.end())
    if (this.#ended !== undefined) follower.end(errorFrame(this.#ended.code, this.#ended.message))
    else if (signal.aborted || right?.aborted === true) follower.end()
    return follower
  }

  /** Resolves when the frames include every commit that the store shows now. */
  caughtUp(): Promise<void> {
    return this.atCommit(() => {})
  }

  /** Calls `act` in a step in which the frames include every commit that the store shows, and no other one. */
  async atCommit<R>(act: () => R, canAct: () => boolean = () => true): Promise<R> {
    this.#usedAt = this.#clock.now()
    for (;;) {
      // After a turn of the event loop, a batch that left the queue is in the log.
      await this.#clock.sleep(0)
      if (this.#ended !== undefined) throw this.#ended
      if (this.#isStoreAt(this.#stream) && !this.#isEncoding && canAct()) return act()
      await this.#clock.sleep(CATCH_UP_MS)
    }
  }

  close(reason: SourceError): void {
    if (this.#ended !== undefined) return
    this.#ended = reason
    this.#closing.abort()
    const frame = errorFrame(reason.code, reason.message)
    for (const follower of [...this.#followers.keys()]) follower.end(frame)
    // The server keeps an ended feed until it needs the place.
    this.#list = undefined
    this.#log = new FrameLog(0)
  }

  async #follow(): Promise<void> {
    let isReplayed = false
    try {
      for await (const batch of this.#stream) {
        if (isReplayed) await this.#pushBatch(batch)
        else this.#upstream = this.#mirror.upstreamAt(batch.version)
        isReplayed = batch.isSynced
        // The first list has them: no frame may follow for a long time.
        if (this.#log.last === 0 && this.#isStoreAt(batch)) this.#options.invalid?.take(this.#mirror.invalid)
      }
      this.close(new SourceError('the mirror was stopped', { code: 'STOPPED' }))
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.close(toSourceError(error, { phase: 'handle', source: this.#mirror.name }))
  }

  /** A feed without changes has a bookmark in each period, so that its followers know that it works. */
  async #beat(): Promise<void> {
    const { heartbeatMs } = this.#options
    for (;;) {
      await this.#clock.sleep(heartbeatMs / 2, this.#closing.signal)
      const now = this.#clock.now()
      if (now - this.#pushedAt >= heartbeatMs / 2 && !this.#isEncoding)
        this.#pushFrame('batch', [], this.#isStoreAt(this.#stream))
      // One that is being encoded continues.
      if (now - this.#usedAt > LIST_IDLE_MS && this.#tails.size === 0) this.#list = undefined
      for (const [follower, body] of [...this.#followers]) {
        if (!body.isList) continue
        if (body.sequence !== follower.sequence) {
          body.since = now
          body.sequence = follower.sequence
        } else if (now - body.since >= LIST_STUCK_MS) follower.end()
      }
      if (this.idleMs >= FEED_IDLE_MS)
        this.close(new SourceError('no follower used the scope', { code: 'UNAVAILABLE' }))
    }
  }

  /** Ends each watch after `watchMs`. The oldest is the first one in the map. */
  async #endWatches(): Promise<void> {
    const { watchMs } = this.#options
    for (let delayMs = watchMs; ; ) {
      await this.#clock.sleep(delayMs, this.#closing.signal)
      delayMs = watchMs
      for (const [follower, { isList, since }] of [...this.#followers]) {
        if (isList) continue
        const remainingMs = since + watchMs - this.#clock.now()
        if (remainingMs > 0) {
          delayMs = remainingMs
          break
        }
        follower.end()
      }
    }
  }

  async #pushBatch(batch: Pick<ChangeBatch<T>, 'changes' | 'version'>): Promise<void> {
    const { changes } = batch
    this.#isEncoding = true
    if (changes.some(({ origin }) => origin === 'access-lost')) this.#cleared()
    const slice = new TimeSlice(this.#clock)
    let texts: string[] = []
    let characters = 0
    for (const change of changes) {
      if (texts.length >= PART_CHANGES || characters >= CHUNK_CHARACTERS) {
        this.#pushFrame('part', texts)
        texts = []
        characters = 0
        await slice.turn()
      }
      const text = this.#eventText(change)
      texts.push(text)
      characters += text.length
    }
    this.#upstream = this.#mirror.upstreamAt(batch.version) // Until now the feed was before this batch.
    this.#pushFrame('batch', texts, this.#isStoreAt(batch))
    this.#isEncoding = false
  }

  /** After lost access, no list that was encoded before is sent any more. */
  #cleared(): void {
    this.#list = undefined
    const frame = errorFrame('UNAVAILABLE', 'the mirror has lost access')
    for (const [follower, { isList }] of [...this.#followers]) if (isList) follower.end(frame)
    this.#options.onCleared?.(this)
  }

  /** `showsStore`: with this frame, the feed has the state that the store shows now. */
  #pushFrame(type: 'part' | 'batch', texts: string[], showsStore = false): void {
    const sequence = this.#log.last + 1
    if (showsStore)
      for (const key of this.#options.invalid?.take(this.#mirror.invalid) ?? []) texts.push(this.#stateText(key))
    const events = texts.join(',')
    const version = JSON.stringify(this.#versionAt(sequence))
    const frame = encoder.encode(
      `id: ${sequence}\nevent: ${type}\ndata: {"version":${version},"events":[${events}]}\n\n`,
    )
    this.#log.push(frame)
    for (const tail of this.#tails) tail.push(frame)
    if (type === 'batch') this.#last = sequence
    this.#pushedAt = this.#clock.now()
    if (!this.#isDelivering) this.#deliver().catch((error: unknown) => this.#fail(error))
  }

  async #deliver(): Promise<void> {
    this.#isDelivering = true
    const slice = new TimeSlice(this.#clock)
    let delivered: number
    do {
      delivered = this.#log.last
      for (const follower of this.#followers.keys()) {
        follower.flush()
        if (slice.isOverAfterCall()) await slice.turn()
      }
    } while (delivered !== this.#log.last)
    this.#isDelivering = false
  }

  /** Whether the store shows no commit after this position of the stream. */
  #isStoreAt({ version }: { readonly version?: string | undefined }): boolean {
    return this.#mirror.isAt(version, this.#stream.backlog.keys)
  }

  /** The state of an object that has become invalid, or valid again. */
  #stateText(key: string): string {
    const entry = this.#mirror.entry(key)
    const isInvalid = this.#options.invalid?.has(key) === true
    if (entry !== undefined) return eventText({ type: 'put', ...entry }, isInvalid)
    return isInvalid ? invalidText(key) : eventText({ type: 'delete', key })
  }

  #eventText({ type, key, object, origin }: Change<T>): string {
    this.#options.invalid?.replaced(key)
    if (type === 'delete') return eventText({ type, key })
    const entry = this.#mirror.entry(key)
    // A later commit may have replaced the object already. Its version and uid belong to the later object.
    if (entry?.object !== object) return eventText({ type: 'put', key, object })
    const { version: _, ...rest } = entry
    // A list may change an object without another version: followers would ignore it with its version.
    return eventText({ type: 'put', ...(type === 'update' && origin === 'relist' ? rest : entry) })
  }

  #versionAt(sequence: number): string {
    return formatVersion({ feed: this.id, sequence, upstream: this.#upstream })
  }
}
