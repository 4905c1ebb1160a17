import type { Scalar } from './scalar.js';
/** What every index answers. All results are taken at the call: they do not change afterwards. */
export interface Index<T, V> {
    /** `[key, object]` pairs with this value. Their order is promised only if the index has one. */
    entries(value: V): IteratorObject<[key: string, object: T], undefined>;
    /** How many objects have this value. */
    count(value: V): number;
    /** Every value that some object has, once. */
    values(): Iterable<V>;
}
/**
 * `by.tenant('acme')`: all objects with this value, in no promised order. The array is shared between calls until something
 * changes; in development it is frozen.
 */
export interface Equal<T, V> extends Index<T, V> {
    (value: V): readonly T[];
}
/** A part of an order. Without bounds: all of it. */
export interface Range<V> {
    readonly gt?: V;
    readonly gte?: V;
    readonly lt?: V;
    readonly lte?: V;
    /** From the greatest down. Default false. */
    readonly reverse?: boolean;
    /** How many at most. Default: all. */
    readonly limit?: number;
}
/** `by.created({ gte: monday, limit: 10 })`: objects in the order of the index value, equal ones in the order of their keys. */
export interface Ordered<T, V> extends Index<T, V> {
    (range?: Range<V> & {
        readonly prefix?: V & string;
    }): readonly T[];
    /** The same as `[key, object]` pairs. */
    entriesIn(range?: Range<V>): IteratorObject<[key: string, object: T], undefined>;
}
/** `by.latest(['acme'], { reverse: true, limit: 20 })`: equality on the first components, a range on the next one. */
export interface Compound<T, V extends readonly Scalar[]> extends Index<T, V> {
    (prefix: Partial<V>, range?: Range<V[number]>): readonly T[];
}
/** The type of the values of an index. */
export type IndexValue<X> = X extends Index<unknown, infer V> ? V : never;
/**
 * Declares indexes, each typed where it stands. An index function runs once for each object as it comes in, and never
 * on an old one; `null` and `undefined` mean: not in this index. One that throws, or gives something that is no
 * scalar, leaves that object out of that index and is reported once.
 */
export interface IndexBuilder<T> {
    /** One value an object. */
    equal<V extends Scalar>(of: (object: T, key: string) => V | null | undefined): Equal<T, V>;
    /** Any number of values an object, up to 10 000; the same one twice counts once. */
    multi<V extends Scalar>(of: (object: T, key: string) => Iterable<V>): Equal<T, V>;
    /** One value an object, kept in order: range, prefix, reverse, limit. The order is built by the first question. */
    ordered<V extends Scalar>(of: (object: T, key: string) => V | null | undefined): Ordered<T, V>;
    /**
     * A tuple an object, kept in order: equality on the first components, a range on the next. A tuple with `null` or
     * `undefined` in it leaves the object out, as no tuple does.
     */
    compound<const V extends readonly (Scalar | null | undefined)[]>(of: (object: T, key: string) => V | null | undefined): Compound<T, {
        [K in keyof V]: NonNullable<V[K]>;
    }>;
}
