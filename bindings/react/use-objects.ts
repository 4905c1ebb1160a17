import { useState, useSyncExternalStore } from 'react'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Compound, Equal, Ordered, Range } from '../../src/store/indexes/index-types.js'
import type { Scalar } from '../../src/store/indexes/scalar.js'
import { ObjectsRead, type ReadArguments } from './objects-read.js'

/**
 * Returns the objects that the index returns for these arguments, or all objects of an informer. The result is the same
 * array until one of its objects changes, is added or is deleted, and only then the component renders again. Arguments
 * are compared by content, so they may be literals. After `stop`, and while the source fails, it has the last objects.
 *
 * A change of the store costs one read of the index. An equal index returns the array that it has already, if none of
 * its objects changed. A range of an ordered or a compound index is read again, so it should have a `limit`.
 *
 * @returns The objects, as the same array until one of them changes.
 * @throws TypeError if the first argument is not an informer that `createInformer` returned, or an index of one.
 *
 * @example
 * ```ts
 * import { useObjects } from 'listwatch/react'
 *
 * function OpenTotal({ tenant }: { tenant: string }): string {
 *   const ofTenant = useObjects(orders.by.tenant, tenant)
 *   return `${ofTenant.reduce((sum, order) => sum + order.total, 0)} EUR`
 * }
 * ```
 */
export function useObjects<T, V extends Scalar>(
  index: Ordered<T, V>,
  range?: Range<NoInfer<V>> & { readonly prefix?: NoInfer<V> & string },
): readonly T[]
/** Returns the objects of a compound index. */
export function useObjects<T, V extends readonly Scalar[], const P extends Partial<NoInfer<V>> & readonly unknown[]>(
  index: Compound<T, V>,
  prefix: P,
  range?: Range<NoInfer<V[P['length']]>>,
): readonly T[]
/** Returns the objects with this value in an index. */
export function useObjects<T, V extends Scalar>(index: Equal<T, V>, value: NoInfer<V>): readonly T[]
/** Returns all objects of an informer. */
export function useObjects<T>(informer: Informer<T, object>): readonly T[]
export function useObjects(...args: ReadArguments): readonly unknown[] {
  const [held, hold] = useState(() => new ObjectsRead(args))
  let read = held
  if (!held.isOf(args)) {
    read = new ObjectsRead(args)
    hold(read)
  }
  return useSyncExternalStore(read.listen, read.current, read.current)
}
