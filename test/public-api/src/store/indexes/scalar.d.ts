/**
 * A possible index value. Dates are compared by value. A number and a bigint of the same value are equal.
 *
 * @example
 * ```ts
 * import type { Equal, IndexBuilder, Scalar } from 'listwatch'
 *
 * type Row = Readonly<Record<string, Scalar | null>>
 * // Indexes a column that is known only at run time.
 * function byColumn(ix: IndexBuilder<Row>, column: string): { readonly column: Equal<Row, Scalar> } {
 *   return { column: ix.equal((row) => row[column]) }
 * }
 * ```
 */
export type Scalar = string | number | bigint | boolean | Date;
export declare function isScalar(value: unknown): value is Scalar;
export declare function isScalars(value: unknown): value is readonly Scalar[];
/** Copies a Date, which is mutable. Returns all other scalars as they are. */
export declare function copyScalar<V extends Scalar>(value: V): V;
/** Returns whether `compareScalars` returns 0. */
export declare function sameScalar(a: Scalar | undefined, b: Scalar | undefined): boolean;
/**
 * Compares two scalars. The total order is: booleans, numbers and bigints by value (NaN first), Dates, strings by code
 * unit. Returns a negative number, 0 or a positive number.
 */
export declare function compareScalars(a: Scalar, b: Scalar): number;
/** The type of a wrong value, in an error. */
export declare function typeOf(value: unknown): string;
/** A Map keyed by scalars, in which equal scalars are one key. */
export declare class ScalarMap<V> {
    #private;
    /** `nameOf` returns the name of the index in errors. */
    constructor(nameOf?: () => string);
    /** Returns undefined also for null and undefined, which callers without types may pass. */
    get(key: Scalar): V | undefined;
    set(key: Scalar, value: V): void;
    delete(key: Scalar): void;
    clear(): void;
    get size(): number;
    values(): Iterable<V>;
}
