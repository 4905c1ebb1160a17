import type { Clock } from '../../src/contract/clock.js'

/** After a sign of life the next look comes so soon, in milliseconds, and then at twice the distance each time. */
const MIN_DELAY_MS = 5
/** Between looks that nothing woke, a reader rests this many times as long as the last one took: under load a look costs what writers need. */
const REST_FACTOR = 4

/**
 * When to look next: at once when woken, soon after a sign of life (whose commits were not all announced), and at the
 * latest after `longestMs`.
 */
export class PollTimer {
  readonly #clock: Clock
  readonly #longestMs: number
  #delayMs = MIN_DELAY_MS
  #isWoken = false
  #timer: AbortController | undefined
  /** When the look that runs, or the last one, began. */
  #lookedAt: number

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock
    this.#longestMs = longestMs
    this.#lookedAt = clock.now()
  }

  /** Look at once. */
  wake(): void {
    this.#isWoken = true
    this.#delayMs = MIN_DELAY_MS
    this.#timer?.abort()
  }

  /** Something had changed. */
  changed(): void {
    this.#delayMs = MIN_DELAY_MS
  }

  /** Resolves when it is time, or when `signal` aborts. True if `wake` was called meanwhile. */
  async next(signal: AbortSignal): Promise<boolean> {
    if (!this.#isWoken && !signal.aborted) {
      const timer = new AbortController()
      this.#timer = timer
      const abort = (): void => timer.abort()
      signal.addEventListener('abort', abort, { once: true })
      const restMs = Math.min(REST_FACTOR * (this.#clock.now() - this.#lookedAt), this.#longestMs)
      await this.#clock.sleep(Math.max(this.#delayMs, restMs), timer.signal).catch(() => {}) // Woken, or no longer wanted.
      signal.removeEventListener('abort', abort)
      this.#timer = undefined
      this.#delayMs = Math.min(this.#delayMs * 2, this.#longestMs)
    }
    const isWoken = this.#isWoken
    this.#isWoken = false
    this.#lookedAt = this.#clock.now()
    return isWoken
  }
}
