import type { Clock } from '../contract/clock.js';
import { type OptionCheck } from './validate-options.js';
/** How long to wait at most. Without either: for ever. */
export interface Wait {
    /** Rejects with its reason when it aborts. */
    readonly signal?: AbortSignal | undefined;
    /** Rejects with a SourceError with code `TIMEOUT` after this many milliseconds. */
    readonly timeoutMs?: number | undefined;
}
/** Both ends of a promise; only the first call counts. */
export interface Settle<V> {
    resolve(value: V): void;
    reject(reason: unknown): void;
}
export declare const waitChecks: Readonly<Record<string, OptionCheck>>;
export declare function checkWait(call: string, wait: unknown): void;
/**
 * A promise that also ends with the caller's signal or time-out. `register` gets both ends, and gives what takes them
 * back; it may settle at once. Nothing is left behind, whichever comes first. `whyNot` says how things are when time is up.
 */
export declare function withDeadline<V>(what: string, { signal, timeoutMs }: Wait, clock: Clock, register: (settle: Settle<V>) => () => void, whyNot?: () => string): Promise<V>;
/** Waits for something, no longer than `ms`; nothing is left of the wait. */
export declare function settleWithin(ms: number, something: Promise<unknown>, clock: Clock): Promise<void>;
