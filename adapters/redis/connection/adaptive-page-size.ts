import { SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../common/source-errors.js'
import { isErrorReply } from './redis-errors.js'

/** The maximum size of a response, in bytes, as estimated from earlier ones. */
const MAX_RESPONSE_BYTES = 4 * 1024 * 1024
/** Responses are not limited to less than this size after a lost connection. */
const MIN_RESPONSE_BYTES = 64 * 1024
/** After this time without a lost connection, the next connection requests responses twice as large. */
const RECOVERY_MS = 10 * 60_000
/** The maximum factor by which a page grows. */
const GROWTH = 4

/**
 * The limit for the size of responses, shared by all connections of a source. A server closes a connection if the
 * pending responses exceed its `client-output-buffer-limit`.
 */
export class ResponseSizeLimit {
  #bytes = MAX_RESPONSE_BYTES
  #changedAt = 0

  get bytes(): number {
    return this.#bytes
  }

  /** Whether a connection was lost during a large response. */
  get isLimited(): boolean {
    return this.#bytes < MAX_RESPONSE_BYTES
  }

  /** Called for each new connection. */
  begin(now: number): void {
    if (!this.isLimited || now - this.#changedAt < RECOVERY_MS) return
    this.#bytes = Math.min(MAX_RESPONSE_BYTES, 2 * this.#bytes)
    this.#changedAt = now
  }

  /** Called when a connection was lost during a response of about this size. */
  lost(bytes: number, now: number): void {
    this.#bytes = Math.max(MIN_RESPONSE_BYTES, Math.min(this.#bytes, bytes / 2))
    this.#changedAt = now
  }
}

/**
 * The number of items of the next request. Redis limits items, not bytes, so the number follows from the size of
 * earlier items.
 */
export class AdaptivePageSize {
  readonly #most: number
  readonly #limit: ResponseSizeLimit
  /** It begins with one item: several items of 10 MB would not arrive in time over a slow connection. */
  #size = 1
  #itemBytes = 0
  /** Whether the next response probably has items: it is the first one, or the last one was at least half full. */
  #isMoreDue = true

  constructor(most: number, limit: ResponseSizeLimit) {
    this.#most = most
    this.#limit = limit
  }

  get size(): number {
    return this.#size
  }

  /** Called with the number of items and bytes of a response. */
  arrived(items: number, bytes: number): void {
    this.#isMoreDue = 2 * items > this.#size
    if (items === 0) return
    this.#itemBytes = Math.max(1, bytes / items)
    const fits = Math.floor(this.#limit.bytes / this.#itemBytes)
    this.#size = Math.max(1, Math.min(fits, this.#most, this.#size * GROWTH))
  }

  /**
   * The error of a request for `items` whose response did not arrive. After a lost connection, later responses are
   * smaller.
   */
  failed(error: unknown, items: number, now: number): unknown {
    const isLost = error instanceof SourceError && error.code === 'UNAVAILABLE' && !isErrorReply(error)
    if (!isLost || items === 0 || !this.#isMoreDue) return error
    if (this.#itemBytes > 0) this.#limit.lost(items * this.#itemBytes, now)
    if (!/closed the connection/.test(error.message)) return error
    const due = items === 1 ? 'one item' : `about ${Math.ceil((items * this.#itemBytes) / 1024)} kB`
    return unavailable(
      `${error.message} during a response of ${due} (if this is repeated, raise the server's client-output-buffer-limit)`,
    )
  }
}
