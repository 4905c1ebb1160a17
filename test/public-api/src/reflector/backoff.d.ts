import type { Random } from '../contract/random.js';
/** The delay between two attempts, in milliseconds: an immutable value. The next delay is at most `currentMs`. */
export interface Backoff {
    readonly initialMs: number;
    readonly maxMs: number;
    readonly currentMs: number;
}
export declare function backoff(initialMs: number, maxMs: number): Backoff;
/** Returns twice the delay, at most `maxMs`. */
export declare function grown(from: Backoff): Backoff;
/** Returns the initial delay. */
export declare function reset(from: Backoff): Backoff;
/** Returns a delay in [d/2, d), so that many clients do not reconnect in step. `chance` is in [0, 1). */
export declare function delayOf({ currentMs }: Backoff, chance: number): number;
/** Returns a random delay in [d/2, d). */
export declare function drawDelay(from: Backoff, random: Random): number;
