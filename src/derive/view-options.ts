import type { Informer } from '../informer/informer-types.js'
import type { Index, IndexBuilder } from '../store/indexes/index-types.js'

/**
 * The options that all views have in common. `R`: the results; `I`: their indexes.
 *
 * @example
 * ```ts
 * import { derive, type ViewOptions } from 'listwatch'
 *
 * const common: ViewOptions<{ readonly id: string }, {}> = { reads: [pods], onInvalid: 'omit' }
 * const paid = derive({ from: orders, each: (order, id) => (order.paid ? { id } : undefined), ...common })
 * ```
 */
export interface ViewOptions<R, I extends object> {
  /** The name of the view in metrics, logs and `inspect()`. Default: the name of what it is derived from. */
  readonly name?: string
  /** The informers that `each` reads, views too. To read another one throws a TypeError. Default: none. */
  readonly reads?: readonly Informer<unknown, unknown>[]
  /** Returns whether two results are equal: then no change is delivered. Default: a comparison of their content. */
  readonly equals?: (a: R, b: R) => boolean
  /** Whether the last result stays in the view when `each` throws. Default: `keep-previous`. */
  readonly onInvalid?: 'omit' | 'keep-previous'
  /** Declares the indexes of the results, which are then members of `view.by`. Default: no indexes. */
  readonly indexes?: (ix: IndexBuilder<R>) => I
  /**
   * Calls `each` again for every result about once in `periodMs` milliseconds (default: 5 minutes), in small parts. A
   * result that differs is corrected, and reported as a `PROTOCOL` error: `each` is not pure. `false` turns audits off.
   */
  readonly audit?: false | { readonly periodMs?: number }
}

/**
 * The options of `derive`.
 *
 * @example
 * ```ts
 * import type { DeriveOptions } from 'listwatch'
 *
 * const options: DeriveOptions<Order, { readonly total: number }, {}> = {
 *   from: orders,
 *   each: (order) => (order.paid ? { total: order.total } : undefined),
 * }
 * ```
 */
export interface DeriveOptions<T, R, I extends object> extends ViewOptions<R, I> {
  /** The informer that has the objects. Choose the one that changes most. */
  readonly from: Informer<T, unknown>
  /** Returns the result for an object; `undefined`: none. It must be synchronous, and depend only on what it reads. */
  readonly each: (object: T, key: string) => R | undefined
}

/**
 * The options of `deriveMany`.
 *
 * @example
 * ```ts
 * import type { DeriveManyOptions } from 'listwatch'
 *
 * const options: DeriveManyOptions<Order, { readonly tag: string }, {}> = {
 *   from: orders,
 *   each: (order) => order.tags.map((tag) => [tag, { tag }] as const),
 * }
 * ```
 */
export interface DeriveManyOptions<T, R, I extends object> extends ViewOptions<R, I> {
  /** The informer that has the objects. Default: `each` is called once for the whole view. */
  readonly from?: Informer<T, unknown>
  /** Returns pairs of a name and a result. A name twice makes the key of the object invalid. */
  readonly each: (object: T, key: string) => Iterable<readonly [name: string, result: R]>
}

/**
 * The options of `groupBy`. `T`: the objects; `V`: the values of the index; `S`: the names of the sums.
 *
 * @example
 * ```ts
 * import type { GroupByOptions } from 'listwatch'
 *
 * const options: GroupByOptions<Order, string, { readonly total: number }, {}, 'total'> = {
 *   index: orders.by.tenant,
 *   sums: { total: (order) => order.total },
 *   each: (_tenant, { count, total }) => (count > 1 ? { total } : undefined),
 * }
 * ```
 */
export interface GroupByOptions<T, V, R, I extends object, S extends string = never> extends ViewOptions<R, I> {
  /** The index whose values are the groups. `each` may read its informer. */
  readonly index: Index<unknown, NoInfer<V>> & Pick<Index<unknown, V>, 'values'> & Pick<Index<T, NoInfer<V>>, 'entries'>
  /**
   * Numbers to add up in each group, by name; `null` and `undefined` count as 0. A change of an object changes the sums of
   * its groups without a pass over them. A sum is exact, and rounded once, so it does not depend on the order of changes.
   * A number that is not finite, or a throw, makes the key of the group invalid. Default: no sums.
   */
  readonly sums?: { readonly [K in S]: (object: T) => number | null | undefined }
  /** Returns the result for a value; `undefined`: none. `count` is the number of objects with this value. */
  readonly each: (value: V, group: { readonly count: number } & { readonly [K in S]: number }) => R | undefined
}
