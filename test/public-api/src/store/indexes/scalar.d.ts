/** What an index value can be. Dates match by value; a number and a bigint of one value are the same. */
export type Scalar = string | number | bigint | boolean | Date;
export declare function isScalar(value: unknown): value is Scalar;
/** An own copy: Dates are mutable, and the caller may change its instance. */
export declare function copyScalar<V extends Scalar>(value: V): V;
/** The same equality as that of `compareScalars`. */
export declare function sameScalar(a: Scalar | undefined, b: Scalar | undefined): boolean;
/**
 * A total order over all scalars: booleans, then numbers and bigints by value (NaN first), then Dates, then strings by
 * code unit. Negative, 0 or positive.
 */
export declare function compareScalars(a: Scalar, b: Scalar): number;
/** A Map keyed by scalars, in which those that are the same are one key. */
export declare class ScalarMap<V> {
    #private;
    /** Nothing for null and undefined, which are no scalars. */
    get(key: Scalar): V | undefined;
    set(key: Scalar, value: V): void;
    delete(key: Scalar): void;
    clear(): void;
    get size(): number;
    values(): Iterable<V>;
}
