import type { Entry } from '../contract/source.js'
import type { Steps } from '../util/steps.js'
import type { CapturedIndex, Layer, Ordinal } from './ordinals.js'
import type { KeptBase } from './packed/kept-base.js'
import type { PackedIndex } from './packed/packed-snapshot.js'

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
   * From now on the entries of packed content are in the index, too, with these values: at ordinals below 0. Without
   * arguments they are not any more. Pins are not affected.
   */
  setBase?(packed?: PackedIndex, base?: KeptBase<T>): void
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
