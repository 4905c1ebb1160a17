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
  get contactAt(): number | undefined {
    return this.#contactAt
  }

  contact(): void {
    this.#contactAt = this.#clock.now()
  }

  /** Ends whatever is waited for, now and from now on. */
  end(reason: unknown): void {
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
  check(): void {
    if (this.#controller.signal.aborted) throw this.#reason
  }

  /** Waits for our own side, without counting the time as the source's silence. */
  async busy<V>(promise: PromiseLike<V>): Promise<V> {
    this.#isBusy = true
    try {
      return await this.race(promise)
    } finally {
      this.#isBusy = false
      this.contact()
    }
  }

  /** Gives the event loop a turn where the last one is more than `ms` ago: until then it was us who were busy. Then `check`. */
  async breathe(ms: number): Promise<void> {
    if (this.#clock.now() - this.#turnAt < ms) return this.check()
    await this.busy(this.#clock.sleep(0, this.signal))
    this.#turnAt = this.#clock.now()
    this.check()
  }

  /** Ends the attempt with `late()` once the source has been silent for `ms`. */
  async guard(ms: number, late: () => unknown): Promise<void> {
    let since = this.#clock.now()
    try {
      for (;;) {
        await this.#clock.sleep(since + ms - this.#clock.now(), this.signal)
        if (this.#isBusy) this.contact()
        if (this.#contactAt === undefined || this.#contactAt <= since) break
        since = this.#contactAt
      }
    } catch {
      return // The attempt is over.
    }
    this.end(late())
  }
}

function ignore(): void {}
