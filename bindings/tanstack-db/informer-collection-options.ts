import type { Version } from '../../src/contract/version.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { ChangeStream, Scope } from '../../src/subscriptions/subscription-types.js'
import type { VersionWait } from '../../src/subscriptions/version-waiters.js'
import { checkOptions, isFunction, isName, isObject } from '../../src/util/validate-options.js'
import { type CollectionSync, fillCollection } from './collection-filling.js'

/**
 * The options of `informerCollectionOptions`.
 *
 * @example
 * ```ts
 * import { createCollection } from '@tanstack/db'
 * import { informerCollectionOptions } from 'listwatch/tanstack-db'
 *
 * const options = informerCollectionOptions({
 *   informer: orders,
 *   id: 'orders of acme', // Default: the name of the informer.
 *   where: { tenant: 'acme' }, // Default: all objects.
 *   getKey: ({ id }) => id, // Needed for `insert` and `update`.
 * })
 * const collection = createCollection(options)
 * ```
 */
export interface InformerCollectionOptions<T extends object, I extends object = {}> {
  /** The informer that fills the collection. The collection neither starts nor stops it. */
  readonly informer: Informer<T, I>
  /** The id of the collection. Default: the name of the informer. */
  readonly id?: string
  /** Only objects that have these values in these indexes. Default: all objects. */
  readonly where?: Scope<T, I>['where']
  /**
   * Returns the key of an object, which must be the key that the informer has for it. Needed for writes by `insert` and
   * `update` of the collection. Default: the key of the informer, which only the objects of the informer have.
   */
  readonly getKey?: (object: T) => string
}

/**
 * The result of `informerCollectionOptions`: an argument of `createCollection`, to which other options can be added.
 *
 * @example
 * ```ts
 * import { createCollection } from '@tanstack/db'
 * import { informerCollectionOptions } from 'listwatch/tanstack-db'
 *
 * declare function save(order: Order): Promise<string>
 * const options = informerCollectionOptions({ informer: orders, getKey: ({ id }) => id })
 * const collection = createCollection({
 *   ...options,
 *   onUpdate: async ({ transaction }) => {
 *     for (const { modified } of transaction.mutations) await options.utils.waitFor(await save(modified))
 *   },
 * })
 * ```
 */
export interface InformerCollectionConfig<T extends object> {
  /** The id of the collection. */
  readonly id: string
  /** Returns the key of an object. */
  readonly getKey: (object: T) => string
  /** Fills the collection while it has subscribers. */
  readonly sync: {
    /** Objects are replaced as a whole. */
    readonly rowUpdateMode: 'full'
    /** Starts to fill the collection, and returns a function that ends it. */
    readonly sync: (collection: CollectionSync<T>) => () => void
  }
  /** Additional functions of the collection: `collection.utils`. */
  readonly utils: {
    /**
     * Resolves when the collection includes `version`, for example the mark of a write. A handler such as `onUpdate`
     * awaits it, so that its optimistic state is replaced by that of the source without a gap. While the
     * collection is not used, it resolves when the informer includes `version`.
     *
     * @throws SourceError as `waitFor` of an informer does.
     */
    readonly waitFor: (version: Version, wait?: VersionWait) => Promise<void>
  }
}

/**
 * Returns options for `createCollection` of TanStack DB: the collection has the objects of an informer. Each batch is
 * one transaction of the collection, and so is the initial content. After a relist only the differences are written.
 * The rows are the objects of the informer, not copies.
 *
 * The collection is `ready` once it has the objects of the first list. It is in the status `error` while the informer
 * fails before that, and after the informer was stopped. Later failures of the source keep it `ready`.
 *
 * The collection is read-only. To write, set `getKey`, and add handlers such as `onUpdate` that write to your backend.
 *
 * @returns The options, to which handlers such as `onUpdate` can be added.
 * @throws OptionError for an unknown or a wrong option.
 *
 * @example
 * ```ts
 * import { createCollection } from '@tanstack/db'
 * import { informerCollectionOptions } from 'listwatch/tanstack-db'
 *
 * const ordersOfAcme = createCollection(informerCollectionOptions({ informer: orders, where: { tenant: 'acme' } }))
 * await ordersOfAcme.preload()
 * ```
 */
export function informerCollectionOptions<T extends object, I extends object = {}>(
  options: InformerCollectionOptions<T, I>,
): InformerCollectionConfig<T> {
  checkOptions('informerCollectionOptions', options, {
    informer: isObject,
    id: isName,
    where: isObject,
    getKey: isFunction,
  })
  const { informer, where, id = informer.name } = options
  const keys = new WeakMap<object, string>()
  const keyOf = (object: T): string => {
    const key = keys.get(object)
    if (key === undefined)
      throw new TypeError(`collection ${id}: getKey: the object is not of the informer; use the option getKey`)
    return key
  }
  let stream: ChangeStream<T> | undefined
  const sync = (collection: CollectionSync<T>): (() => void) => {
    const filling = fillCollection<T>(informer, where ?? {}, collection, keys)
    stream = filling.stream
    return () => {
      filling.end()
      if (stream === filling.stream) stream = undefined
    }
  }
  const waitFor = async (version: Version, wait?: VersionWait): Promise<void> => {
    const used = stream
    try {
      await (used ?? informer).waitFor(version, wait)
    } catch (error) {
      if (used === undefined || used === stream) throw error
      await waitFor(version, wait) // A cleanup has ended the wait, and not the write.
    }
  }
  return {
    id,
    getKey: options.getKey ?? keyOf,
    sync: { rowUpdateMode: 'full', sync },
    utils: { waitFor },
  }
}
