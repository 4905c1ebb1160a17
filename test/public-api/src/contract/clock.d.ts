/**
 * The source of time. Every wait and delay uses it, so that tests can simulate time.
 *
 * @example
 * ```ts
 * import type { Clock } from 'listwatch'
 *
 * // In a test the clock is a `VirtualClock`, which needs no real time.
 * async function* ticks(clock: Clock, signal: AbortSignal): AsyncIterable<number> {
 *   for (; ; await clock.sleep(1_000, signal)) yield clock.now()
 * }
 * ```
 */
export interface Clock {
    /** Milliseconds since the Unix epoch, monotonic: a change of the wall clock while running does not move it. */
    now(): number;
    /**
     * Milliseconds since the Unix epoch by the wall clock. Times of other machines are compared with it. A replica also
     * compares it with `now`, which may stand still while the machine sleeps. Default: `now`.
     */
    wallNow?(): number;
    /**
     * The CPU time that this thread has used, in milliseconds; undefined if the platform does not have it. Audits derive
     * their frequency from it. Default: undefined.
     */
    cpuMs?(): number | undefined;
    /**
     * Resolves after `ms` milliseconds; if `ms` is 0 or less, after one turn of the event loop. Rejects with the signal's
     * reason as soon as `signal` aborts.
     */
    sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
/**
 * The time by the wall clock. Times of other machines are compared with it: `now` differs from it after the machine has
 * slept, or after the system clock was set.
 */
export declare function wallNowOf(clock: Clock): number;
/**
 * The real clock.
 *
 * @example
 * ```ts
 * import { systemClock } from 'listwatch'
 *
 * await systemClock.sleep(1_000, signal)
 * ```
 */
export declare const systemClock: Clock;
