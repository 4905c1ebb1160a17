import type { ListerWatcher, SourceContext, WatchBatch, WatchContext, WatchEvent } from './source.js'
import type { Version } from './version.js'

/** If a collection is missing for longer than this, the others continue without it, in milliseconds. */
export const HOLD_MS = 30_000

/**
 * The context of `SharedHistory.watch`.
 *
 * @example
 * ```ts
 * import type { CollectionBatch, HistoryWatchContext, Version } from 'listwatch/adapter'
 *
 * type Changes = { readonly version: Version; readonly changes: CollectionBatch['parts'] }
 * declare function changesSince(positions: ReadonlyMap<string, Version>, signal: AbortSignal): Promise<Changes>
 * async function* watch({ positions, signal, clock }: HistoryWatchContext): AsyncIterable<CollectionBatch> {
 *   for (let after = positions; ; await clock.sleep(1_000, signal)) {
 *     const { version, changes } = await changesSince(after, signal) // All in one snapshot.
 *     after = new Map(Array.from(after.keys(), (collection) => [collection, version]))
 *     yield { version, parts: changes }
 *   }
 * }
 * ```
 */
export interface HistoryWatchContext extends SourceContext, Pick<WatchContext, 'onProgressRequest' | 'isUnconfirmed'> {
  /** The collections to watch, each with the version that it has. They may differ. */
  readonly positions: ReadonlyMap<string, Version>
  /** Returns whether a reader of one of the collections waits for a version now. */
  hasWaiters?(): boolean
  /**
   * Reports that the source is working while no batch is due: before the first one, the collections may have to be
   * brought to one version for a long time. Without it the watch counts as silent.
   */
  alive?(): void
  /** Requests an audit of all collections soon, as in `WatchContext`. */
  requestAudit?(reason: string, options?: { readonly contents?: boolean }): void
}

/**
 * One or more whole transactions of a history, as the changes of each collection.
 *
 * @example
 * ```ts
 * import type { CollectionBatch } from 'listwatch/adapter'
 *
 * // A transaction that writes to two collections. The others have no part.
 * function batchOf(country: Country, code: string, revision: number): CollectionBatch {
 *   const parts = new Map([
 *     ['countries', [{ type: 'put' as const, key: country.code, object: country }]],
 *     ['drafts', [{ type: 'delete' as const, key: code }]],
 *   ])
 *   return { version: String(revision), parts }
 * }
 * ```
 */
export interface CollectionBatch {
  /** The version of all watched collections after the batch. */
  readonly version: Version
  /**
   * The texts that collections have for this version, if these differ: a version may name the shape of its collection.
   * Default: `version`.
   */
  readonly versions?: ReadonlyMap<string, Version>
  /** The changes of each collection, in order. One without a part has no change. */
  readonly parts: ReadonlyMap<string, readonly WatchEvent<unknown>[]>
  /** The commit time of the newest change in milliseconds since the Unix epoch, if the source has it. */
  readonly committedAt?: number
  /**
   * The collections that cannot be brought to this version, each with the error of its watch. `VERSION_EXPIRED` leads to
   * a list of that collection alone.
   */
  readonly lost?: ReadonlyMap<string, unknown>
}

/**
 * The common history of several collections: one order of transactions, and versions that can be compared. All
 * informers over collections of one history show one version.
 *
 * An adapter promises the following:
 * - The first batch of a watch brings every collection from its own position to one version, which is not before any of
 *   them. Later batches continue from there.
 * - No transaction is split between two batches.
 * - Everything else is as in `ListerWatcher`. An error concerns all collections; that of one is in `lost`.
 *
 * @example
 * ```ts
 * import { type CollectionSource, type ListPage, type SharedHistory, watchCollection } from 'listwatch/adapter'
 *
 * declare function list(collection: string, signal: AbortSignal): AsyncIterable<ListPage<Order>>
 * function collectionOf(history: SharedHistory, collection: string): CollectionSource<Order> {
 *   return {
 *     name: `${history.name}:${collection}`,
 *     history,
 *     collection,
 *     list: ({ signal }) => list(collection, signal), // One consistent snapshot, at a version of its own.
 *     watch: (context) => watchCollection(history, collection, context),
 *     hasReached: (at, mark) => Number(at) >= Number(mark),
 *   }
 * }
 * ```
 */
export interface SharedHistory {
  /** For logs and errors. */
  readonly name: string
  /**
   * If a collection has to be listed again, the others stay at the last common version for at most this time, in
   * milliseconds. `Infinity` has no limit. Default 30 000.
   */
  readonly holdMs?: number | undefined
  /** Yields all changes of these collections after their positions, until the signal aborts. */
  watch(context: HistoryWatchContext): AsyncIterable<CollectionBatch>
}

/**
 * One collection of a history. `createInformer` reads `history` and `collection`; for everything else it is a source of
 * its own.
 *
 * @example
 * ```ts
 * import type { CollectionSource } from 'listwatch/adapter'
 *
 * function describe({ collection, history }: CollectionSource<unknown>): string {
 *   return `${collection} of ${history.name}`
 * }
 * ```
 */
export interface CollectionSource<T> extends ListerWatcher<T> {
  /** The same object in all collections of one history. */
  readonly history: SharedHistory
  /** The name of the collection in batches and positions. */
  readonly collection: string
}

export function isCollection<T>(source: ListerWatcher<T>): source is CollectionSource<T> {
  return 'history' in source && 'collection' in source
}

/**
 * Watches one collection of a history alone, for `ListerWatcher.watch`.
 *
 * @returns The batches of the collection.
 * @throws The error in `lost`, if the history cannot bring the collection to the next version.
 *
 * @example
 * ```ts
 * import { type SharedHistory, watchCollection, type WatchContext } from 'listwatch/adapter'
 *
 * function watch(history: SharedHistory, context: WatchContext) {
 *   return watchCollection<Order>(history, 'orders', context)
 * }
 * ```
 */
export async function* watchCollection<T>(
  history: SharedHistory,
  collection: string,
  { after, ...context }: WatchContext,
): AsyncIterable<WatchBatch<T>> {
  for await (const batch of history.watch({ ...context, positions: new Map([[collection, after]]) })) {
    const { versions, parts, committedAt, lost } = batch
    const version = versions?.get(collection) ?? batch.version
    if (lost?.has(collection)) throw lost.get(collection)
    // The history passes on what the collection's own adapter has decoded.
    const events = (parts.get(collection) ?? []) as readonly WatchEvent<T>[]
    yield committedAt === undefined ? { events, version } : { events, version, committedAt }
  }
}
