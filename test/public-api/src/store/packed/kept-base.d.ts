import type { SavedEntry } from '../../contract/mirror-cache.js';
import type { Entry } from '../../contract/source.js';
import type { Ordinal } from '../ordinals.js';
import type { PackedSnapshot } from './packed-snapshot.js';
interface Options<T> {
    readonly snapshot: PackedSnapshot;
    /** Returns a saved entry as it is stored. */
    readonly restored: (entry: SavedEntry) => Entry<T>;
    /** Called when the first object cannot be decoded. */
    readonly onDamage: (error: unknown) => void;
    /** Called when the content is not read any more. */
    readonly onReleased: () => void;
}
/** Pins, as far as the base needs them. */
interface Layer {
    readonly id: number;
}
/**
 * Packed content below a store, which itself has only the entries that were written since. The packed entries have
 * ordinals below 0, in the order of the content. The store's own ordinals begin at 0, as in any store. An object is
 * decoded when it is read, and is the same object as long as something refers to it. An object that cannot be decoded
 * is absent.
 */
export declare class KeptBase<T> {
    #private;
    readonly snapshot: PackedSnapshot;
    /** Increases when a stored object changes. */
    changes: number;
    constructor(options: Options<T>);
    /** The number of entries that were not overwritten. */
    get size(): number;
    /** The least ordinal. */
    get ordinalStart(): Ordinal;
    /** Returns the ordinal of an entry by its number in the content. */
    ordinalAt(number: number): Ordinal;
    /** Whether all entries are as they were packed. */
    get isWhole(): boolean;
    /** Returns the ordinal of a key, unless its entry was overwritten. */
    ordinalOf(key: string): Ordinal | undefined;
    /** Returns the ordinal of a key, also if its entry was overwritten. */
    firstOrdinalOf(key: string): Ordinal | undefined;
    /** Whether the entry at an ordinal was not overwritten; with `layer`: not before its pins were created. */
    has(ordinal: Ordinal, layer?: Layer): boolean;
    entryAt(ordinal: Ordinal, layer?: Layer): Entry<T> | undefined;
    entryOf(key: string): Entry<T> | undefined;
    keyAt(ordinal: Ordinal): string;
    entries(layer?: Layer): Generator<Entry<T>>;
    keys(layer?: Layer): Generator<string>;
    /** Returns the array of all objects that readers share until an object changes, or makes it. */
    sharedList(make: () => readonly T[]): readonly T[];
    /** The store overwrites or deletes an entry. `layer`: the newest open pins. Returns false if that was done before. */
    overwrite(ordinal: Ordinal, layer: Layer | undefined): boolean;
    /** Undoes `overwrite`. */
    restore(ordinal: Ordinal): void;
    /** The store reads nothing of it any more. */
    release(): void;
}
export {};
