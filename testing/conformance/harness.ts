import type { ListerWatcher } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'

/**
 * What not every source can do, or not every harness bring about:
 *
 * | | |
 * |---|---|
 * | `transactions` | `write` commits several changes as one |
 * | `openTransactions` | `begin`: a transaction stays open while others are committed |
 * | `bigObjects` | an object may hold a value of 1 MiB |
 * | `compaction` | `compact`: the history is forgotten |
 * | `epochs` | `restore`: the collection becomes another incarnation of itself |
 * | `corruption` | `corrupt`: an object cannot be decoded |
 * | `outage` | `disconnect`: the server ends what is open |
 * | `connections` | `connections`: what the source holds open can be counted |
 * | `head`, `hasReached`, `versions` | the source has these methods |
 * | `progressRequests` | a watch answers a progress request with a bookmark |
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

/** The object under `key` now holds `value`; without one it is deleted. */
export interface ConformanceChange {
  readonly key: string
  readonly value: string | undefined
}

/** Commits a transaction that was open. */
export type CommitTransaction = () => Promise<Version | undefined> | Version | undefined

/** What a case would like its source to be like, where the harness can choose. */
export interface ConformanceOptions {
  /** How often a silent watch should say where it is, in milliseconds. */
  readonly heartbeatMs: number
}

/** How the cases get at a source, and at the collection behind it. */
export interface ListerWatcherHarness<T> {
  /** A source over a collection of its own, which is empty. Called once for each case. */
  create(wish: ConformanceOptions): ListerWatcherSubject<T> | Promise<ListerWatcherSubject<T>>
  /** What cannot be had, and why: the cases that need it are skipped with this reason. */
  readonly unsupported?: Readonly<Partial<Record<ConformanceCapability, string>>> | undefined
  /** How long a case waits for what has to come, in milliseconds. Default 10 000. */
  readonly timeoutMs?: number | undefined
}

/** One source, and a writer to its collection that does not go through it. */
export interface ListerWatcherSubject<T> {
  readonly source: ListerWatcher<T>
  /**
   * Commits all of the changes as one transaction; settles when it is committed. Gives the mark to wait for, where the
   * source's writers have one. Calls may overlap.
   */
  write(changes: readonly ConformanceChange[]): Promise<Version | undefined> | Version | undefined
  /** Makes these changes in a transaction that stays open; what it gives commits it. */
  begin?(changes: readonly ConformanceChange[]): Promise<CommitTransaction> | CommitTransaction
  /** The value that was written into this object. */
  read(object: T): string
  /** The key under which the source shows what is written under `key`. Default: the same. */
  keyOf?(key: string): string
  /** Why nothing can be written under this key; undefined where it can. Default: everything can. */
  refuses?(key: string): string | undefined
  /** Forgets the history: whoever is behind now has expired. */
  compact?(): Promise<void> | void
  /** Makes it another incarnation with the same objects, as a backup that was restored. */
  restore?(): Promise<void> | void
  /** Makes what is stored under this key into something that cannot be decoded. */
  corrupt?(key: string): Promise<void> | void
  /** Ends every list and watch that is open, from the server's side. */
  disconnect?(): Promise<void> | void
  /** How many connections, files or watchers the source holds open. */
  connections?(): Promise<number> | number
  /** Called when the case is over. */
  dispose?(): Promise<void> | void
}
