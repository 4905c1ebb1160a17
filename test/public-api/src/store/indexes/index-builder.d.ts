import type { Ordinal } from '../ordinals.js';
import type { Pin } from '../pin.js';
import type { Store } from '../store.js';
import type { StoreIndex } from '../store-index.js';
import type { IndexBuilder } from './index-types.js';
import { type Scalar } from './scalar.js';
/** The limit of index values that one object may have in one index. */
export declare const MAX_INDEX_VALUES = 10000;
/** An index with its name, and its public functions over the store and over a pin. */
export interface DeclaredIndex<T> {
    readonly name: string;
    /** The kind of the index, and the text of its function. Saved values of another signature are not used. */
    readonly signature: string;
    readonly index: StoreIndex<T>;
    readonly accessor: unknown;
    accessorAt(pin: Pin<T>): unknown;
    /** Whether remembered index values match `value` of `where: { name: value }`. */
    includes(remembered: unknown, value: unknown): boolean;
    /** Returns the flaw of `value` in `where: { name: value }`, or undefined if it is valid. */
    flawIn(value: unknown): string | undefined;
    /** Returns the ordinals with `value` in the state that readers see. */
    ordinalsWith(value: unknown): readonly Ordinal[];
    /** Returns the scalars of a remembered value; undefined if the index can only be matched with `includes`. */
    scalarsOf(remembered: unknown): readonly Scalar[] | undefined;
}
/**
 * Calls the user's declaration, and returns its indexes by name. `report` is called with the
 * first failure of each index.
 *
 * @throws TypeError when the declaration does not return an object of indexes.
 */
export declare function declareIndexes<T, I extends object>(store: Store<T>, declare: (ix: IndexBuilder<T>) => I, report: (message: string, cause: unknown, key: string) => void): {
    readonly by: I;
    readonly declared: DeclaredIndex<T>[];
};
