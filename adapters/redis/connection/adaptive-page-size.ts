import { SourceError } from '../../../src/contract/errors.js'
import { unavailable } from '../../shared/source-errors.js'
import { isErrorReply } from './redis-errors.js'

/** How large an answer may become, in bytes, as far as can be guessed from those before. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
/** Answers of this size are never made smaller because a connection was lost. */
const MIN_ANSWER_BYTES = 64 * 1024
/** After this time without a lost connection, the next connection requests responses twice as large. */
const RECOVERY_MS = 10 * 60_000
/** How much more is asked for after an answer that was small enough. */
const GROWTH = 4

/**
 * How large answers may become for one source, remembered over its connections: a server may close a connection for which it has more
 * to send than its `client-output-buffer-limit` allows.
 */
export class ResponseSizeLimit {
  #bytes = MAX_ANSWER_BYTES
  #changedAt = 0

  get bytes(): number {
    return this.#bytes
  }

  /** Whether a connection was lost in a large answer. */
  get isLimited(): boolean {
    return this.#bytes < MAX_ANSWER_BYTES
  }

  /** A connection begins. */
  begin(now: number): void {
    if (!this.isLimited || now - this.#changedAt < RECOVERY_MS) return
    this.#bytes = Math.min(MAX_ANSWER_BYTES, 2 * this.#bytes)
    this.#changedAt = now
  }

  /** A connection was lost while an answer of about this size was due. */
  lost(bytes: number, now: number): void {
    this.#bytes = Math.max(MIN_ANSWER_BYTES, Math.min(this.#bytes, bytes / 2))
    this.#changedAt = now
  }
}

/**
 * How many to ask for at once. Redis counts items, not bytes: so many large ones make an answer that holds up the server
 * and both ends, so the size is learned from what has come.
 */
export class AdaptivePageSize {
  readonly #most: number
  readonly #limit: ResponseSizeLimit
  /** One, while nobody knows how large they are: a few of 10 MB would not come in time over a slow line. */
  #size = 1
  #itemBytes = 0
  /** Whether an answer with items is due: the first one, and one after an answer with about as many items as were asked for. */
  #isMoreDue = true

  constructor(most: number, limit: ResponseSizeLimit) {
    this.#most = most
    this.#limit = limit
  }

  get size(): number {
    return this.#size
  }

  /** So many came, with so many bytes. */
  arrived(items: number, bytes: number): void {
    this.#isMoreDue = 2 * items > this.#size
    if (items === 0) return
    this.#itemBytes = Math.max(1, bytes / items)
    const fits = Math.floor(this.#limit.bytes / this.#itemBytes)
    this.#size = Math.max(1, Math.min(fits, this.#most, this.#size * GROWTH))
  }

  /** Why the answer to a request for `items` did not arrive. If the connection was lost, later answers are smaller. */
  failed(error: unknown, items: number, now: number): unknown {
    const isLost = error instanceof SourceError && error.code === 'UNAVAILABLE' && !isErrorReply(error)
    if (!isLost || items === 0 || !this.#isMoreDue) return error
    if (this.#itemBytes > 0) this.#limit.lost(items * this.#itemBytes, now)
    if (!/closed the connection/.test(error.message)) return error
    const due = items === 1 ? 'one item' : `about ${Math.ceil((items * this.#itemBytes) / 1024)} kB`
    return unavailable(
      `${error.message} while an answer of ${due} was due (if this is repeated, raise the server's client-output-buffer-limit)`,
    )
  }
}
