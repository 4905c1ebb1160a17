/** Where time comes from. Everything that waits takes one, so that all of it can be simulated. */
export interface Clock {
    /** Milliseconds since the Unix epoch, monotonic: a change of the wall clock while running does not move it. */
    now(): number;
    /**
     * Resolves after `ms` milliseconds; 0 or less gives the event loop one turn. Rejects with the signal's reason
     * as soon as `signal` aborts.
     */
    sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
/** Real time. */
export declare const systemClock: Clock;
