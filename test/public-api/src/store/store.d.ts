import { SourceError } from '../contract/errors.js';
import type { Entry } from '../contract/source.js';
import type { Steps } from '../util/steps.js';
import type { Ordinal } from './ordinals.js';
import type { KeptBase } from './packed/kept-base.js';
import type { PackedBase } from './packed/packed-base.js';
import type { PackedIndex } from './packed/packed-snapshot.js';
import { Pin } from './pin.js';
import { type PinLayer } from './pin-layers.js';
import type { StoreIndex } from './store-index.js';
import type { StoreReads } from './store-reads.js';
import { type Undoable } from './undo-journal.js';
/** The default limit of objects in one store. A JavaScript Map holds at most 2^24 keys. */
export declare const MAX_OBJECTS = 16000000;
/** Returns the result of `entries()` of a view and of an index. */
export declare function pairsOf<T>(entries: readonly Entry<T>[]): IteratorObject<[key: string, object: T], undefined>;
/**
 * The entries by key, and their indexes. Entries are in a table by ordinal, and indexes refer to ordinals, so that an
 * update moves nothing. A rollback restores overwritten entries, and rebuilds all indexes: an index that threw may be
 * in any state.
 */
export declare class Store<T> implements Undoable {
    #private;
    /** False while the first list fills the store. Readers check it, the writer does not. */
    isVisible: boolean;
    constructor(maxObjects?: number, freezesResults?: boolean);
    /**
     * Freezes an array that several readers share, in development only: a loop over a frozen array takes ten times as
     * long.
     */
    freezeShared(objects: readonly T[]): readonly T[];
    /** The state that readers see: the store itself, or the state before the large write that is in progress. */
    get readers(): StoreReads<T>;
    /** The pin that readers see instead of the store, if a large write is in progress. */
    get held(): Pin<T> | undefined;
    /** From now on readers see the current state, until `release`. */
    hold(): void;
    /** Readers see all that was written since `hold`. Packed content stays, because the store is not filled yet. */
    release(): void;
    /** Whether readers see packed content, because the store is not filled yet. */
    get isServing(): boolean;
    /** From now on readers see packed content instead of the empty store, until `fillFrom` has ended. */
    serve(base: PackedBase<T>): void;
    /**
     * Fills the store with the content that it serves, at the same ordinals. That is not a change, and pins do not record
     * it.
     */
    fillFrom(base: PackedBase<T>): Steps;
    /** Packed content with entries that the store does not contain itself. */
    get kept(): KeptBase<T> | undefined;
    /**
     * From now on the entries of packed content are in the store, which is empty: at ordinals below 0. `indexes` has
     * their values in all indexes. Open pins do not see them.
     */
    keep(kept: KeptBase<T>, indexes: ReadonlyMap<StoreIndex<T>, PackedIndex>): void;
    get size(): number;
    /** The least ordinal: 0, or that of the first entry of packed content. */
    get ordinalStart(): Ordinal;
    /** One more than the greatest ordinal that was ever used. */
    get ordinalLimit(): number;
    ordinalOf(key: string): Ordinal | undefined;
    entryAt(ordinal: Ordinal): Entry<T> | undefined;
    entryOf(key: string): Entry<T> | undefined;
    keys(): string[];
    entries(): Entry<T>[];
    /** Returns all objects, in the same array until an object changes. */
    list(): readonly T[];
    /**
     * Adds or replaces an entry.
     *
     * @throws SourceError PROTOCOL when the store is full.
     */
    set(entry: Entry<T>): Ordinal;
    /** Like `set`. The key of the entry has the ordinal `at`, or it is new. */
    setAt(at: Ordinal | undefined, entry: Entry<T>): Ordinal;
    /** Replaces an entry by one with the same object. Only its version changes, which no index contains. */
    touch(ordinal: Ordinal, entry: Entry<T>): void;
    delete(key: string): Entry<T> | undefined;
    clear(): void;
    /** Fills and adds an index. An index that throws is not added. */
    addIndex(index: StoreIndex<T>): void;
    /** Like `addIndex`. Between the steps the store may be read, and not be written. */
    addIndexInSteps(index: StoreIndex<T>): Steps;
    /** Returns the values of an empty index for the entries of packed content. */
    packedValuesOf(index: StoreIndex<T>, kept: KeptBase<T>): Generator<void, PackedIndex>;
    /** Does the work that the first reads of indexes would do. */
    prepareIndexes(): Steps;
    begin(): void;
    commit(): void;
    rollback(): void;
    /** @throws SourceError UNAVAILABLE when the indexes are damaged, and one more attempt to rebuild them fails. */
    assertIndexed(): void;
    /**
     * Returns the current state of the store, readable while the store changes. It copies an entry only when that is
     * overwritten.
     */
    pin(): Pin<T>;
    /** The layer in which indexes record the values that they change. Undefined if no pin needs them. */
    get recordingLayer(): PinLayer<T> | undefined;
    get pinCount(): number;
    /** The number of objects that can be added. */
    get freeCapacity(): number;
    overflowError(): SourceError;
}
