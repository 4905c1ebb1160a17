import type { SourceContext } from '../../../src/contract/source.js'
import { ApiSession } from './api-session.js'
import type { ArrivalOrder } from './arrival-order.js'
import type { Credentials } from './credentials.js'
import type { RetryAfterGate } from './retry-after-gate.js'

export interface ApiClientOptions {
  readonly credentials: Credentials
  readonly retryAfter: RetryAfterGate
  readonly arrivals: ArrivalOrder
  /** A request without an answer for this number of milliseconds fails. */
  readonly timeoutMs: number
}

/** Opens the sessions of one source, with its credentials and its Retry-After gate. */
export class ApiClient {
  readonly credentials: Credentials
  readonly retryAfter: RetryAfterGate
  readonly #arrivals: ArrivalOrder
  readonly #timeoutMs: number

  constructor({ credentials, retryAfter, arrivals, timeoutMs }: ApiClientOptions) {
    this.credentials = credentials
    this.retryAfter = retryAfter
    this.#arrivals = arrivals
    this.#timeoutMs = timeoutMs
  }

  session({ signal, clock }: Pick<SourceContext, 'signal' | 'clock'>): ApiSession {
    return new ApiSession(this.credentials, {
      signal,
      clock,
      timeoutMs: this.#timeoutMs,
      retryAfter: this.retryAfter,
      arrivals: this.#arrivals,
    })
  }
}
