import type { PackedContent, SavedRecord } from '../../contract/mirror-cache.js';
import type { Ordinal } from '../ordinals.js';
import { PackedHashIndex } from './packed-hash-index.js';
import { PackedSortedIndex } from './packed-sorted-index.js';
export type PackedIndex = PackedHashIndex | PackedSortedIndex;
/**
 * Reads what `pack` has packed, in place: it creates no object for a key before that is read. The memory may be shared
 * with other threads. Its bytes must be those of `pack`: checksums are the task of the one that stores them.
 */
export declare class PackedSnapshot {
    #private;
    /** The number of entries. Their ordinals are the integers below. */
    readonly size: number;
    /** The number of all records. The other records come after the entries. */
    readonly count: number;
    /** By name. */
    readonly indexes: ReadonlyMap<string, PackedIndex>;
    /** @throws RangeError if a section is missing, or was packed on a computer with another byte order. */
    constructor(content: PackedContent);
    ordinalOf(key: string): Ordinal | undefined;
    /** Returns the key of an entry. */
    keyAt(ordinal: Ordinal): string;
    /** Decodes a record: an entry, if `i` is below `size`. Throws if its block is damaged. */
    recordAt(i: number): SavedRecord;
}
