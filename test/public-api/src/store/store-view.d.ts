import type { Entry } from '../contract/source.js';
import type { Version } from '../contract/version.js';
import type { DeclaredIndex } from './indexes/index-builder.js';
import { type Pin } from './store.js';
/**
 * What can be asked of a store. Every answer is taken at the call from a state that the source had: no read sees part of
 * a list, nor part of a batch.
 */
export interface StoreView<T, I = {}> {
    get(key: string): T | undefined;
    has(key: string): boolean;
    readonly size: number;
    /** Where the source was when it looked like this; undefined before the first list, and over several sources. */
    readonly version: Version | undefined;
    /** The object with its version and uid, as the source gave them. */
    entry(key: string): Entry<T> | undefined;
    /** All keys, as `Map.keys` returns them. */
    keys(): IteratorObject<string, undefined>;
    /** `[key, object]` pairs, as `Map.entries` returns them. */
    entries(): IteratorObject<[key: string, object: T], undefined>;
    /** All objects. The array is shared between calls until something changes; in development it is frozen. */
    list(): readonly T[];
    /** The declared indexes by their names. */
    readonly by: I;
}
/** A store at one moment; it stays as it is until it is disposed, and costs a note for each key written meanwhile. */
export declare class Snapshot<T, I> implements StoreView<T, I>, Disposable {
    #private;
    readonly version: Version | undefined;
    readonly by: I;
    constructor(pin: Pin<T>, version: Version | undefined, declared: Iterable<DeclaredIndex<T>>);
    get size(): number;
    get(key: string): T | undefined;
    has(key: string): boolean;
    entry(key: string): Entry<T> | undefined;
    keys(): IteratorObject<string, undefined>;
    entries(): IteratorObject<[key: string, object: T], undefined>;
    list(): readonly T[];
    [Symbol.dispose](): void;
}
