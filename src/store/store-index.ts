import type { Entry } from '../contract/source.js'

/** A small integer that identifies a present key. It is used again after its key is deleted. */
export type Ordinal = number

/** An index that a store writes. Each call comes before the store changes the entry itself. */
export interface StoreIndex<T> {
  /** Adds the entry at `ordinal`, or replaces it. */
  set(ordinal: Ordinal, entry: Entry<T>): void
  delete(ordinal: Ordinal): void
  /** Returns the current index value of the entry at `ordinal`. */
  valueAt(ordinal: Ordinal): unknown
  clear(): void
  /**
   * Does the work that the first read would do, in steps of about 1 ms: one for each `next()`. Reads and writes are
   * allowed between the steps. After the last one a read does no such work.
   */
  prepare?(): Iterator<void>
}
