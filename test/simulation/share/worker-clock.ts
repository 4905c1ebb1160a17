import type { Clock } from '../../../src/contract/clock.js'
import type { SimClock, SleepCounter } from '../system/sim-clock.js'

/** The clock of one thread. While the thread is blocked, none of its timers fires; after its end, none does. */
export class WorkerClock implements Clock {
  readonly #clock: SimClock
  readonly #inner: SleepCounter
  #isBlocked = false
  #hasEnded = false
  #missed: (() => void)[] = []

  constructor(clock: SimClock) {
    this.#clock = clock
    this.#inner = clock.facade()
  }

  /** The number of sleeps that have not ended. */
  get sleeping(): number {
    return this.#inner.sleeping
  }

  now(): number {
    return this.#inner.now()
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#inner.sleep(ms, signal)
    while (this.#isBlocked) await new Promise<void>((resolve) => this.#missed.push(resolve))
    if (this.#hasEnded) await new Promise<never>(() => {})
    signal?.throwIfAborted()
  }

  block(): void {
    this.#isBlocked = true
  }

  unblock(): void {
    this.#isBlocked = false
    for (const resolve of this.#missed) this.#clock.in(0, resolve)
    this.#missed = []
  }

  end(): void {
    this.#hasEnded = true
    this.unblock()
  }
}
