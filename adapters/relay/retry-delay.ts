import type { Clock } from '../../src/contract/clock.js'
import { ABORTED } from '../../src/contract/errors.js'
import type { Random } from '../../src/contract/random.js'
import { type Backoff, backoff, drawDelay, grown, reset } from '../../src/reflector/backoff.js'

/** The delays between attempts, in milliseconds. */
const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 10_000

/** The delays between the attempts of a relay. They double up to 10 s, until one is successful. */
export class RetryDelay {
  readonly #clock: Clock
  readonly #random: Random
  #next: Backoff = backoff(FIRST_RETRY_MS, MAX_RETRY_MS)
  #parts = 0
  /** Ends the delay that is in progress. */
  #end = (): void => {}

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** The next delay is the first one again. */
  reset(): void {
    this.#next = reset(this.#next)
  }

  /**
   * `parts` is how much was written so far. After an attempt that wrote something, the next delay is the first one
   * again.
   */
  progressed(parts: number): void {
    if (parts > this.#parts) this.reset()
    this.#parts = parts
  }

  /** The next attempt begins at once. */
  hurry(): void {
    this.reset()
    this.#end()
  }

  /** Waits before the next attempt. `hurry` does not shorten a fixed delay. */
  async wait(signal: AbortSignal, fixedMs?: number): Promise<void> {
    const delayMs = fixedMs ?? drawDelay(this.#next, this.#random)
    this.#next = grown(this.#next)
    const ending = new AbortController()
    const end = (): void => ending.abort(ABORTED)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
    if (fixedMs === undefined) this.#end = end
    await this.#clock.sleep(delayMs, ending.signal).catch(() => {})
    this.#end = () => {}
    signal.removeEventListener('abort', end)
  }
}
