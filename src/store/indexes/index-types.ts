import type { Scalar } from './scalar.js'

/**
 * The reads of every index. A result is taken at the call, and does not change afterwards.
 *
 * @example
 * ```ts
 * import type { Index } from 'listwatch'
 *
 * function histogram<V>(index: Index<unknown, V>): ReadonlyMap<V, number> {
 *   return new Map(Array.from(index.values(), (value) => [value, index.count(value)] as const))
 * }
 * console.log(histogram(orders.by.tenant).get('acme'), histogram(orders.by.tag).size)
 * ```
 */
export interface Index<T, V> {
  /** Returns `[key, object]` pairs with this value. The order is promised only for ordered and compound indexes. */
  entries(value: V): IteratorObject<[key: string, object: T], undefined>
  /** Returns the number of objects with this value. */
  count(value: V): number
  /** Returns each value that an object has, once. */
  values(): Iterable<V>
}

/**
 * An index by equality. `by.tenant('acme')` returns all objects with this value, in no promised order. Calls share the
 * array until an object changes. It is frozen in development.
 *
 * @example
 * ```ts
 * const total = orders.by.tenant('acme').reduce((sum, order) => sum + order.total, 0)
 * for (const [key, order] of orders.by.tag.entries('urgent')) console.log(key, order.status)
 * ```
 */
export interface Equal<T, V> extends Index<T, V> {
  (value: V): readonly T[]
}

/**
 * The bounds of a read in order. Default: no bounds. The order is: booleans, -Infinity, numbers and bigints, Dates,
 * Infinity, NaN, strings by code unit. So `infinity` of Postgres is later than every Date.
 *
 * @example
 * ```ts
 * import type { IndexRange } from 'listwatch'
 *
 * function largest(bounds: IndexRange<number>): readonly Order[] {
 *   return orders.by.total({ ...bounds, reverse: true, limit: 50 })
 * }
 * const below = largest({ lt: 100 })
 * ```
 */
export interface IndexRange<V> {
  /** Only values above this one. */
  readonly gt?: V
  /** Only this value and values above it. */
  readonly gte?: V
  /** Only values below this one. */
  readonly lt?: V
  /** Only this value and values below it. */
  readonly lte?: V
  /** Descending order. Default: false. */
  readonly reverse?: boolean
  /** The maximum number of results. Default: all. */
  readonly limit?: number
}

/**
 * An index in the order of its values; objects with equal values are in the order of their keys.
 * `by.created({ gte: monday, limit: 10 })` returns the first ten objects since Monday. With `prefix`, it returns only
 * strings that start with it.
 *
 * @throws TypeError when an option is unknown or has a wrong type. A bound has the type of one of the values.
 *
 * @example
 * ```ts
 * const largest = orders.by.total({ reverse: true, limit: 10 })
 * for (const [key, { total }] of orders.by.total.entriesIn({ gt: 0, lte: 5 })) console.log(key, total)
 * ```
 */
export interface Ordered<T, V> extends Index<T, V> {
  (range?: IndexRange<V> & { readonly prefix?: V & string }): readonly T[]
  /** Returns the range as `[key, object]` pairs. */
  entriesIn(range?: IndexRange<V>): IteratorObject<[key: string, object: T], undefined>
}

/**
 * An index in the order of a tuple: equality on the first components, a range on the next one.
 * `by.latest(['acme'], { reverse: true, limit: 20 })` returns the last twenty objects of one tenant.
 *
 * @throws TypeError when the prefix is not an array of scalars, or an option is unknown or has a wrong type. A bound has
 * the type of one of the values of its component.
 *
 * @example
 * ```ts
 * const [latest] = orders.by.latest(['acme'], { reverse: true, limit: 1 })
 * const ofJanuary = orders.by.latest(['acme'], { gte: new Date('2026-01-01'), lt: new Date('2026-02-01') })
 * ```
 */
export interface Compound<T, V extends readonly Scalar[]> extends Index<T, V> {
  <const P extends Partial<V> & readonly unknown[]>(prefix: P, range?: IndexRange<V[P['length']]>): readonly T[]
  /** Returns `[key, object]` pairs of the objects whose tuple begins with this prefix, in order. */
  entries(prefix: Partial<V>): IteratorObject<[key: string, object: T], undefined>
  /** Returns the number of objects whose tuple begins with this prefix. */
  count(prefix: Partial<V>): number
}

/**
 * Declares indexes. An index function is called once for each object that arrives, and never for an old one. If it
 * returns `null` or `undefined`, the object is not in the index. If it throws, or returns a value that is not a scalar,
 * the object is not in that index; the first such error of each index is reported with code DECODE.
 *
 * @throws TypeError when the argument is not a function.
 *
 * @example
 * ```ts
 * const informer = createInformer({
 *   source,
 *   indexes: (ix) => ({
 *     region: ix.equal((order: Order) => order.region), // `null`: the object is not in the index.
 *     tag: ix.multi((order: Order) => order.tags),
 *     total: ix.ordered((order: Order) => order.total),
 *     latest: ix.compound((order: Order) => [order.tenant, order.created_at]),
 *   }),
 * })
 * ```
 */
export interface IndexBuilder<T> {
  /** At most one value for each object, for lookups by equality. */
  equal<V extends Scalar>(of: (object: T, key: string) => V | null | undefined): Equal<T, V>
  /** Up to 10 000 values for each object, for lookups by equality. Duplicates count once. */
  multi<V extends Scalar>(of: (object: T, key: string) => Iterable<V>): Equal<T, V>
  /** At most one value for each object, for ranges and prefixes. The objects are sorted at the first read. */
  ordered<V extends Scalar>(of: (object: T, key: string) => V | null | undefined): Ordered<T, V>
  /**
   * At most one tuple for each object: equality on the first components, a range on the next. An object whose tuple
   * contains `null` or `undefined` is not in the index.
   */
  compound<const V extends readonly (Scalar | null | undefined)[]>(
    of: (object: T, key: string) => V | null | undefined,
  ): Compound<T, { [K in keyof V]: NonNullable<V[K]> }>
}
