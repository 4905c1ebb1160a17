import type { Clock } from '../contract/clock.js';
import { type OptionCheck } from './validate-options.js';
/**
 * Limits a wait. Without limits it continues until the informer is stopped.
 *
 * @example
 * ```ts
 * await orders.synced({ timeoutMs: 30_000 }) // Rejects with TIMEOUT; the informer continues.
 * const paid = await orders.until('42', (order) => order?.paid === true, { signal })
 * ```
 */
export interface Wait {
    /** When it aborts, the wait rejects with its reason. */
    readonly signal?: AbortSignal | undefined;
    /** After this many milliseconds the wait rejects with a SourceError with code `TIMEOUT`. */
    readonly timeoutMs?: number | undefined;
}
/** Settles a promise. Only the first call counts. */
export interface Settle<V> {
    resolve(value: V): void;
    reject(reason: unknown): void;
}
export declare const waitChecks: Readonly<Record<string, OptionCheck>>;
export declare function checkWait(call: string, wait: unknown): void;
/**
 * Returns a promise that also rejects when the caller's signal aborts or the timeout elapses. `register` receives the
 * functions that settle it, and returns a function that unregisters them. `whyNot` returns the end of the timeout
 * message.
 */
export declare function withDeadline<V>(what: string, { signal, timeoutMs }: Wait, clock: Clock, register: (settle: Settle<V>) => () => void, whyNot?: () => string): Promise<V>;
/** Resolves when `something` settles, or after `ms` milliseconds. */
export declare function settleWithin(ms: number, something: Promise<unknown>, clock: Clock): Promise<void>;
