import type { Entry } from '../contract/source.js';
import type { Steps } from '../util/steps.js';
import type { Scalar } from './indexes/scalar.js';
import type { KeptBase } from './packed/kept-base.js';
import type { PackedIndex } from './packed/packed-snapshot.js';
/** A small integer that identifies a present key. It is used again after its key is deleted. Below 0: see `KeptBase`. */
export type Ordinal = number;
/** Pins without a write between them, as far as indexes need them. */
export interface Layer {
    /** Greater than those of all older layers. */
    readonly id: number;
    /** One more than the greatest ordinal at the creation of the pins. */
    readonly limit: number;
    readonly newer: Layer | undefined;
}
/** The values of an index when a pin was created. Later writes do not change them. */
export type CapturedIndex = CapturedHash | CapturedOrder;
/** An equal or multi-value index. */
export interface CapturedHash {
    readonly kind: 'hash';
    /** By id. */
    readonly values: readonly (Scalar | undefined)[];
    /** Calls `visit` with the id of each value of an ordinal. */
    each(ordinal: Ordinal, visit: (id: number) => void): void;
}
/** An ordered or compound index. */
export interface CapturedOrder {
    readonly kind: 'sorted';
    /** The ordinals in the order of the index. */
    readonly order: Int32Array;
    /** The components of the tuples by ordinal. */
    readonly columns: readonly (readonly (Scalar | undefined)[])[];
}
/** An index that a store writes. Each call comes before the store changes the entry itself. */
export interface StoreIndex<T> {
    /** Adds the entry at `ordinal`, or replaces it. */
    set(ordinal: Ordinal, entry: Entry<T>): void;
    delete(ordinal: Ordinal): void;
    /** Returns the current index value of the entry at `ordinal`. */
    valueAt(ordinal: Ordinal): unknown;
    /** Returns the index value of an entry, as the user's function returns it now. */
    valueFor?(entry: Entry<T>): unknown;
    /**
     * Returns the current values of all ordinals, which later writes do not change. Without it the index is not saved. Undefined
     * if the index has a base.
     */
    capture?(): CapturedIndex | undefined;
    /**
     * From now on the entries of packed content are in the index, too, with these values: at ordinals below 0. Without arguments
     * they are not any more. Pins are not affected.
     */
    setBase?(packed?: PackedIndex, base?: KeptBase<T>): void;
    clear(): void;
    /** The number of different values, if it is known without a scan. */
    readonly valueCount?: number | undefined;
    /** Returns each value with the number of its objects; undefined if the index is not sorted yet. For inspection. */
    buckets?(): Iterable<readonly [value: unknown, count: number]> | undefined;
    /** Moves what the index has recorded for the pins of a closed layer to the next older one. */
    merge?(closed: Layer, older: Layer): void;
    /**
     * Does the work that the first read would do, in steps of about 1 ms: one for each `next()`. Reads and writes are
     * allowed between the steps. After the last one a read does no such work.
     */
    prepare?(): Steps;
}
