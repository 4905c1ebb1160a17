import type { Clock } from '../src/contract/clock.js';
/**
 * A clock for tests whose time changes only by `advance`. Everything that a sleep triggers runs before the time changes again,
 * except real input and output.
 *
 * @example
 * ```ts
 * const clock = new VirtualClock()
 * const informer = createInformer({ source, clock }).start()
 * await clock.advance(30_000)
 * ```
 */
export declare class VirtualClock implements Clock {
    #private;
    /** `start`: the first time, in milliseconds since the epoch. Default 2026-01-01. */
    constructor(start?: number);
    /** The number of sleeps that have not ended. */
    get sleeping(): number;
    /** Returns the time in milliseconds since the epoch. */
    now(): number;
    /** Resolves when the time has advanced by `ms` milliseconds. Rejects with the signal's reason if it aborts. */
    sleep(ms: number, signal?: AbortSignal): Promise<void>;
    /**
     * Advances the time by `ms` milliseconds, and ends all sleeps that become due, in the order of their times.
     * @throws TypeError for a negative or infinite number of milliseconds.
     */
    advance(ms: number): Promise<void>;
}
