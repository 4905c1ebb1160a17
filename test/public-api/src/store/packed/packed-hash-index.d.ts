import { type Scalar } from '../indexes/scalar.js';
import type { CapturedHash, Ordinal } from '../ordinals.js';
import type { PackedOrdinals } from './packed-ordinals.js';
import { type SectionReader, type SectionWriter } from './sections.js';
/** Packs the values of a hash index, a hash table of them, and the ordinals of each value. */
export declare function packHash({ values, each }: CapturedHash, name: string, { size, storeOrdinalOf }: PackedOrdinals, seed: number): SectionWriter;
/** A packed index of buckets. */
export declare class PackedHashIndex {
    #private;
    readonly kind = "hash";
    readonly signature: string;
    constructor(sections: SectionReader, name: string, signature: string, seed: number);
    /** Returns the ordinals with a value. */
    ordinalsWith(value: Scalar): Ordinal[];
    /** Returns each value with its ordinals. */
    buckets(): Generator<readonly [value: Scalar, ordinals: Uint32Array]>;
    values(): Generator<Scalar>;
    /** The number of pairs of an ordinal and one of its values. */
    get length(): number;
    /** Returns the ordinal of a pair. */
    ordinalAt(position: number): Ordinal;
    /** Whether an ordinal has all values of a scalar or of an array. */
    has(ordinal: Ordinal, remembered: unknown): boolean;
    /** Whether the value of a pair is one of a scalar or of an array. */
    isAt(position: number, remembered: unknown): boolean;
}
