import type { Clock } from '../contract/clock.js'
import { TimeSlice } from '../util/time-slice.js'

/** Its waits can be aborted at once: a source that waits in `next()` cannot be ended from outside. */
export class Attempt {
  readonly #controller = new AbortController()
  readonly signal: AbortSignal = this.#controller.signal
  readonly #clock: Clock
  readonly slice: TimeSlice
  #fail: ((reason: unknown) => void) | undefined
  #reason: unknown
  /** Whether the signal is aborted. To read that from the signal takes as long as an `await`. */
  #isAborted = false
  /** When the source last responded. */
  lastActivityAt: number | undefined
  /** Whether the library itself is working, so that the source is not silent. */
  #isBusy = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.slice = new TimeSlice(clock)
  }

  recordActivity(): void {
    this.lastActivityAt = this.#clock.now()
  }

  /** Rejects the pending wait and all later ones. */
  abort(reason: unknown): void {
    if (this.#isAborted) return
    this.#isAborted = true
    this.#reason = reason
    this.#controller.abort(reason)
    this.#fail?.(reason)
  }

  /** Settles like `promise`, or rejects when the attempt is aborted. Only one call at a time. */
  race<V>(promise: PromiseLike<V>): Promise<V> {
    return new Promise<V>((resolve, reject) => {
      if (this.#isAborted) {
        reject(this.#reason)
        promise.then(undefined, () => {})
        return
      }
      this.#fail = reject
      promise.then(resolve, reject)
    })
  }

  /** Called after each wait, because the attempt may be aborted before it continues. */
  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason
  }

  /** Waits for the library's own work. That time does not count as silence of the source. */
  async pauseWatchdog<V>(promise: PromiseLike<V>): Promise<V> {
    this.#isBusy = true
    try {
      return await this.race(promise)
    } finally {
      this.#isBusy = false
      this.recordActivity()
    }
  }

  /** Yields to the event loop if its turn is due. Then throws if the attempt was aborted. */
  async yieldIfDue(): Promise<void> {
    if (this.slice.isOver) await this.pauseWatchdog(this.slice.turn(this.signal))
    this.throwIfAborted()
  }

  /** Aborts the attempt with the result of `late` when the source has been silent for `ms`. */
  async watchdog(ms: number, late: () => unknown): Promise<void> {
    let since = this.#clock.now()
    try {
      for (;;) {
        await this.#clock.sleep(since + ms - this.#clock.now(), this.signal)
        if (this.#isBusy) this.recordActivity()
        if (this.lastActivityAt === undefined || this.lastActivityAt <= since) break
        since = this.lastActivityAt
      }
    } catch {
      return // The attempt is over.
    }
    this.abort(late())
  }
}
