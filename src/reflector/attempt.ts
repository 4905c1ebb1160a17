import type { Clock } from '../contract/clock.js'

/**
 * One list or one watch on its way. Whatever it waits for can be broken off at once, also where the source does not
 * react: an async generator that waits cannot be ended from outside.
 */
export class Attempt {
  readonly #controller = new AbortController()
  readonly #clock: Clock
  #fail: ((reason: unknown) => void) | undefined
  #reason: unknown
  #contactAt: number | undefined
  /** Whether it is us who are busy, so that silence is not the source's. */
  #isBusy = false
  #turnAt: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#turnAt = clock.now()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** When the source last said something. */
  get lastActivityAt(): number | undefined {
    return this.#contactAt
  }

  recordActivity(): void {
    this.#contactAt = this.#clock.now()
  }

  /** Ends whatever is waited for, now and from now on. */
  abort(reason: unknown): void {
    if (this.#controller.signal.aborted) return
    this.#reason = reason
    this.#controller.abort(reason)
    this.#fail?.(reason)
  }

  /** `promise`, or the reason for which the attempt ended, whichever comes first. One at a time. */
  race<V>(promise: PromiseLike<V>): Promise<V> {
    return new Promise<V>((resolve, reject) => {
      if (this.#controller.signal.aborted) {
        reject(this.#reason)
        promise.then(undefined, ignore)
        return
      }
      this.#fail = reject
      promise.then(resolve, reject)
    })
  }

  /** Throws where the attempt has ended: it may have, between the moment a wait was over and the moment it went on. */
  throwIfAborted(): void {
    if (this.#controller.signal.aborted) throw this.#reason
  }

  /** Waits for our own side, without counting the time as the source's silence. */
  async pauseWatchdog<V>(promise: PromiseLike<V>): Promise<V> {
    this.#isBusy = true
    try {
      return await this.race(promise)
    } finally {
      this.#isBusy = false
      this.recordActivity()
    }
  }

  /** Gives the event loop a turn where the last one is more than `ms` ago: until then it was us who were busy. Then `check`. */
  async yieldIfDue(ms: number): Promise<void> {
    if (this.#clock.now() - this.#turnAt < ms) return this.throwIfAborted()
    await this.pauseWatchdog(this.#clock.sleep(0, this.signal))
    this.#turnAt = this.#clock.now()
    this.throwIfAborted()
  }

  /** Ends the attempt with `late()` once the source has been silent for `ms`. */
  async watchdog(ms: number, late: () => unknown): Promise<void> {
    let since = this.#clock.now()
    try {
      for (;;) {
        await this.#clock.sleep(since + ms - this.#clock.now(), this.signal)
        if (this.#isBusy) this.recordActivity()
        if (this.#contactAt === undefined || this.#contactAt <= since) break
        since = this.#contactAt
      }
    } catch {
      return // The attempt is over.
    }
    this.abort(late())
  }
}

function ignore(): void {}
