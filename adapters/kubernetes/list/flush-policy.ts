import type { Clock } from '../../../src/contract/clock.js'

/** What so many bytes of an answer have brought is told, though it is no full page: nobody holds 256 large objects. */
const FLUSH_BYTES = 4 * 1024 * 1024
/**
 * After so many milliseconds what has come is told, be it nothing: bytes that come are a sign of life, and the core gives up a list
 * that tells nothing for 30 s. This and the longest silence of a server, 15 s where nothing else is said, are less.
 */
const FLUSH_MS = 5_000

/** Says when what has come of a list has to be told, though its page is not full. */
export class FlushPolicy {
  readonly #clock: Clock
  #bytes = 0
  #since: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#since = clock.now()
  }

  /** Whether it has to be now that this has come. It counts as told then. */
  isDue(taken: readonly Buffer[]): boolean {
    for (const { length } of taken) this.#bytes += length
    const now = this.#clock.now()
    if (this.#bytes < FLUSH_BYTES && now - this.#since < FLUSH_MS) return false
    this.#bytes = 0
    this.#since = now
    return true
  }
}
