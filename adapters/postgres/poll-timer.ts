import type { Clock } from '../../src/contract/clock.js'

/** The delay of the poll after a change, in milliseconds. It doubles with each poll without a change. */
const MIN_DELAY_MS = 5
/** A reader rests at least this many times as long as its last poll took: under load a poll takes time from writers. */
const REST_FACTOR = 4

/**
 * Schedules the polls of a watch: at once after a wake-up, soon after a change, because not all commits are announced, and at
 * the latest after `longestMs`.
 */
export class PollTimer {
  readonly #clock: Clock
  readonly #longestMs: number
  #delayMs = MIN_DELAY_MS
  #isWoken = false
  #timer: AbortController | undefined
  /** When the last poll began. */
  #polledAt: number

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock
    this.#longestMs = longestMs
    this.#polledAt = clock.now()
  }

  /** Ends the wait of `next` at once. */
  wake(): void {
    this.#isWoken = true
    this.#delayMs = MIN_DELAY_MS
    this.#timer?.abort()
  }

  /** Reports that the last poll returned changes. */
  changed(): void {
    this.#delayMs = MIN_DELAY_MS
  }

  /** Resolves when the next poll is due, or when `signal` aborts. Returns true if `wake` was called meanwhile. */
  async next(signal: AbortSignal): Promise<boolean> {
    if (!this.#isWoken && !signal.aborted) {
      const timer = new AbortController()
      this.#timer = timer
      const abort = (): void => timer.abort()
      signal.addEventListener('abort', abort, { once: true })
      const restMs = Math.min(REST_FACTOR * (this.#clock.now() - this.#polledAt), this.#longestMs)
      await this.#clock.sleep(Math.max(this.#delayMs, restMs), timer.signal).catch(() => {}) // It was woken or aborted.
      signal.removeEventListener('abort', abort)
      this.#timer = undefined
      this.#delayMs = Math.min(this.#delayMs * 2, this.#longestMs)
    }
    const isWoken = this.#isWoken
    this.#isWoken = false
    this.#polledAt = this.#clock.now()
    return isWoken
  }
}
