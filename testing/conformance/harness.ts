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

/** One write to the collection. */
export interface ConformanceChange {
  /** The key of the object, as the cases name it. */
  readonly key: string
  /** The new value of the object; undefined deletes the object. */
  readonly value: string | undefined
}

/** Commits the open transaction. Returns its mark, if the source's writers have marks. */
export type CommitTransaction = () => Promise<Version | undefined> | Version | undefined

/** Options of a source that a case prefers. A harness that cannot choose them ignores them. */
export interface ConformanceOptions {
  /** The time between two bookmarks of a silent watch, in milliseconds. */
  readonly heartbeatMs: number
}

/** How the conformance cases create a source and write to its collection. */
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

/** One source, with a writer to its collection that is independent of the source. */
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
  dispose?(): Promise<void> | void
}
