import type { Clock } from '../../src/clock.js'

/** After a sign of life the next look comes so soon, in milliseconds, and then at twice the distance each time. */
const SOONEST_MS = 5

/**
 * When to look next: at once when woken, soon after a sign of life (whose commits were not all announced), and at the
 * latest after `longestMs`.
 */
export class Pace {
  readonly #clock: Clock
  readonly #longestMs: number
  #delayMs = SOONEST_MS
  #isWoken = false
  #timer: AbortController | undefined

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock
    this.#longestMs = longestMs
  }

  /** Look at once. */
  wake(): void {
    this.#isWoken = true
    this.#delayMs = SOONEST_MS
    this.#timer?.abort()
  }

  /** Something had changed. */
  alive(): void {
    this.#delayMs = SOONEST_MS
  }

  /** Resolves when it is time, or when `signal` aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (!this.#isWoken && !signal.aborted) {
      const timer = new AbortController()
      this.#timer = timer
      const abort = (): void => timer.abort()
      signal.addEventListener('abort', abort, { once: true })
      await this.#clock.sleep(this.#delayMs, timer.signal).catch(() => {}) // Woken, or no longer wanted.
      signal.removeEventListener('abort', abort)
      this.#timer = undefined
      this.#delayMs = Math.min(this.#delayMs * 2, this.#longestMs)
    }
    this.#isWoken = false
  }
}
