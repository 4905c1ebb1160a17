import type { Random } from '../src/contract/random.js';
/** Chance that a seed reproduces (mulberry32). Not for secrets. */
export declare class SeededRandom implements Random {
    #private;
    constructor(seed: number);
    next(): number;
    /** A whole number from 0 to `below` - 1. */
    below(below: number): number;
    /** True with this probability. */
    chance(probability: number): boolean;
    pick<T>(from: readonly T[]): T;
}
