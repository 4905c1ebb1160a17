import type { Entry } from '../../contract/source.js';
import type { Pin } from '../pin.js';
import type { Store } from '../store.js';
import type { StoreIndex } from '../store-index.js';
import type { IndexBuilder } from './index-types.js';
import { type Scalar } from './scalar.js';
/** The most index values that one object may have in one index. */
export declare const MAX_INDEX_VALUES = 10000;
/** An index as its owner holds it: what the store writes, what users call, and the same over a snapshot. */
export interface DeclaredIndex<T> {
    readonly name: string;
    readonly index: StoreIndex<T>;
    readonly accessor: unknown;
    accessorAt(pin: Pin<T>): unknown;
    /** Whether remembered index values include `value`, as `where: { name: value }` asks. */
    includes(remembered: unknown, value: unknown): boolean;
    /** What is wrong with `value` in `where: { name: value }`, if anything. */
    flawIn(value: unknown): string | undefined;
    /** The entries that have `value` now. */
    entriesWith(value: unknown): readonly Entry<T>[];
    /** The scalars under which an object is found by its remembered value; undefined where only `includes` can tell. */
    scalarsOf(remembered: unknown): readonly Scalar[] | undefined;
}
/**
 * Runs the user's declaration, and gives its indexes by name. They are part of the store from then on.
 * `report` is told of the first failure of each index.
 */
export declare function declareIndexes<T, I extends object>(store: Store<T>, declare: (ix: IndexBuilder<T>) => I, report: (message: string, cause: unknown, key: string) => void): {
    readonly by: I;
    readonly declared: DeclaredIndex<T>[];
};
