import type { Entry } from '../contract/source.js';
import type { Ordinal, StoreIndex } from './store-index.js';
/** An entry that was overwritten while a pin was open, with its index values at that time. */
export interface Pinned<T> {
    readonly entry: Entry<T>;
    readonly values: ReadonlyMap<StoreIndex<T>, unknown>;
}
/** The store that a pin reads for all entries that have not been overwritten. */
export interface PinnedStore<T> {
    readonly size: number;
    readonly ordinalLimit: number;
    ordinalOf(key: string): Ordinal | undefined;
    entryAt(ordinal: Ordinal): Entry<T> | undefined;
    freezeShared(objects: readonly T[]): readonly T[];
}
/**
 * A store as it was when the pin was created. It copies entries only when they are overwritten: by ordinal, so that a
 * scan of the table returns each object exactly once, and by key. It copies no entries of later keys, so its memory is
 * bounded by the size of the store at its creation.
 */
export declare class Pin<T> {
    #private;
    readonly size: number;
    constructor(store: PinnedStore<T>, close: (pin: Pin<T>) => void);
    /** Releases the copied entries. Every later read throws a SourceError with code STOPPED. */
    close(): void;
    get isClosed(): boolean;
    /** One more than the greatest ordinal at the creation of the pin. */
    get ordinalLimit(): number;
    entryOf(key: string): Entry<T> | undefined;
    entryAt(ordinal: Ordinal): Entry<T> | undefined;
    entries(): Entry<T>[];
    list(): readonly T[];
    /** Whether the store still holds the pinned entry at `ordinal`. */
    isUnchanged(ordinal: Ordinal): boolean;
    /** Returns the pinned entries that the store has overwritten since. */
    overwritten(): Iterable<Pinned<T>>;
}
