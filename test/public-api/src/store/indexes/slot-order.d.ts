import type { Steps } from '../../util/steps.js';
/** A small integer that identifies an element of an order. */
export type Slot = number;
/** A place between two elements. */
export interface Place {
    /** The position of the chunk in the order. */
    readonly chunk: number;
    readonly at: number;
}
/** Neighbours in one chunk. */
export interface Run {
    /** The id of the chunk. */
    readonly id: number;
    /** The positions in the chunk. */
    readonly from: number;
    readonly to: number;
}
/** Slots in an order: a list of chunks of slots, so that one write moves a part of one chunk only. */
export declare class SlotOrder {
    #private;
    /** `changed` is called with the id of a chunk when its elements change. */
    constructor(changed: (id: number) => void);
    clear(): void;
    /** Replaces the order by sorted slots below `limit`, a few at each step. */
    fill(slots: Int32Array, limit: number): Steps;
    /** Inserts a slot. `isAfter` returns whether an element comes after it. */
    insert(slot: Slot, isAfter: (each: Slot) => boolean): void;
    remove(slot: Slot): void;
    /** Returns the id of the chunk of a slot. */
    chunkOf(slot: Slot): number;
    /** Returns the number of elements of a chunk. */
    lengthOf(id: number): number;
    /** Returns the slot at a position of a chunk. */
    slotAt(id: number, at: number): Slot;
    /** Returns the place before the first element that is past a place. `isPast` is false for a head of the order. */
    placeOf(isPast: (slot: Slot) => boolean): Place;
    /** Returns the elements between two places: the first `limit` of them in the order, or in the reverse order. */
    runs(from: Place, to: Place, reverse: boolean, limit: number): Run[];
    /** Returns the slots of runs. */
    slotsOf(runs: readonly Run[], reverse: boolean): readonly Slot[];
    /**
     * Returns a function that returns the next slot between two places at each call, and -1 at the end. Writes make it
     * invalid.
     */
    walk(from: Place, to: Place, reverse: boolean): () => Slot;
    count(from: Place, to: Place): number;
    /** Returns all slots in order. */
    copy(): Int32Array;
}
