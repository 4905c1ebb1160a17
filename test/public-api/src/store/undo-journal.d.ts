/** Data of a store whose writes in a transaction can be undone. */
export interface Undoable {
    /** Starts a transaction: later writes are recorded. */
    begin(): void;
    /** Ends the transaction, and keeps its writes. */
    commit(): void;
    /** Ends the transaction, and undoes its writes. Never throws. */
    rollback(): void;
}
/**
 * The values that a transaction has overwritten, in the order of its writes. Outside a transaction it records nothing.
 */
export declare class UndoJournal<P, B> {
    #private;
    get isOpen(): boolean;
    begin(): void;
    record(place: P, before: B): void;
    commit(): void;
    /** Ends the transaction, and calls `restore` for each write, the last one first. Returns whether there was any. */
    rollback(restore: (place: P, before: B) => void): boolean;
}
/** The entries of a Map as they were when it was pinned. */
export interface PinnedMap<K, V> extends Iterable<readonly [K, V]> {
    readonly size: number;
    /** From now on the Map does not keep its overwritten entries for this. */
    close(): void;
}
/** A Map whose writes in a transaction can be undone. */
export declare class UndoableMap<K, V> extends Map<K, V> implements Undoable {
    #private;
    begin(): void;
    commit(): void;
    rollback(): void;
    set(key: K, value: V): this;
    delete(key: K): boolean;
    clear(): void;
    /** Returns the entries now. It costs time only for the entries that are overwritten until it is closed. */
    pin(): PinnedMap<K, V>;
}
