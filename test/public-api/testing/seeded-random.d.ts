import type { Random } from '../src/contract/random.js';
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
export declare class SeededRandom implements Random {
    #private;
    /** Equal seeds return equal sequences. Only the lower 32 bits of `seed` count. */
    constructor(seed: number);
    /** Returns the next number: at least 0, less than 1. */
    next(): number;
    /** Returns an integer from 0 to `below` - 1. */
    below(below: number): number;
    /** Returns true with this probability, from 0 to 1. */
    chance(probability: number): boolean;
    /**
     * Returns one of the values, each with the same probability.
     * @throws TypeError if there are none.
     */
    pick<T>(from: readonly T[]): T;
}
