import type { ListerWatcher } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'

/**
 * A capability that not every source has, or not every harness can bring about:
 *
 * - `transactions`: `write` commits several changes as one.
 * - `openTransactions`: `begin`: a transaction stays open while others are committed.
 * - `bigObjects`: an object may have a value of 1 MiB.
 * - `compaction`: `compact`: the history is removed.
 * - `epochs`: `restore`: the collection becomes another incarnation.
 * - `corruption`: `corrupt`: an object cannot be decoded.
 * - `outage`: `disconnect`: the server ends everything that is open.
 * - `connections`: `connections`: the source's open connections can be counted.
 * - `head`, `hasReached`, `versions`: the source has this method.
 * - `progressRequests`: a watch answers a progress request with a bookmark.
 * - `ownHeap`: the heap of the process contains what the source buffers, and not the history of the backend.
 *
 * @example
 * ```ts
 * import type { ConformanceCapability } from 'listwatch/testing'
 *
 * const unsupported: Readonly<Partial<Record<ConformanceCapability, string>>> = {
 *   compaction: 'a folder has no history',
 *   hasReached: 'hashes have no order',
 * }
 * await describeListerWatcher('a folder', { ...harness, unsupported })
 * ```
 */
export type ConformanceCapability =
  | 'transactions'
  | 'openTransactions'
  | 'bigObjects'
  | 'compaction'
  | 'epochs'
  | 'corruption'
  | 'outage'
  | 'connections'
  | 'head'
  | 'hasReached'
  | 'versions'
  | 'progressRequests'
  | 'ownHeap'

/**
 * One write to the collection.
 *
 * @example
 * ```ts
 * import type { ConformanceChange } from 'listwatch/testing'
 *
 * // For `write` of a subject.
 * async function write(folder: string, changes: readonly ConformanceChange[]): Promise<undefined> {
 *   for (const { key, value } of changes) {
 *     if (value === undefined) await rm(join(folder, key), { force: true })
 *     else await replaceFile(join(folder, key), value)
 *   }
 * }
 * ```
 */
export interface ConformanceChange {
  /** The key of the object, as the cases name it. */
  readonly key: string
  /** The new value of the object; undefined deletes the object. */
  readonly value: string | undefined
}

/**
 * Commits the open transaction. Returns its mark, if the source's writers have marks.
 *
 * @example
 * ```ts
 * import type { CommitTransaction } from 'listwatch/testing'
 *
 * // For `begin` of a subject: the transaction stays open until the result is called.
 * async function begin(): Promise<CommitTransaction> {
 *   const client = await pool.connect()
 *   await client.query("BEGIN; UPDATE orders SET paid = true WHERE id = '42'")
 *   const mark = await source.mark(client)
 *   return () => client.query('COMMIT').then(() => mark).finally(() => client.release())
 * }
 * ```
 */
export type CommitTransaction = () => Promise<Version | undefined> | Version | undefined

/**
 * Options of a source that a case prefers. A harness that cannot choose them ignores them.
 *
 * @example
 * ```ts
 * import type { ConformanceOptions } from 'listwatch/testing'
 *
 * // For `create` of a harness: some cases need a short heartbeat.
 * const newSource = ({ heartbeatMs }: ConformanceOptions) => memorySource<string>({ heartbeatMs })
 * ```
 */
export interface ConformanceOptions {
  /** The time between two bookmarks of a silent watch, in milliseconds. */
  readonly heartbeatMs: number
}

/**
 * How the conformance cases create a source and write to its collection.
 *
 * @example
 * ```ts
 * import type { ListerWatcherHarness, ListerWatcherSubject } from 'listwatch/testing'
 *
 * declare function newFolder(): Promise<ListerWatcherSubject<string>>
 * const folders: ListerWatcherHarness<string> = {
 *   create: newFolder, // Another empty collection for each case.
 *   unsupported: { compaction: 'a folder has no history' },
 *   timeoutMs: 1_000, // Default: 10 000.
 * }
 * await describeListerWatcher('a folder', folders)
 * ```
 */
export interface ListerWatcherHarness<T> {
  /** Creates a source with a new, empty collection. Called once for each case. */
  create(options: ConformanceOptions): ListerWatcherSubject<T> | Promise<ListerWatcherSubject<T>>
  /**
   * The missing capabilities, each with the reason. The cases that need one are skipped with this reason. Default:
   * none.
   */
  readonly unsupported?: Readonly<Partial<Record<ConformanceCapability, string>>> | undefined
  /** The timeout of each wait in a case, in milliseconds. Default 10 000. */
  readonly timeoutMs?: number | undefined
}

/**
 * One source, with a writer to its collection that is independent of the source.
 *
 * @example
 * ```ts
 * import type { ListerWatcherSubject } from 'listwatch/testing'
 *
 * async function newFolder(): Promise<ListerWatcherSubject<{ readonly value: string }>> {
 *   const folder = await mkdtemp(join(tmpdir(), 'case-'))
 *   return {
 *     source: folderSource(folder, { pollMs: 10 }),
 *     write: async ([{ key, value } = { key: '', value: '' }]) => {
 *       await replaceFile(join(folder, `${key}.json`), JSON.stringify({ value }))
 *       return undefined
 *     },
 *     read: ({ value }) => value,
 *     dispose: () => rm(folder, { recursive: true }),
 *   }
 * }
 * ```
 */
export interface ListerWatcherSubject<T> {
  /** The source under test. */
  readonly source: ListerWatcher<T>
  /**
   * Commits all changes as one transaction, and settles after the commit. Returns the mark of the transaction, if the
   * source's writers have marks. Calls may overlap.
   */
  write(changes: readonly ConformanceChange[]): Promise<Version | undefined> | Version | undefined
  /** Makes the changes in a transaction that stays open. The returned function commits it. */
  begin?(changes: readonly ConformanceChange[]): Promise<CommitTransaction> | CommitTransaction
  /** Returns the value that was written into this object. */
  read(object: T): string
  /** Returns the key in the source for an object that is written under `key`. Default: the same key. */
  keyOf?(key: string): string
  /** Returns why the backend cannot store this key; undefined if it can. Default: it can store every key. */
  refuses?(key: string): string | undefined
  /** Removes the history, so that a watch from an earlier version expires. */
  compact?(): Promise<void> | void
  /** Turns the collection into another incarnation with the same objects, like a restored backup. */
  restore?(): Promise<void> | void
  /** Replaces the object under this key by one that cannot be decoded. */
  corrupt?(key: string): Promise<void> | void
  /** Ends all open lists and watches from the server's side. */
  disconnect?(): Promise<void> | void
  /** Returns the number of connections, files or watchers that the source has open. */
  connections?(): Promise<number> | number
  /** Called at the end of the case. */
  dispose?(): PromiseLike<void> | void
}
