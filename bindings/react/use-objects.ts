import { useState, useSyncExternalStore } from 'react'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Compound, Equal, IndexRange, Ordered } from '../../src/store/indexes/index-types.js'
import type { Scalar } from '../../src/store/indexes/scalar.js'
import { structuralEqual } from '../../src/store/structural-equal.js'
import { signalOf } from './signal-of.js'

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
  range?: IndexRange<NoInfer<V>> & { readonly prefix?: NoInfer<V> & string },
): readonly T[]
/** Returns the objects of a compound index. */
export function useObjects<T, V extends readonly Scalar[], const P extends Partial<NoInfer<V>> & readonly unknown[]>(
  index: Compound<T, V>,
  prefix: P,
  range?: IndexRange<NoInfer<V[P['length']]>>,
): readonly T[]
/** Returns the objects with this value in an index. */
export function useObjects<T, V extends Scalar>(index: Equal<T, V>, value: NoInfer<V>): readonly T[]
/** Returns all objects of an informer. */
export function useObjects<T>(informer: Informer<T, object>): readonly T[]
export function useObjects(...args: ReadArguments): readonly unknown[] {
  const [held, hold] = useState(() => objectsRead(args))
  let read = held
  if (!held.isOf(args)) {
    read = objectsRead(args)
    hold(read)
  }
  return useSyncExternalStore(read.listen, read.current, read.current)
}

type Objects = readonly unknown[]
type ReadIndex = (...args: never[]) => Objects

type ReadArguments = readonly [of: { list(): Objects } | ReadIndex, ...args: readonly unknown[]]

/** What one component reads: its result is the same array until its content differs. */
function objectsRead(args: ReadArguments) {
  const [of, ...own] = args
  const signal = signalOf('useObjects', of)
  /** The number of commits at the last read. */
  let readAt = -1
  let objects: Objects = []
  return {
    listen: signal.listen,
    isOf: ([other, ...others]: ReadArguments): boolean => other === of && structuralEqual(own, others),
    /** Returns the objects that readers of the store see now. */
    current(): Objects {
      const { commits } = signal
      if (readAt === commits) return objects
      const read: Objects = typeof of === 'function' ? Reflect.apply(of, undefined, own) : of.list()
      if (!hasSameMembers(objects, read)) objects = read
      readAt = commits
      return objects
    },
  }
}

function hasSameMembers(a: Objects, b: Objects): boolean {
  return a === b || (a.length === b.length && a.every((each, at) => Object.is(each, b[at])))
}
