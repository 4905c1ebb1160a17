import type { Clock } from '../contract/clock.js'

/** Continuous work yields to the event loop after this time, in milliseconds. */
export const SLICE_MS = 8

/** How many functions are called between two reads of the clock. */
const CALLS = 16

/** Includes calls that return promises: if these settle at once, the event loop does not turn in between. */
export class TimeSlice {
  readonly #clock: Clock
  #since: number
  #calls = 0

  /** Begins a slice. With `since`, an earlier time that is known already, the clock is not read: it costs 50 ns. */
  constructor(clock: Clock, since: number = clock.now()) {
    this.#clock = clock
    this.#since = since
  }

  begin(): void {
    this.#calls = 0
    this.#since = this.#clock.now()
  }

  /** Counts a call. Returns whether the event loop should turn before the next one. */
  isOverAfterCall(): boolean {
    return ++this.#calls % CALLS === 0 && this.isOver
  }

  /** Whether the event loop should turn now: for work whose single steps take long. */
  get isOver(): boolean {
    return this.#clock.now() - this.#since > SLICE_MS
  }

  /** Resolves after a turn of the event loop, when the next slice begins. Rejects when `signal` aborts. */
  async turn(signal?: AbortSignal): Promise<void> {
    await this.#clock.sleep(0, signal)
    this.begin()
  }
}
