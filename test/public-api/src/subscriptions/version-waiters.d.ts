import { type Version } from '../contract/version.js';
import { type Settle, type Wait } from '../util/deadline.js';
/** The same, for a version. */
export interface VersionWait extends Wait {
    /** Over several sources: whose version it is. */
    readonly source?: string | undefined;
}
export declare function checkVersionWait(version: unknown, wait: unknown): void;
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
    rejectAll(reason: unknown): void;
    /** The epoch of `at` is over: rejects the waits for marks of it. Marks of another epoch may be of the one that begins. */
    epochChanged(at: Version, reason: unknown, isLaterEpoch?: (at: Version, mark: Version) => boolean): void;
}
