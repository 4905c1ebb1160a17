import type { Entry } from '../contract/source.js'
import type { Version } from '../contract/version.js'

/**
 * Reads of a store. Each result is taken at the call, from a state that the source had: no read returns a part of a
 * list, or of a batch.
 *
 * @example
 * ```ts
 * import type { StoreView } from 'listwatch'
 *
 * function totalOf(view: StoreView<Order>): number {
 *   return view.list().reduce((sum, { total }) => sum + total, 0)
 * }
 * using snapshot = orders.snapshot() // Later writes do not change it. An informer fits too.
 * console.log(totalOf(snapshot), 'at version', snapshot.version)
 * ```
 */
export interface StoreView<T, I = {}> {
  /** Returns the object with this key. Keys are strings: a number finds nothing, without an error. */
  get(key: string): T | undefined
  /** Returns whether there is an object with this key. */
  has(key: string): boolean
  /** The number of objects. */
  readonly size: number
  /** The version of the source at which it had this state. Undefined before the first list, and for several sources. */
  readonly version: Version | undefined
  /** Returns the object with its version and uid, as the source sent them. */
  entry(key: string): Entry<T> | undefined
  /** Returns all keys, like `Map.keys`, in no promised order. */
  keys(): IteratorObject<string, undefined>
  /** Returns `[key, object]` pairs, like `Map.entries`, in no promised order. */
  entries(): IteratorObject<[key: string, object: T], undefined>
  /** Returns all objects. Calls share the array until an object changes. It is frozen in development. */
  list(): readonly T[]
  /** The declared indexes by name. */
  readonly by: I
}
