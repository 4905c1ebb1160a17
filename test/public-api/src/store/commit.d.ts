import type { Version } from '../contract/version.js';
import type { Change } from '../queue/change.js';
import type { DeclaredIndex } from './indexes/index-builder.js';
/** Index values of one object before and after a change, one for each tracked index. */
export interface Membership {
    readonly was: readonly unknown[];
    readonly is: readonly unknown[];
}
/** One step of the store, told after it was taken whole. */
export interface Commit<T> {
    /** `filled`: the first list is in, and whoever follows starts from the store itself; `listed`: a later one is. */
    readonly type: 'filled' | 'listed' | 'changed';
    readonly changes: readonly Change<T>[];
    /** Beside each change, where indexes are tracked; else empty. */
    readonly memberships: readonly Membership[];
    /** The indexes that were tracked when it began, in the order of their values in the memberships. */
    readonly tracked: readonly DeclaredIndex<T>[];
    readonly version: Version | undefined;
    /** Where the store is now: the version; over several sources a count of its own. */
    readonly position: Version | undefined;
    /** Over several sources: the one that it comes from. */
    readonly source: string | undefined;
    readonly committedAt: number | undefined;
}
