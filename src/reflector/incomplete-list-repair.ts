import type { Clock } from '../contract/clock.js'

/** Relists because of events without a key are at least this far apart, in milliseconds. */
const INCOMPLETE_RELIST_MS = 5 * 60_000

/**
 * Schedules a relist after a list or a batch with an event that could not be applied, such as an event without a key.
 */
export class IncompleteListRepair {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #relist: (reason: string) => void
  #listedAt = -Infinity
  #isScheduled = false
  #isDue = false
  #isRequested = false

  constructor(clock: Clock, signal: AbortSignal, relist: (reason: string) => void) {
    this.#clock = clock
    this.#signal = signal
    this.#relist = relist
  }

  /**
   * Whether a relist has to complete the mirror: an event could not be applied, or a list was requested, because an
   * audit has found a difference for example.
   */
  get isDue(): boolean {
    return this.#isDue || this.#isRequested
  }

  /** A list was requested. */
  requested(): void {
    this.#isRequested = true
  }

  /** A list was committed. `isAnotherRequested`: another one was requested after it had begun. */
  listed(isAnotherRequested: boolean): void {
    this.#isRequested = isAnotherRequested
    this.#listedAt = this.#clock.now()
    this.#isDue = this.#isScheduled
  }

  /** Schedules a relist, 5 minutes after the last list; after the current one, if a list is being read. */
  schedule(reason: string, isListing: boolean): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#isDue = true
    const due = (isListing ? this.#clock.now() : this.#listedAt) + INCOMPLETE_RELIST_MS
    this.#clock.sleep(due - this.#clock.now(), this.#signal).then(
      () => {
        this.#isScheduled = false
        this.#relist(reason)
      },
      () => {},
    )
  }
}
