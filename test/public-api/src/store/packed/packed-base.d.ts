import type { SavedEntry } from '../../contract/mirror-cache.js';
import type { Entry } from '../../contract/source.js';
import type { Ordinal } from '../ordinals.js';
import { Pin, type PinnedStore } from '../pin.js';
import type { StoreIndex } from '../store-index.js';
import type { PackedIndex, PackedSnapshot } from './packed-snapshot.js';
interface Options<T> {
    readonly snapshot: PackedSnapshot;
    readonly indexes: ReadonlyMap<StoreIndex<T>, PackedIndex>;
    /** Returns a saved entry as it is stored. */
    readonly restored: (entry: SavedEntry) => Entry<T>;
    readonly freezeShared: (objects: readonly T[]) => readonly T[];
    /** Called when the first object cannot be decoded. */
    readonly onDamage: (error: unknown) => void;
}
/**
 * The content that readers see until the store contains all of it. An object is decoded when it is first read; from
 * then on it is the stored object. An object that cannot be decoded is absent.
 */
export declare class PackedBase<T> implements PinnedStore<T> {
    #private;
    constructor(options: Options<T>);
    get size(): number;
    get ordinalLimit(): number;
    ordinalOf(key: string): Ordinal | undefined;
    entryAt(ordinal: Ordinal): Entry<T> | undefined;
    freezeShared(objects: readonly T[]): readonly T[];
    packedIndex(index: StoreIndex<T>): PackedIndex | undefined;
    /** Returns a pin of this content. */
    pin(): Pin<T>;
    /** All objects are decoded: no block is read any more. */
    end(): void;
}
export {};
