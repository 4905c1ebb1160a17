import type { Clock } from '../../../src/contract/clock.js'
import { ABORTED } from '../../../src/contract/errors.js'
import { unlessAborted } from '../../../src/util/abort-listeners.js'
import { DeadlineScope } from '../../common/deadline-scope.js'
import { isUnavailable, unavailable } from '../../common/source-errors.js'
import { assertEtcd, etcdError, isTooLarge } from './etcd-errors.js'
import type {
  Header,
  RangeRequest,
  RangeResponse,
  ServerStatus,
  TxnRequest,
  TxnResponse,
  WatchRequest,
} from './etcd-messages.js'
import type { KeyRange } from './key-range.js'
import type { Call, Connection, Transport, WatchStream } from './transport.js'

export interface SessionOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  /** A request whose response does not arrive within this many milliseconds counts as lost. */
  readonly timeoutMs: number
}

/** The deadline of the first request to one of several endpoints, in milliseconds. */
const CONNECT_MS = 3_000
/** A deadline is extended if this many bytes arrived. Responses to pings have far fewer. */
const PROGRESS_BYTES = 1_024

/** The connection of one list or one watch to one member. Each request has a deadline. Rejects with SourceErrors. */
export class Session {
  readonly #connection: Connection
  readonly #options: SessionOptions
  readonly #scope: DeadlineScope
  /** Whether the endpoint has failed: the next session goes to the next endpoint. */
  isLost = false
  #isClosed = false

  private constructor(connection: Connection, options: SessionOptions) {
    this.#connection = connection
    this.#options = options
    this.#scope = new DeadlineScope(options)
  }

  /** Opens a session at an endpoint that responds to the first request, and tries each endpoint once. */
  static async open<V>(
    transport: Transport,
    options: SessionOptions,
    first: (session: Session, timeoutMs: number) => Promise<V>,
  ): Promise<[Session, V]> {
    for (let tries = transport.endpoints; ; tries--) {
      // A function of the user for `auth` or `credentials` may never end.
      const session = await unlessAborted(options.signal, async () => {
        const opened = new Session(await transport.connect(), options)
        if (options.signal.aborted) opened.close()
        return opened
      })
      const timeoutMs = transport.endpoints > 1 ? Math.min(CONNECT_MS, options.timeoutMs) : options.timeoutMs
      try {
        return [session, await first(session, timeoutMs)]
      } catch (error) {
        session.close()
        if (tries <= 1 || options.signal.aborted || !isUnavailable(error)) throw error
      }
    }
  }

  /** A linearizable read: neither revision nor term decreases. One key is enough, because etcd counts a whole range. */
  async head({ start }: KeyRange, timeoutMs: number = this.#options.timeoutMs): Promise<Header> {
    const { header } = await this.range({ key: start, limit: 1, keys_only: true }, timeoutMs)
    return header
  }

  async range(request: RangeRequest, timeoutMs: number = this.#options.timeoutMs): Promise<RangeResponse> {
    const response = await this.#request(() => this.#connection.range(request), timeoutMs)
    assertEtcd(response.header)
    return response
  }

  /** Begins a range as a stream of parts. Returns what requests the next part; undefined if there are no streams. */
  rangeStream(request: RangeRequest): (() => Promise<RangeResponse | undefined>) | undefined {
    const next = this.#connection.rangeStream?.(request)
    return next && (() => this.#request(next, this.#options.timeoutMs))
  }

  txn(request: TxnRequest, timeoutMs: number = this.#options.timeoutMs): Promise<TxnResponse> {
    return this.#request(() => this.#connection.txn(request), timeoutMs)
  }

  /** The status of the member; undefined if the request fails, for example because the user has no permission. */
  status(): Promise<ServerStatus | undefined> {
    return this.#request(() => this.#connection.status(), this.#options.timeoutMs).catch(() => undefined)
  }

  async watch(request: WatchRequest, requireLeader: boolean): Promise<WatchStream> {
    const opening = this.#connection.watch(request, requireLeader)
    const abandon = (): void => void opening.then((stream) => stream.cancel('unwanted')).catch(() => {})
    return await this.#request(() => ({ response: opening, cancel: abandon }), this.#options.timeoutMs)
  }

  /** Whether the next request uses another connection: the bytes of an unfinished response cannot be counted. */
  get canReconnect(): boolean {
    return this.#connection.received() === undefined
  }

  /** Returns a function that returns whether a part of a message has arrived since its last call. */
  progressMeter(): () => boolean {
    let before = this.#connection.received()
    return () => {
      const now = this.#connection.received()
      const hasArrived = now !== undefined && before !== undefined && now - before >= PROGRESS_BYTES
      before = now
      return hasArrived
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#scope.end(ABORTED)
    this.#connection.close(this.isLost)
  }

  /** The response, unless nothing arrives for `timeoutMs` or the signal aborts. */
  async #request<V>(begin: () => Call<V>, timeoutMs: number): Promise<V> {
    this.#options.signal.throwIfAborted()
    const call = begin()
    const response = call.response.catch((error: unknown) => {
      throw etcdError(error, this.#connection.endpoint)
    })
    const hasArrived = this.progressMeter()
    let isLate = false
    try {
      return await this.#scope.race(response, {
        ms: timeoutMs,
        extendMs: () => (hasArrived() ? timeoutMs : undefined),
        late: () => {
          isLate = true
          throw unavailable(`no response from ${this.#connection.endpoint} for ${Math.round(timeoutMs)} ms`)
        },
      })
    } catch (error) {
      if (isUnavailable(error) && !isTooLarge(error)) this.isLost = true
      call.cancel(isLate ? 'lost' : 'unwanted')
      throw error
    }
  }
}
