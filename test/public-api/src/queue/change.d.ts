import type { WatchEvent } from '../contract/source.js';
import type { Version } from '../contract/version.js';
/**
 * Where a change comes from: the replay of what the store held when the subscription began, the watch, the comparison
 * with a new list, a resync, or the clearing of the store by `onAccessLost: 'clear'`.
 */
export type Origin = 'initial' | 'watch' | 'relist' | 'resync' | 'access-lost';
interface ChangeBase<T> {
    readonly key: string;
    /** The object now; of a delete its last known state. */
    readonly object: T;
    /** The version of the batch that brought it; undefined in the initial replay, and of a resync. */
    readonly version: Version | undefined;
    readonly origin: Origin;
}
export interface Added<T> extends ChangeBase<T> {
    readonly type: 'add';
    readonly previous: undefined;
}
export interface Updated<T> extends ChangeBase<T> {
    readonly type: 'update';
    /** What this subscription was last told of the key. */
    readonly previous: T;
}
export interface Deleted<T> extends ChangeBase<T> {
    readonly type: 'delete';
    /** What this subscription was last told of the key. */
    readonly previous: T;
    /** `known`: the source told of the deletion; `unknown`: it was inferred from a list, and `object` may be stale. */
    readonly finalState: 'known' | 'unknown';
}
/** What every handler gets. Per key a subscription sees `(add update* delete)*`. */
export type Change<T> = Added<T> | Updated<T> | Deleted<T>;
/** What is pending for one key, relative to what was last delivered: one change, or a delete and then an add. */
export type Pending<T> = Change<T> | readonly [Deleted<T>, Added<T>];
/**
 * Merges one more change into what is pending for its key, so that whoever takes the result and had what was last
 * delivered ends where the changes one by one would have ended. `undefined`: nothing is left to tell.
 */
export declare function mergePending<T>(pending: Pending<T> | undefined, change: Change<T>): Pending<T> | undefined;
/** The changes of what is pending, in the order in which they are told. */
export declare function changesOf<T>(pending: Pending<T>): readonly Change<T>[];
/**
 * The keys that the invalid events of a batch name: they count as listed in its replaces. Undefined where one of them
 * has no key, so that it may be any: then nothing is known to be gone.
 */
export declare function namedInvalid(events: readonly WatchEvent<unknown>[]): ReadonlySet<string> | undefined;
/**
 * What a batch comes to: of each key its last event; where it tells of a whole collection, that one as the rest of the batch leaves
 * it. Taking it twice is taking it once.
 */
export declare function outcomeOf<T>(events: readonly WatchEvent<T>[]): readonly WatchEvent<T>[];
/** How a DeltaFIFO that is used by hand names what happened to a key. */
export type DeltaType = 'added' | 'updated' | 'deleted' | 'replaced' | 'sync';
export interface Delta<T> {
    readonly type: DeltaType;
    readonly key: string;
    /** The object now; of a deletion its last known state. */
    readonly object: T;
    readonly version: Version | undefined;
}
export interface DeltaBatch<T> {
    readonly deltas: readonly Delta<T>[];
    /** Where the source was after these; undefined where they stand between two boundaries. */
    readonly version: Version | undefined;
    /** Whether a store that has applied everything so far equals the source at `version`. */
    readonly isBoundary: boolean;
}
export {};
