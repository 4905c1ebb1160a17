import { type Change, type DeltaBatch } from './delta.js';
import { SourceError } from './errors.js';
import { type DeclaredIndex } from './index-builder.js';
import type { IndexBuilder } from './index-types.js';
import { type IntakeOptions } from './intake.js';
import type { Entry, Replacement, Sink, WatchBatch } from './source.js';
import type { Version } from './version.js';
import { type StoreView } from './views.js';
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
/** What was written while it was kept. */
export interface WriteRecord {
    readonly keys: ReadonlySet<string>;
    /** Whether this part went on by a whole collection, which does not tell what came and went in between. */
    readonly isReplaced: boolean;
    stop(): void;
}
/** What an informer adds to its indexer. */
export interface IndexerHooks<T> extends Partial<IntakeOptions<T>> {
    /** `source`: over several sources, the one that it is about, where it is about one. */
    readonly report?: (error: SourceError, source?: string) => void;
    readonly onInvalid?: 'omit' | 'keep-previous' | undefined;
    readonly onCommit?: (commit: Commit<T>) => void;
    /** A key that this source gave, and that was another's, is nobody's now. */
    readonly onReleased?: (source: string) => void;
    readonly maxObjects?: number | undefined;
    /** Whether to know what `prepare` left out. */
    readonly remembersOmitted?: boolean | undefined;
}
/** What one source has in a store: all of it, or over several sources a part. */
export interface StorePart<T> extends Sink<T> {
    entryOf(key: string): Entry<T> | undefined;
    /** Of what it holds, and of what is invalid. */
    keys(): Iterable<string>;
    /** Keeps the keys that are written from now on, also by others, until it is stopped. */
    record(): WriteRecord;
    /** Whether another source of the set has a key. */
    isOthers(key: string): boolean;
    isInvalid(key: string): boolean;
    /** What is known of an object that is invalid, or was left out. */
    passedOver(key: string): {
        readonly version: Version | undefined;
    } | undefined;
    /** Takes all of it out of the store. */
    drop(): void;
}
/**
 * The indexed store, and the sink that a reflector writes to. One writer; every batch, and every list, becomes visible
 * in one synchronous step. Objects that are equal to what is there keep their identity and are no change.
 */
export declare class Indexer<T, I = {}> implements StoreView<T, I>, Sink<T> {
    #private;
    readonly by: I;
    constructor(options?: {
        readonly indexes?: (ix: IndexBuilder<T>) => I;
    });
    get(key: string): T | undefined;
    has(key: string): boolean;
    get size(): number;
    get version(): Version | undefined;
    keys(): Iterable<string>;
    entries(): Iterable<Entry<T>>;
    list(): readonly T[];
    apply(batch: WatchBatch<T> | DeltaBatch<T>): void;
    replace({ ignoreVersions }?: {
        readonly ignoreVersions?: boolean;
    }): Replacement<T>;
}
