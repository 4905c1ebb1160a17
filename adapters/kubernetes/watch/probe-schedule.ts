/** What a waiter waits for most often comes by itself within this time, in milliseconds. */
const FIRST_DELAY_MS = 250
/** A server is asked again after so long at the earliest, in milliseconds; ever more rarely after some times in vain. */
const RETRY_MS = 1_000
const MAX_RETRY_MS = 30_000
const EAGER_PROBES = 3
/** A server that could not be asked is left alone for so long, where it does not say for how long, in milliseconds. */
export const BUSY_MS: number = 5_000
/** While there is news, nobody asks more often than this, in milliseconds. */
const SPACING_MS = 10_000

/** When a server is asked where it is, for those who wait for a version. Times are a clock's. */
export class ProbeSchedule {
  #at: number | undefined
  #startedAt = -Infinity
  /** How often it was asked, and did not say. */
  #inconclusive = 0

  /** Undefined where nobody wants to know. */
  get at(): number | undefined {
    return this.#at
  }

  /** Somebody waits. However often that is said, nobody asks more than once a second. */
  request(now: number): void {
    this.#inconclusive = 0
    this.#at ??= Math.max(now + FIRST_DELAY_MS, this.#startedAt + RETRY_MS)
  }

  /** What somebody waits for has most likely come with it; if not, it can wait a little. */
  postpone(): void {
    if (this.#at !== undefined) this.#at = Math.max(this.#at, this.#startedAt + SPACING_MS)
  }

  start(now: number): void {
    this.#at = undefined
    this.#startedAt = now
  }

  cancel(): void {
    this.#at = undefined
  }

  /** It was asked, and did not say; `retryAfterMs` is for how long it wishes to be left alone. */
  recordInconclusive(now: number, retryAfterMs = 0): void {
    const afterMs = Math.min(RETRY_MS * 2 ** Math.max(0, ++this.#inconclusive - EAGER_PROBES), MAX_RETRY_MS)
    this.#at = now + Math.max(afterMs, retryAfterMs)
  }

  /** It could not be asked. */
  recordFailure(now: number, retryAfterMs = 0): void {
    this.recordInconclusive(now, Math.max(retryAfterMs, BUSY_MS))
  }
}
