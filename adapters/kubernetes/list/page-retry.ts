import { SourceError } from '../../../src/contract/errors.js'
import type { Random } from '../../../src/contract/random.js'
import { MAX_OUTAGE_MS } from '../history/resume-guard.js'
import { apiStatusIn } from '../http/api-error.js'
import type { ApiSession } from '../http/api-session.js'

/** The number of retries in a row. */
const MAX_RETRIES = 5
/** The longest first delay, in milliseconds. Each other delay is twice as long. */
const FIRST_DELAY_MS = 500
/**
 * The longest wait for a busy server, in milliseconds: after five minutes it no longer has the snapshot of the pages.
 */
const MAX_BUSY_MS = 120_000

/** Decides when a failed page is requested again, so that the pages before it are not lost. */
export class PageRetry {
  readonly #visit: ApiSession
  readonly #random: Random
  #failures = 0
  /** When the first of the consecutive failures happened. */
  #since = 0

  constructor(session: ApiSession, random: Random) {
    this.#visit = session
    this.#random = random
  }

  /** A page is complete. */
  recordSuccess(): void {
    this.#failures = 0
  }

  /** Waits until the page may be requested again. Throws the error if a retry is useless, too frequent or too late. */
  async waitBeforeRetry(error: unknown): Promise<void> {
    if (!(error instanceof SourceError && error.code === 'UNAVAILABLE') || this.#failures === MAX_RETRIES) throw error
    const now = this.#visit.clock.now()
    if (this.#failures === 0) this.#since = now
    const ms = Math.max(error.retryAfterMs ?? 0, FIRST_DELAY_MS * 2 ** this.#failures * (0.5 + this.#random.next() / 2))
    const patienceMs = apiStatusIn(error)?.code === 429 ? MAX_BUSY_MS : MAX_OUTAGE_MS
    if (now + ms - this.#since > patienceMs) throw error
    this.#failures++
    await this.#visit.sleep(ms)
  }
}
