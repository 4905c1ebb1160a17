import type { Clock } from '../../../src/contract/clock.js'

/**
 * After this number of bytes the events are yielded, even if the page is not full. 256 large objects would need much
 * memory: V8 moves objects that live that long to its old generation, even if `transform` keeps little of them.
 */
const FLUSH_BYTES = 512 * 1024
/**
 * After this number of milliseconds a page is yielded, even an empty one: each page proves that the server is
 * reachable.
 */
const FLUSH_MS = 5_000

/** Decides when the events of a list are yielded before their page is full. */
export class FlushPolicy {
  readonly #clock: Clock
  #bytes = 0
  #since: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.now()
  }

  /** Counts the data that has arrived, and returns whether to yield now. The count then restarts. */
  isDue(taken: readonly Buffer[]): boolean {
    for (const { length } of taken) this.#bytes += length
    const now = this.#clock.now()
    if (this.#bytes < FLUSH_BYTES && now - this.#since < FLUSH_MS) return false
    this.#bytes = 0
    this.#since = now
    return true
  }
}
