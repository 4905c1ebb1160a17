import type { Clock } from '../src/contract/clock.js';
/**
 * Time that only moves when told to. What happens at a moment has all happened, with everything that follows from it
 * without real input or output, when `advance` goes on to the next moment.
 */
export declare class VirtualClock implements Clock {
    #private;
    /** Begins at `start`, milliseconds since the epoch; default 2026-01-01. */
    constructor(start?: number);
    /** How many sleeps have not ended. */
    get sleeping(): number;
    now(): number;
    sleep(ms: number, signal?: AbortSignal): Promise<void>;
    /** Moves on by `ms` milliseconds, waking whoever sleeps until a moment on the way, in order. */
    advance(ms: number): Promise<void>;
}
