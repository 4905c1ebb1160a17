import type { Random } from '../src/contract/random.js'

/**
 * Random numbers that a seed reproduces (mulberry32). Not for secrets.
 *
 * @example
 * ```ts
 * import { SeededRandom } from 'listwatch/testing'
 *
 * const orders = createInformer({ source, random: new SeededRandom(7) })
 * ```
 */
export class SeededRandom implements Random {
  #state: number

  /** Equal seeds return equal sequences. Only the lower 32 bits of `seed` count. */
  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns the next number: at least 0, less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Returns an integer from 0 to `below` - 1. */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  /** Returns true with this probability, from 0 to 1. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  /**
   * Returns one of the values, each with the same probability.
   * @throws TypeError if there are none.
   */
  pick<T>(from: readonly T[]): T {
    const picked = from[this.below(from.length)]
    if (picked === undefined && from.length === 0) throw new TypeError('pick: there is nothing to pick from')
    return picked as T
  }
}
