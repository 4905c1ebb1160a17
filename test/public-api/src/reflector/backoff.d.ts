import type { Random } from '../contract/random.js';
/** The distance between two attempts: what the next one waits at most, in milliseconds. A value, not an object with state. */
export interface Backoff {
    readonly initialMs: number;
    readonly maxMs: number;
    readonly currentMs: number;
}
export declare function backoff(initialMs: number, maxMs: number): Backoff;
/** Twice the distance, up to the ceiling. */
export declare function grown(from: Backoff): Backoff;
/** Back to the initial distance. */
export declare function reset(from: Backoff): Backoff;
/** A delay from [d/2, d), so that many clients do not come back in step. `chance` is in [0, 1). */
export declare function delayOf({ currentMs }: Backoff, chance: number): number;
/** The same, drawing its own chance. */
export declare function drawDelay(from: Backoff, random: Random): number;
