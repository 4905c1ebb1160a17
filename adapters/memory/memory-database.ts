import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { SplitHistory } from '../../src/contract/split-source.js'
import type { Version } from '../../src/contract/version.js'
import { checkOptions, isCount, isDelayOrInfinity, isName, isPositive } from '../../src/util/validate-options.js'
import { assertNewCollection, collectionOf, placeOf } from '../common/database-collections.js'
import { memorySource } from './memory-source.js'

/**
 * The writes of one transaction of `memoryDatabase`.
 *
 * @example
 * ```ts
 * import { memoryDatabase, type MemoryTransaction } from 'listwatch/memory'
 *
 * const shop = memoryDatabase()
 * const [open, archived] = [shop.collection<Order>('open'), shop.collection<Order>('archived')]
 * function archive(tx: MemoryTransaction, id: string, order: Order): void {
 *   tx.delete(open, id)
 *   tx.put(archived, id, order)
 * }
 * ```
 */
export interface MemoryTransaction {
  /** Adds or replaces an object of a collection. */
  put<T>(collection: ListerWatcher<T>, key: string, object: T): void
  /** Deletes an object of a collection, if it exists. */
  delete(collection: ListerWatcher<unknown>, key: string): void
}

/**
 * Options of `memoryDatabase`.
 *
 * @example
 * ```ts
 * import { memoryDatabase } from 'listwatch/memory'
 *
 * const shop = memoryDatabase({ name: 'shop', holdMs: 5_000 })
 * ```
 */
export interface MemoryDatabaseOptions {
  /** The name in logs and errors. Default "memory". */
  readonly name?: string
  /** The time between two bookmarks of a silent watch, in milliseconds. Default 10 000. */
  readonly heartbeatMs?: number
  /** The number of transactions in the history. A watch that is further behind expires. Default 100 000. */
  readonly history?: number
  /**
   * If a collection has to be listed again, the others stay at the last common version for at most this time, in
   * milliseconds. `Infinity` has no limit. Default 30 000.
   */
  readonly holdMs?: number
}

/**
 * Collections in memory with one history. Informers over them show one version, and change in one step.
 *
 * @example
 * ```ts
 * import { memoryDatabase } from 'listwatch/memory'
 *
 * const shop = memoryDatabase()
 * const [orders, limits] = [shop.collection<Order>('orders'), shop.collection<Limit>('limits')]
 * const informer = createInformer({ source: orders })
 * const version = shop.commit((tx) => tx.put(limits, 'acme', { tenant: 'acme', rps: 5, burst: 10 }))
 * await informer.start().waitFor(version) // Each takes the version of any collection.
 * ```
 */
export interface MemoryDatabase {
  /**
   * Adds a collection. Its first objects are one transaction.
   * @throws OptionError if there is a collection of this name, or the name has a "/".
   */
  collection<T>(name: string, entries?: Iterable<readonly [string, T]>): ListerWatcher<T>
  /** Applies the writes of `fn` as one transaction. Returns its version. If `fn` throws, nothing is written. */
  commit(fn: (tx: MemoryTransaction) => void): Version
  /** Replaces the objects of all collections by the writes of `fn`, and starts a new epoch. Returns its version. */
  restore(fn: (tx: MemoryTransaction) => void): Version
  /** Removes the history: a watch from an earlier version fails with `VERSION_EXPIRED`. */
  compact(): void
  /** Every open list and watch fails with `UNAVAILABLE`; the next ones work. */
  disconnect(): void
  /** Every open list and watch becomes silent; the next ones work. */
  stall(): void
  /** Makes the next `times` lists and watches (default 1) fail with `error`. */
  fail(error: SourceError, times?: number): void
}

/**
 * Returns collections in memory that change in one transaction. It is the reference implementation of `SharedHistory`,
 * and a fake for tests.
 * @returns The database, whose collections are sources.
 * @throws OptionError that names a wrong option.
 *
 * @example
 * ```ts
 * import { memoryDatabase } from 'listwatch/memory'
 *
 * const shop = memoryDatabase()
 * const limits = shop.collection<Limit>('limits', [['acme', { tenant: 'acme', rps: 5, burst: 10 }]])
 * ```
 */
export function memoryDatabase(options: MemoryDatabaseOptions = {}): MemoryDatabase {
  checkOptions('memoryDatabase', options, {
    name: isName,
    heartbeatMs: isPositive,
    history: isCount,
    holdMs: isDelayOrInfinity,
  })
  const { holdMs, ...rest } = options
  const source = memorySource<unknown>(rest)
  const history = new SplitHistory(source, placeOf, holdMs)
  const names = new Set<string>()
  const keyOf = (collection: ListerWatcher<unknown>, key: string): string =>
    `${collectionOf(history, collection)}/${key}`
  return {
    collection: <T>(name: string, entries: Iterable<readonly [string, T]> = []) => {
      assertNewCollection(name, names)
      names.add(name)
      const first = [...entries]
      if (first.length > 0)
        source.transaction((tx) => {
          for (const [key, object] of first) tx.put(`${name}/${key}`, object)
        })
      return history.collection<T>(name)
    },
    commit: (fn) =>
      source.transaction((tx) =>
        fn({
          put: (collection, key, object) => tx.put(keyOf(collection, key), object),
          delete: (collection, key) => tx.delete(keyOf(collection, key)),
        }),
      ),
    restore: (fn) => {
      const entries = new Map<string, unknown>()
      fn({
        put: (collection, key, object) => void entries.set(keyOf(collection, key), object),
        delete: (collection, key) => void entries.delete(keyOf(collection, key)),
      })
      return source.restore(entries)
    },
    compact: () => source.compact(),
    disconnect: () => source.disconnect(),
    stall: () => source.stall(),
    fail: (error, times) => source.fail(error, times),
  }
}
