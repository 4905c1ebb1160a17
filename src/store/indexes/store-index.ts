import type { Entry } from '../../contract/source.js'
import type { Steps } from '../../util/steps.js'
import type { CapturedIndex, Layer, Ordinal } from '../ordinals.js'
import type { OrdinalTuple } from './moves.js'
import type { Span } from './order/sorted-tuples.js'
import type { Scalar } from './scalar.js'

/** An index that a store writes. Each call comes before the store changes the entry itself. */
export interface StoreIndex<T> {
  set(ordinal: Ordinal, entry: Entry<T>): void
  delete(ordinal: Ordinal): void
  valueAt(ordinal: Ordinal): unknown
  /** Returns the index value of an entry, as the user's function returns it now. */
  valueFor?(entry: Entry<T>): unknown
  /** Later writes do not change the result. Undefined if the index has a base. Without it the index is not saved. */
  capture?(): CapturedIndex | undefined
  /** From now on packed entries are in the index, too; without an argument no longer. Pins are not affected. */
  setBase?(base?: HashBase<T> | OrderBase): void
  clear(): void
  /** The number of different values, if it is known without a scan. */
  readonly valueCount?: number | undefined
  /** Returns each value with the number of its objects; undefined if the index is not sorted yet. For inspection. */
  buckets?(): Iterable<readonly [value: unknown, count: number]> | undefined
  /** Moves what the index has recorded for the pins of a closed layer to the next older one. */
  merge?(closed: Layer, older: Layer): void
  /** Does the work of the first read in steps of about 1 ms. Reads and writes are allowed between the steps. */
  prepare?(): Steps
}

export interface HashBase<T> {
  readonly kind: 'hash'
  /** Returns the ordinals with a value; with `layer`: those that had it when the pins of that were created. */
  ordinalsWith(value: Scalar, layer?: Layer): readonly Ordinal[]
  values(layer?: Layer): Iterable<Scalar>
  /** Returns the array of a value that readers share until an object changes, or makes it. */
  shared(value: Scalar, make: () => readonly T[]): readonly T[]
}

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
  count(span: Span): number
}
