import type { Entry } from '../contract/source.js';
import type { Ordinal } from './ordinals.js';
import type { KeptBase } from './packed/kept-base.js';
import type { PackedIndex } from './packed/packed-snapshot.js';
import type { PinLayer, PinLayers } from './pin-layers.js';
import type { StoreIndex } from './store-index.js';
/** The store that a pin reads for all entries that have not been overwritten. */
export interface PinnedStore<T> {
    readonly size: number;
    readonly ordinalLimit: number;
    ordinalOf(key: string): Ordinal | undefined;
    entryAt(ordinal: Ordinal): Entry<T> | undefined;
    freezeShared(objects: readonly T[]): readonly T[];
    /** Returns the packed values of an index, if this is packed content. */
    packedIndex?(index: StoreIndex<T>): PackedIndex | undefined;
    /** Packed content with entries that the store does not contain itself. */
    readonly kept?: KeptBase<T> | undefined;
}
/**
 * A store as it was when the pin was created. The store keeps an entry for its pins when that is overwritten: by
 * ordinal, so that a scan of the table returns each object exactly once. It keeps no entries of later keys, so the
 * memory of a pin is bounded by the size of the store at its creation.
 */
export declare class Pin<T> {
    #private;
    readonly size: number;
    /** `list` is the array of all objects, if there is one. With `original` the pin is another one of the same state. */
    constructor(store: PinnedStore<T>, layers: PinLayers<T>, close: (layer: PinLayer<T>) => void, list?: readonly T[], original?: Pin<T>);
    /** Returns another pin of the same state. Each is closed by itself. */
    pin(): Pin<T>;
    /** Releases the kept entries. Every later read throws a SourceError with code STOPPED. */
    close(): void;
    get isClosed(): boolean;
    /** What was overwritten since. */
    get layer(): PinLayer<T>;
    /**
     * Returns the values of an index in packed content. Undefined for a pin of the store itself, whose indexes have them.
     */
    packedIndex(index: StoreIndex<T>): PackedIndex | undefined;
    /** Whether entries of packed content, at ordinals below 0, are in its state. */
    get hasBase(): boolean;
    /** The least ordinal at the creation of the pin. */
    get ordinalStart(): Ordinal;
    /** One more than the greatest ordinal at the creation of the pin. */
    get ordinalLimit(): number;
    ordinalOf(key: string): Ordinal | undefined;
    entryOf(key: string): Entry<T> | undefined;
    entryAt(ordinal: Ordinal): Entry<T> | undefined;
    entries(): Entry<T>[];
    keys(): string[];
    list(): readonly T[];
}
