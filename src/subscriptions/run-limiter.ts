import type { Clock } from '../contract/clock.js'
import type { RateLimit } from './controller-types.js'

/** The part of a token that rounding may lose. */
const ROUNDING = 1e-6

/** Limits how many runs of a controller start: a token bucket. */
export class RunLimiter {
  readonly #clock: Clock
  readonly #perMs: number
  readonly #burst: number
  readonly #signal: AbortSignal
  readonly #wake: () => void
  #tokens: number
  #at: number
  #isWaiting = false

  /** `wake` is called when the next run may start, after `take` has returned false. */
  constructor({ perSecond, burst = 1 }: RateLimit, clock: Clock, signal: AbortSignal, wake: () => void) {
    this.#clock = clock
    this.#perMs = perSecond / 1_000
    this.#burst = burst
    this.#signal = signal
    this.#wake = wake
    this.#tokens = burst
    this.#at = clock.now()
  }

  /** Returns whether a run may start now, and counts it. */
  take(): boolean {
    const now = this.#clock.now()
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#at) * this.#perMs)
    this.#at = now
    if (this.#tokens >= 1 - ROUNDING) {
      this.#tokens--
      return true
    }
    this.#wakeIn((1 - this.#tokens) / this.#perMs)
    return false
  }

  /** The run that was counted does not start. */
  giveBack(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }

  #wakeIn(ms: number): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#clock.sleep(ms, this.#signal).then(
      () => {
        this.#isWaiting = false
        this.#wake()
      },
      () => {}, // Closed.
    )
  }
}
