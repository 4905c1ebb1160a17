import type { Ordinal } from '../ordinals.js';
/** The ordinals of a packed snapshot: 0, 1, … in the order of the ordinals of the store, which may have gaps. */
export interface PackedOrdinals {
    readonly size: number;
    storeOrdinalOf(ordinal: Ordinal): Ordinal;
    /** Returns -1 for an ordinal of the store without an entry. */
    packedOrdinalOf(storeOrdinal: Ordinal): Ordinal;
}
