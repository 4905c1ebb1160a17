import { type Version } from '../contract/version.js';
import { type Settle, type Wait } from '../util/deadline.js';
/**
 * The limits of a wait for a version.
 *
 * @example
 * ```ts
 * const informer = createInformer({ source: sourceSet({ eu: sourceOf('eu'), us: sourceOf('us') }) })
 * await informer.waitFor(mark, { source: 'eu', timeoutMs: 5_000 })
 * ```
 */
export interface VersionWait extends Wait {
    /** With several sources: the name of the source of the version. Required then. */
    readonly source?: string | undefined;
}
export declare function checkVersionWait(version: unknown, wait: unknown): void;
/** Called with a wait for a mark of another epoch than that of the store. It rejects the wait, or lets it continue. */
export type OnOtherEpoch = (settle: Settle<void>, mark: Version, error: unknown) => void;
/** The waits for versions. */
export declare class VersionWaiters {
    #private;
    /** Without `onOtherEpoch` a wait for a mark of another epoch rejects. */
    constructor(hasReached: (at: Version, mark: Version) => boolean, onOtherEpoch?: OnOtherEpoch);
    get size(): number;
    /** Resolves once `at`, or a version with which `check` is called later, includes `mark`. */
    enter(mark: Version, at: Version | undefined, settle: Settle<void>): () => void;
    /** Whether `at` includes `mark`; false for a mark of another epoch. */
    includes(at: Version, mark: Version): boolean;
    check(at: Version | undefined): void;
    rejectAll(reason: unknown): void;
    /**
     * Rejects the waits for marks of the epoch of `at`, which has ended. Marks of another epoch may be of the next one.
     */
    epochChanged(at: Version, reason: unknown, isLaterEpoch?: (at: Version, mark: Version) => boolean): void;
}
