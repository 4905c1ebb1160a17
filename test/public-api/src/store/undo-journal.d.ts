/** What a step of the store writes, and can take back if the step throws. */
export interface Undoable {
    /** A step begins: its writes are noted. */
    begin(): void;
    /** The step is complete: its writes stay. */
    end(): void;
    /** The step threw: everything is as it was before. Never throws. */
    undo(): void;
}
/** The values that a step has overwritten, in the order of its writes. It notes nothing outside of a step. */
export declare class Journal<P, B> {
    #private;
    get isOpen(): boolean;
    begin(): void;
    note(place: P, before: B): void;
    end(): void;
    /** Ends the step, and calls `restore` for each write, the last one first. Returns whether there was any. */
    undo(restore: (place: P, before: B) => void): boolean;
}
/** A Map whose writes in a step can be undone. */
export declare class UndoableMap<K, V> extends Map<K, V> implements Undoable {
    #private;
    begin(): void;
    end(): void;
    undo(): void;
    set(key: K, value: V): this;
    delete(key: K): boolean;
    clear(): void;
}
