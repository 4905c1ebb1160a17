import { SourceError } from '../../../src/contract/errors.js'
import { apiStatusIn } from './api-error.js'

/** A timer may fire this number of milliseconds too early; servers count in seconds. */
const EARLY_MS = 10

/** Rejects requests until the time that the server requested with `Retry-After`. Times are those of a `Clock`. */
export class RetryAfterGate {
  readonly #busyMs: number
  until: number = -Infinity
  #error: SourceError | undefined

  /** `busyMs` is the shortest delay after a 429, in milliseconds. */
  constructor(busyMs = 0) {
    this.#busyMs = busyMs
  }

  /** Whether the API server itself requested the delay (429). A 503 may come from a proxy before it. */
  get isBusy(): boolean {
    return apiStatusIn(this.#error)?.code === 429
  }

  /** Closes the gate if the error is a 429 or 503 with a delay. Other errors concern one request only. */
  observe(error: unknown, now: number): void {
    const code = apiStatusIn(error)?.code
    if (!(error instanceof SourceError) || (code !== 429 && code !== 503)) return
    const until = now + Math.max(error.retryAfterMs ?? 0, code === 429 ? this.#busyMs : 0)
    if (until <= Math.max(now, this.until)) return
    this.until = until
    this.#error = error
  }

  /** Throws the server's error with the remaining delay while the gate is closed. */
  assertOpen(now: number): void {
    const retryAfterMs = this.until - now
    if (this.#error === undefined || retryAfterMs <= EARLY_MS) return
    const { message, code, cause } = this.#error
    throw new SourceError(message, { code, retryAfterMs, cause })
  }
}
