import type { Clock } from '../../../src/contract/clock.js'
import { SourceError } from '../../../src/contract/errors.js'
import { etcdError, isTooLarge, isUnavailable } from './etcd-errors.js'
import type { Header, RangeRequest, RangeResponse, ServerStatus, WatchRequest } from './etcd-messages.js'
import type { KeyRange } from './key-range.js'
import type { Call, Connection, Transport, WatchStream } from './transport.js'

export interface SessionOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Whatever is not answered within this many milliseconds counts as lost. */
  readonly timeoutMs: number
}

/** How long one of several endpoints may take to answer for the first time, in milliseconds. */
const CONNECT_MS = 3_000
/** As long as this many bytes arrive within a deadline, the response is on its way. Answers to pings are far below. */
const PROGRESS_BYTES = 1_024

/**
 * One list or one watch at one member, with a deadline on everything: no driver notices a peer that is gone without a
 * word. Rejects with SourceErrors.
 */
export class Session {
  readonly #connection: Connection
  readonly #options: SessionOptions
  readonly #calls = new Set<Call<unknown>>()
  #fail: ((reason: SourceError) => void) | undefined
  #isLost = false
  #isClosed = false
  readonly #abort = (): void => {
    for (const call of this.#calls) call.cancel('unwanted')
    this.#fail?.(new SourceError('no longer wanted', { code: 'STOPPED' }))
  }

  private constructor(connection: Connection, options: SessionOptions) {
    this.#connection = connection
    this.#options = options
    options.signal.addEventListener('abort', this.#abort, { once: true })
  }

  /** Opens a visit at an endpoint that answers the first request, trying each endpoint once. */
  static async open<V>(
    transport: Transport,
    options: SessionOptions,
    first: (visit: Session, timeoutMs: number) => Promise<V>,
  ): Promise<[Session, V]> {
    for (let tries = transport.endpoints; ; tries--) {
      options.signal.throwIfAborted()
      const visit = new Session(await transport.connect(), options)
      const timeoutMs = transport.endpoints > 1 ? Math.min(CONNECT_MS, options.timeoutMs) : options.timeoutMs
      try {
        return [visit, await first(visit, timeoutMs)]
      } catch (error) {
        visit.close()
        if (tries <= 1 || options.signal.aborted || !isUnavailable(error)) throw error
      }
    }
  }

  get endpoint(): string {
    return this.#connection.endpoint
  }

  /**
   * Where the cluster is: a linearizable read, so that neither revision nor term ever goes back in one history. It reads one key
   * because etcd counts all keys of a range.
   */
  async head({ start }: KeyRange, timeoutMs: number = this.#options.timeoutMs): Promise<Header> {
    const { header } = await this.range({ key: start, limit: 1, isKeysOnly: true }, timeoutMs)
    return header
  }

  range(request: RangeRequest, timeoutMs: number = this.#options.timeoutMs): Promise<RangeResponse> {
    return this.#answer(() => this.#connection.range(request), timeoutMs)
  }

  /** What the member says of itself; undefined where it does not, to this user, or at all. */
  status(): Promise<ServerStatus | undefined> {
    return this.#answer(() => this.#connection.status(), this.#options.timeoutMs).catch(() => undefined)
  }

  async watch(request: WatchRequest, requireLeader: boolean): Promise<WatchStream> {
    const opening = this.#connection.watch(request, requireLeader)
    const abandon = (): void => void opening.then((stream) => stream.cancel('unwanted')).catch(() => {})
    return await this.#answer(() => ({ response: opening, cancel: abandon }), this.#options.timeoutMs)
  }

  /** Whether the next request after a lost one goes over another connection. Then bytes of an unfinished response do not show. */
  get canReconnect(): boolean {
    return this.#connection.received() === undefined
  }

  /** Returns a function that says whether a part of a message has arrived since its last call. */
  progressMeter(): () => boolean {
    let before = this.#connection.received()
    return () => {
      const now = this.#connection.received()
      const hasArrived = now !== undefined && before !== undefined && now - before >= PROGRESS_BYTES
      before = now
      return hasArrived
    }
  }

  /** This endpoint is of no use: the next visit goes to another. */
  markLost(): void {
    this.#isLost = true
  }

  get isLost(): boolean {
    return this.#isLost
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#options.signal.removeEventListener('abort', this.#abort)
    for (const call of this.#calls) call.cancel('unwanted')
    this.#connection.close(this.#isLost)
  }

  /** The answer, or that there was none in time, or that nobody wants it any more. One at a time. */
  async #answer<V>(begin: () => Call<V>, timeoutMs: number): Promise<V> {
    const { signal } = this.#options
    signal.throwIfAborted()
    const call = begin()
    const timer = new AbortController()
    let isLate = false
    this.#calls.add(call)
    try {
      return await new Promise<V>((resolve, reject) => {
        this.#fail = reject
        call.response.then(resolve, (error: unknown) => reject(etcdError(error)))
        this.#silence(timeoutMs, timer.signal).then(
          () => {
            isLate = true
            reject(new SourceError(`no answer from ${this.endpoint} for ${timeoutMs} ms`, { code: 'UNAVAILABLE' }))
          },
          () => {}, // Answered.
        )
      })
    } catch (error) {
      if (isUnavailable(error) && !isTooLarge(error)) this.markLost()
      call.cancel(isLate ? 'lost' : 'unwanted')
      throw error
    } finally {
      this.#fail = undefined
      timer.abort()
      this.#calls.delete(call)
    }
  }

  /** Resolves when nothing has arrived for this long. */
  async #silence(ms: number, signal: AbortSignal): Promise<void> {
    const hasArrived = this.progressMeter()
    do await this.#options.clock.sleep(ms, signal)
    while (hasArrived())
  }
}
