import type { Clock } from '../../src/contract/clock.js'
import { onAbort } from '../shared/on-abort.js'
import { WakeableTimer } from '../shared/wakeable-timer.js'

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
  readonly #timer: WakeableTimer
  readonly #longestMs: number
  #delayMs = MIN_DELAY_MS
  #isWoken = false
  /** When the last poll began. */
  #polledAt: number

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock
    this.#timer = new WakeableTimer(clock)
    this.#longestMs = longestMs
    this.#polledAt = clock.now()
  }

  /** Ends the wait of `next` at once. */
  wake(): void {
    this.#isWoken = true
    this.#delayMs = MIN_DELAY_MS
    this.#timer.wake()
  }

  /** Reports that the last poll returned changes. */
  changed(): void {
    this.#delayMs = MIN_DELAY_MS
  }

  /** Resolves when the next poll is due, or when `signal` aborts. Returns true if `wake` was called meanwhile. */
  async next(signal: AbortSignal): Promise<boolean> {
    if (!this.#isWoken && !signal.aborted) {
      const unlink = onAbort(signal, () => this.#timer.wake())
      const restMs = Math.min(REST_FACTOR * (this.#clock.now() - this.#polledAt), this.#longestMs)
      await this.#timer.sleep(Math.max(this.#delayMs, restMs))
      unlink()
      this.#delayMs = Math.min(this.#delayMs * 2, this.#longestMs)
    }
    const isWoken = this.#isWoken
    this.#isWoken = false
    this.#polledAt = this.#clock.now()
    return isWoken
  }
}
