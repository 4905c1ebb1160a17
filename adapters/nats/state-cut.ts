import type { Clock } from '../../src/contract/clock.js'

/** A mirror with a filter waits at most this long: messages that do not match leave gaps all the time. */
const MOST_MS = 1_000

interface Cut {
  readonly position: number
  readonly hasGap: boolean
  readonly isInBatch: boolean
}

/**
 * Decides whether the delivered messages add up to a state that the stream had. A message that was replaced before its
 * delivery leaves a gap. Its replacement is at or before the last sequence that is read after the gap was seen: when
 * all up to there is delivered, and without another gap, nothing is missing. Within an atomic batch there is no such
 * state; the stream has stored the whole batch, if it has a part of it.
 */
export class StateCut {
  readonly #clock: Clock
  readonly #lastSeq: () => Promise<number>
  readonly #mostMs: number
  #upTo = 0
  #since: number | undefined

  /** `isExact`: waits as long as necessary. */
  constructor(clock: Clock, lastSeq: () => Promise<number>, isExact: boolean) {
    this.#mostMs = isExact ? Number.POSITIVE_INFINITY : MOST_MS
    this.#clock = clock
    this.#lastSeq = lastSeq
  }

  async isWhole({ position, hasGap, isInBatch }: Cut): Promise<boolean> {
    if (hasGap || (isInBatch && position >= this.#upTo)) this.#upTo = await this.#lastSeq()
    this.#since ??= this.#clock.now()
    const isWhole = position >= this.#upTo || this.#clock.now() - this.#since > this.#mostMs
    if (isWhole) this.#since = undefined
    return isWhole
  }
}
