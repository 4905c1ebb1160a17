import type { Clock } from '../contract/clock.js';
import { type Version } from '../contract/version.js';
/** How long to wait at most. Without either: for ever. */
export interface Wait {
    /** Rejects with its reason when it aborts. */
    readonly signal?: AbortSignal | undefined;
    /** Rejects with a SourceError with code `TIMEOUT` after this many milliseconds. */
    readonly timeoutMs?: number | undefined;
}
/** The same, for a version. */
export interface VersionWait extends Wait {
    /** Over several sources: whose version it is. */
    readonly source?: string | undefined;
}
/** Both ends of a promise; only the first call counts. */
export interface Settle<V> {
    resolve(value: V): void;
    reject(reason: unknown): void;
}
export declare function checkWait(call: string, wait: unknown): void;
export declare function checkVersionWait(version: unknown, wait: unknown): void;
/**
 * A promise that also ends with the caller's signal or time-out. `register` gets both ends, and gives what takes them
 * back; it may settle at once. Nothing is left behind, whichever comes first. `whyNot` says how things are when time is up.
 */
export declare function waiting<V>(what: string, { signal, timeoutMs }: Wait, clock: Clock, register: (settle: Settle<V>) => () => void, whyNot?: () => string): Promise<V>;
/** Waits for something, no longer than `ms`; nothing is left of the wait. */
export declare function within(ms: number, something: Promise<unknown>, clock: Clock): Promise<void>;
/** Everybody who waits for something that happens once; afterwards it has happened for all who come. */
export declare class Gate {
    #private;
    get isOpen(): boolean;
    open(): void;
    /** Turns away who waits now; the gate stays as it is. */
    refuse(reason: unknown): void;
    enter(settle: Settle<void>): () => void;
}
/** Decides about a wait for a mark of another epoch than the store's: rejects it with `error`, or leaves it. */
export type JudgeOther = (settle: Settle<void>, mark: Version, error: unknown) => void;
/** Everybody who waits for a version. */
export declare class VersionWaiters {
    #private;
    /** Without `judgeOther` a wait for a mark of another epoch rejects. */
    constructor(hasReached: (at: Version, mark: Version) => boolean, judgeOther?: JudgeOther);
    get size(): number;
    /** Resolves once `at`, or a version with which `check` is called later, includes `mark`. */
    enter(mark: Version, at: Version | undefined, settle: Settle<void>): () => void;
    /** Whether `at` includes `mark`; false for a mark of another epoch. */
    includes(at: Version, mark: Version): boolean;
    check(at: Version | undefined): void;
    refuse(reason: unknown): void;
    /** The epoch of `at` is over: rejects the waits for marks of it. Marks of another epoch may be of the one that begins. */
    fork(at: Version, reason: unknown, isLaterEpoch?: (at: Version, mark: Version) => boolean): void;
}
