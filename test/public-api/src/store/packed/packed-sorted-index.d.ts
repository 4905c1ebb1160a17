import { type Span, type Tuple } from '../indexes/sorted-tuples.js';
import type { CapturedOrder, Ordinal } from '../ordinals.js';
import type { PackedOrdinals } from './packed-ordinals.js';
import { type SectionReader, type SectionWriter } from './sections.js';
/** Packs the ordinals of an index in its order, and the tuples in the same order. */
export declare function packOrder({ order, columns }: CapturedOrder, name: string, { packedOrdinalOf }: PackedOrdinals): SectionWriter;
/** A packed index in the order of its tuples. */
export declare class PackedSortedIndex {
    #private;
    readonly kind = "sorted";
    readonly signature: string;
    constructor(sections: SectionReader, name: string, signature: string);
    /** Returns the first position of a span, and the position after its last one. */
    bounds(span: Span): readonly [from: number, to: number];
    /** The number of ordinals that have a tuple. */
    get length(): number;
    /** Whether an ordinal has a tuple; true without one. */
    has(ordinal: Ordinal, tuple: unknown): boolean;
    /** Whether a position has a tuple. */
    isAt(position: number, tuple: unknown): boolean;
    ordinalAt(position: number): Ordinal;
    tupleAt(position: number): Tuple;
}
