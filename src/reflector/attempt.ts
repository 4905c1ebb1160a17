import type { Clock } from '../contract/clock.js'

/** Its waits can be aborted at once: a source that waits in `next()` cannot be ended from outside. */
export class Attempt {
  readonly #controller = new AbortController()
  readonly signal: AbortSignal = this.#controller.signal
  readonly #clock: Clock
  #fail: ((reason: unknown) => void) | undefined
  #reason: unknown
  /** Whether the signal is aborted. To read that from the signal takes as long as an `await`. */
  #isAborted = false
  /** When the source last responded. */
  lastActivityAt: number | undefined
  /** Whether the library itself is working, so that the source is not silent. */
  #isBusy = false
  #yieldedAt: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#yieldedAt = clock.now()
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

  isYieldDue(ms: number): boolean {
    return this.#clock.now() - this.#yieldedAt >= ms
  }

  /** Yields to the event loop if the last time is at least `ms` ago. Then throws if the attempt was aborted. */
  async yieldIfDue(ms: number): Promise<void> {
    if (!this.isYieldDue(ms)) return this.throwIfAborted()
    await this.pauseWatchdog(this.#clock.sleep(0, this.signal))
    this.#yieldedAt = this.#clock.now()
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
