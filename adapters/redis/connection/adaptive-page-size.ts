import type { Clock } from '../../../src/contract/clock.js'
import { SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../common/source-errors.js'
import { isErrorReply } from './redis-errors.js'

const MAX_RESPONSE_BYTES = 4 * 1024 * 1024
/** Responses are not limited to less than this size after a lost connection. */
const MIN_RESPONSE_BYTES = 64 * 1024
/** After this time without a lost connection, the next connection requests responses twice as large. */
const RECOVERY_MS = 10 * 60_000
const GROWTH = 4

/** Shared by a source. Servers close connections whose responses exceed `client-output-buffer-limit`. */
export class ResponseSizeLimit {
  bytes: number = MAX_RESPONSE_BYTES
  #changedAt = 0

  /** Whether a connection was lost during a large response. */
  get isLimited(): boolean {
    return this.bytes < MAX_RESPONSE_BYTES
  }

  begin(now: number): void {
    if (!this.isLimited || now - this.#changedAt < RECOVERY_MS) return
    this.bytes = Math.min(MAX_RESPONSE_BYTES, 2 * this.bytes)
    this.#changedAt = now
  }

  lost(bytes: number, now: number): void {
    this.bytes = Math.max(MIN_RESPONSE_BYTES, Math.min(this.bytes, bytes / 2))
    this.#changedAt = now
  }
}

/** Redis limits items, not bytes, so their number follows from the size of earlier items. */
export class AdaptivePageSize {
  readonly #most: number
  readonly #limit: ResponseSizeLimit
  /** It begins with one item: several items of 10 MB would not arrive in time over a slow connection. */
  size = 1
  #itemBytes = 0
  /** Whether the next response probably has items: it is the first one, or the last one was at least half full. */
  #isMoreDue = true

  constructor(most: number, limit: ResponseSizeLimit) {
    this.#most = most
    this.#limit = limit
  }

  arrived(items: number, bytes: number): void {
    this.#isMoreDue = 2 * items > this.size
    if (items === 0) return
    this.#itemBytes = Math.max(1, bytes / items)
    const fits = Math.floor(this.#limit.bytes / this.#itemBytes)
    this.size = Math.max(1, Math.min(fits, this.#most, this.size * GROWTH))
  }

  /** The reply to a request for `items`. If the connection is lost meanwhile, later responses are smaller. */
  async response<V>(reply: Promise<V>, clock: Clock, items: number = this.size): Promise<V> {
    try {
      return await reply
    } catch (error) {
      throw this.failed(error, items, clock.now())
    }
  }

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
