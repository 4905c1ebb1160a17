import type { Entry } from '../../contract/source.js'
import type { Steps } from '../../util/steps.js'
import type { CapturedIndex, Layer, Ordinal } from '../ordinals.js'
import type { OrdinalTuple } from './moves.js'
import type { Span } from './order/sorted-tuples.js'
import type { Scalar } from './scalar.js'

/** An index that a store writes. Each call comes before the store changes the entry itself. */
export interface StoreIndex<T> {
  /** Adds the entry at `ordinal`, or replaces it. */
  set(ordinal: Ordinal, entry: Entry<T>): void
  delete(ordinal: Ordinal): void
  /** Returns the current index value of the entry at `ordinal`. */
  valueAt(ordinal: Ordinal): unknown
  /** Returns the index value of an entry, as the user's function returns it now. */
  valueFor?(entry: Entry<T>): unknown
  /**
   * Returns the current values of all ordinals, which later writes do not change. Without it the index is not saved.
   * Undefined if the index has a base.
   */
  capture?(): CapturedIndex | undefined
  /**
   * From now on the entries of packed content are in the index, too, at ordinals below 0. Without an argument they are
   * not any more. Pins are not affected.
   */
  setBase?(base?: HashBase<T> | OrderBase): void
  clear(): void
  /** The number of different values, if it is known without a scan. */
  readonly valueCount?: number | undefined
  /** Returns each value with the number of its objects; undefined if the index is not sorted yet. For inspection. */
  buckets?(): Iterable<readonly [value: unknown, count: number]> | undefined
  /** Moves what the index has recorded for the pins of a closed layer to the next older one. */
  merge?(closed: Layer, older: Layer): void
  /**
   * Does the work that the first read would do, in steps of about 1 ms: one for each `next()`. Reads and writes are
   * allowed between the steps. After the last one a read does no such work.
   */
  prepare?(): Steps
}

/** The values of packed entries in an equal or multi-value index. */
export interface HashBase<T> {
  readonly kind: 'hash'
  /** Returns the ordinals with a value; with `layer`: those that had it when the pins of that were created. */
  ordinalsWith(value: Scalar, layer?: Layer): readonly Ordinal[]
  /** Returns each value that an entry has. */
  values(layer?: Layer): Iterable<Scalar>
  /** Returns the array of a value that readers share until an object changes, or makes it. */
  shared(value: Scalar, make: () => readonly T[]): readonly T[]
}

/** The tuples of packed entries in an ordered or compound index. */
export interface OrderBase {
  readonly kind: 'sorted'
  /**
   * Returns the first elements of a span in order: those of the base, merged with others. With `layer`, the elements at
   * the creation of its pins. The keys of the elements of the base are not returned.
   */
  merged(
    others: Iterable<OrdinalTuple>,
    of: { readonly span: Span; readonly reverse: boolean; readonly limit: number },
    layer?: Layer,
  ): Iterable<OrdinalTuple>
  /** The number of elements of the base in a span. */
  count(span: Span): number
}
