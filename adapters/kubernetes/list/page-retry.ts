import { SourceError } from '../../../src/contract/errors.js'
import type { Random } from '../../../src/contract/random.js'
import { MAX_OUTAGE_MS } from '../history/resume-guard.js'
import { apiStatusIn } from '../http/api-error.js'
import type { ApiSession } from '../http/api-session.js'

/** So often in a row a page is asked for again. */
const MAX_RETRIES = 5
/** At most so long is the first rest, and each other twice as long as the one before, in milliseconds. */
const FIRST_DELAY_MS = 500
/** For so long one that is busy is waited for, in milliseconds: after five minutes it no longer knows what the pages are of. */
const MAX_BUSY_MS = 120_000

/** When a page that did not come is asked for again: all that came before it would be lost with it. */
export class PageRetry {
  readonly #visit: ApiSession
  readonly #random: Random
  #failures = 0
  /** When the first of those failed that failed in a row. */
  #since = 0

  constructor(session: ApiSession, random: Random) {
    this.#visit = session
    this.#random = random
  }

  /** A page came whole. */
  recordSuccess(): void {
    this.#failures = 0
  }

  /** Waits until the page may be asked for again. Throws the error where that would be of no use, too often or too late. */
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
