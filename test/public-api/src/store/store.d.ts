import { SourceError } from '../contract/errors.js';
import type { Entry } from '../contract/source.js';
import { type Undoable } from './undo-journal.js';
/** The most keys that one store holds: a JavaScript Map ends at 2^24. */
export declare const MAX_OBJECTS = 16000000;
/** A small dense number for each key that is present; freed and used again when the key goes. */
export type Ordinal = number;
/** What an index is told, always before the store forgets the entry. */
export interface StoreIndex<T> {
    /** The entry at `ordinal` is new or has changed. */
    set(ordinal: Ordinal, entry: Entry<T>): void;
    delete(ordinal: Ordinal): void;
    /** The index value remembered for the entry at `ordinal`. */
    valueAt(ordinal: Ordinal): unknown;
    clear(): void;
}
/** The entry that an ordinal held when a snapshot was taken, with its index values of that time. */
export interface Pinned<T> {
    readonly entry: Entry<T>;
    readonly values: ReadonlyMap<StoreIndex<T>, unknown>;
}
/** What `entries()` of a view and of an index yields. */
export declare function pairsOf<T>(entries: readonly Entry<T>[]): IteratorObject<[key: string, object: T], undefined>;
/**
 * Key → entry, with indexes kept in step. It holds entries as they come, in a table by ordinal; indexes refer to
 * ordinals, so that an update moves nothing. One writer, no awaits. A step that throws is undone: entries by what the step
 * has overwritten, indexes by building them again, because the one that threw may be in any state.
 */
export declare class Store<T> implements Undoable {
    #private;
    /** False while the first list fills the store: until it is whole there is nothing to see. Readers heed it, the writer does not. */
    isVisible: boolean;
    constructor(maxObjects?: number, freezesResults?: boolean);
    /**
     * Objects that several readers will share. Frozen only where mistakes are looked for: to walk a frozen array takes ten
     * times as long.
     */
    handOut(objects: readonly T[]): readonly T[];
    get size(): number;
    /** One more than the greatest ordinal ever used. */
    get ordinalLimit(): number;
    ordinalOf(key: string): Ordinal | undefined;
    entryAt(ordinal: Ordinal): Entry<T> | undefined;
    entryOf(key: string): Entry<T> | undefined;
    keys(): string[];
    entries(): Entry<T>[];
    /** All objects: made once and handed out until something changes. */
    list(): readonly T[];
    /** Adds or replaces. Refuses the object that would make the store overflow. */
    set(entry: Entry<T>, at?: Ordinal | undefined): Ordinal;
    /** Replaces an entry by one that has the same object: only its version moved on, which no index sees. */
    touch(ordinal: Ordinal, entry: Entry<T>): void;
    delete(key: string): Entry<T> | undefined;
    clear(): void;
    /** An index that throws while it is filled is not added. */
    addIndex(index: StoreIndex<T>): void;
    begin(): void;
    end(): void;
    undo(): void;
    /** Throws if indexes cannot be read, after one more attempt to build them. */
    assertIndexed(): void;
    /** The store as it is now, kept readable while it changes. Costs nothing now, and a note for each of its keys that is written later. */
    pin(): Pin<T>;
    get pins(): number;
    /** How many more objects fit. */
    get room(): number;
    overflow(): SourceError;
}
/**
 * The store as it was at one moment. It keeps what is overwritten afterwards: by ordinal, so that a walk over the table
 * meets every object exactly once however long it takes, and by key. It keeps nothing of keys that came later, however many
 * come and go: what it holds is bounded by what there was.
 */
export declare class Pin<T> {
    #private;
    readonly size: number;
    constructor(store: Store<T>, close: (pin: Pin<T>) => void);
    /** Forgets what was kept; every later read throws. */
    close(): void;
    get isClosed(): boolean;
    /** One more than the greatest ordinal there was. */
    get ordinalLimit(): number;
    entryOf(key: string): Entry<T> | undefined;
    entryAt(ordinal: Ordinal): Entry<T> | undefined;
    entries(): Entry<T>[];
    list(): readonly T[];
    /** Whether the live entry at `ordinal` is the one of then. */
    isUnchanged(ordinal: Ordinal): boolean;
    /** What has been overwritten since, as it was. */
    overwritten(): Iterable<Pinned<T>>;
}
