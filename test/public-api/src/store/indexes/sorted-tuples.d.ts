import { type Steps } from '../../util/steps.js';
import type { Scalar } from './scalar.js';
import { type Run, type Slot, SlotOrder } from './slot-order.js';
export type Tuple = readonly Scalar[];
/** A tuple with the key of its entry. */
export interface Keyed {
    readonly tuple: Tuple;
    readonly key: string;
}
/** The elements from the first that is not `isBefore`, up to the first that is not `isWithin`. */
export interface Span {
    /** True for a head of the order, false for the rest. */
    isBefore(value: Tuple): boolean;
    /** For values that are not `isBefore`: true for a head of the order, false for the rest. */
    isWithin(value: Tuple): boolean;
}
/**
 * Tuples by slot, in the order of the tuples, then of their keys. They are sorted at the first read, and stay sorted
 * from then on. A slot is the ordinal of an entry in an index.
 */
export declare class SortedTuples {
    #private;
    readonly order: SlotOrder;
    /** `changed` is called with the id of a chunk of the order when its elements change. */
    constructor(changed?: (chunk: number) => void);
    get isSorted(): boolean;
    has(slot: Slot): boolean;
    keyAt(slot: Slot): string;
    tupleAt(slot: Slot): Tuple;
    /** Compares the tuple and the key of a slot with others. */
    compareTo(slot: Slot, { tuple, key }: Keyed): number;
    /** Returns whether the tuple of a slot equals `tuple`. */
    equals(slot: Slot, tuple: Tuple): boolean;
    set(slot: Slot, tuple: Tuple, key: string): void;
    delete(slot: Slot): void;
    clear(): void;
    /** Returns the slots in order, and the components by slot. Later writes do not change them. */
    capture(): {
        readonly order: Int32Array;
        readonly columns: readonly (readonly (Scalar | undefined)[])[];
    };
    /**
     * Puts all tuples in order, a few at each step. Reads are allowed between the steps. After a write the rest is one
     * step.
     */
    prepare(): Steps;
    /** Puts all tuples in order now. */
    sort(): void;
    /**
     * Returns a function that returns the next slot of the span at each call, and -1 at its end. Writes make it invalid.
     */
    walk(span: Span, reverse: boolean): () => Slot;
    /** Returns the first `limit` elements of the span. */
    runsIn(span: Span, reverse: boolean, limit: number): readonly Run[];
    countIn(span: Span): number;
}
export declare function compareTuples(a: Tuple, b: Tuple): number;
/** Compares only the first components, as many as `head` has. A shorter tuple comes before. */
export declare function compareHead(value: Tuple, head: Tuple): number;
export declare function compareElements(a: Keyed, b: Keyed): number;
export declare function compareKeys(a: string, b: string): number;
