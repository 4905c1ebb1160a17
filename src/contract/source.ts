import type { Clock } from './clock.js'
import type { Random } from './random.js'
import type { Version } from './version.js'

/** Longest silence of a healthy watch where a source names none, in milliseconds. */
export const DEFAULT_HEARTBEAT_MS = 10_000
/** How long a list may bring no page before it counts as `UNAVAILABLE`, in milliseconds. */
export const LIST_STALL_MS = 30_000
/** How many objects a page of a list should hold, where a source can choose. */
export const PAGE_SIZE = 1_000

/** The context of every call to a source. `clock` and `random` are the informer's, so that a source can be simulated too. */
export interface SourceContext {
  /** Aborts when the call is no longer wanted. A source stops within 100 ms of it, at every await. */
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly random: Random
  /**
   * Identifies the mirror: the same object in every list and every watch of one mirror. A source may keep in a WeakMap by it what it has to
   * know of the mirror.
   */
  readonly mirror?: object
  /**
   * Tells the user what should be mended and stops nothing: a server with known bugs, a right that is missing. A source says
   * each once. It goes to the informer's logger, else it is a process warning.
   */
  warn?(message: string): void
}

export interface ListContext extends SourceContext {
  /** How many objects a page should hold; a source may send more or fewer. */
  readonly pageSize: number
  /**
   * The version that readers have already seen. Undefined before the first list and after `EPOCH_CHANGED`. The core rejects a list
   * that ends before it with `STALE_LIST`, and lists again. A source that knows that its history was rewound throws `EPOCH_CHANGED`.
   */
  readonly floor?: Version | undefined
  /**
   * Reports that the list makes progress. A list that yields no page for 30 s fails with `UNAVAILABLE`; each call of `alive` restarts
   * these 30 s. Call it only if the server has proved that it still works on the list: a byte, a row, an answer to a ping.
   */
  alive?(): void
}

export interface WatchContext extends SourceContext {
  /** The watch yields everything after this version, and nothing at or before it. */
  readonly after: Version
  /**
   * Registers a listener that the core calls when a reader waits for a version. A source that can query its current version then
   * yields a bookmark at once; other sources ignore it.
   */
  onProgressRequest(listener: () => void): void
  /** Returns whether a reader waits for a version now. The wait that caused a progress request may be over already. */
  hasWaiters?(): boolean
  /**
   * Requests an audit soon: the source could not disprove its history, but something is suspicious, for example a new raft term. If
   * audits are enabled, one runs within 10 s and is retried until it completes.
   */
  requestAudit?(reason: string): void
  /**
   * Requests an audit now, because a reader waits for a version that the watch cannot report. The core reads `versions`, else `list`.
   * If the store does not differ, it is at the version that was read. The source must be able to watch from that version.
   */
  requestProof?(): void
}

/**
 * Where objects come from: all that an adapter implements.
 *
 * Promised by an adapter, and checked by the core where it can be:
 * - `list` is one consistent snapshot; `watch({ after: v })` yields everything later than v in order, nothing missed,
 *   or throws a SourceError with code `VERSION_EXPIRED`.
 * - A batch is atomic: one transaction of the source, or several. A batch without events is a bookmark: everything up
 *   to its `version` has been delivered. `version` is always a safe point to resume from.
 * - A healthy watch yields something, at least a bookmark, every `heartbeatMs`.
 * - Event objects belong to the core once yielded: they are kept, and must not be changed or used again.
 */
export interface ListerWatcher<T> {
  /** For logs, metrics and errors: "postgres:public.orders". */
  readonly name: string
  /** Longest silence of a healthy watch in milliseconds, default 10 000; the idle time-out is twice this plus 5 s. */
  readonly heartbeatMs?: number
  /** One consistent snapshot in pages. Later events override earlier ones; the last page names the version. */
  list(context: ListContext): AsyncIterable<ListPage<T>>
  /** Everything after `context.after`, in order, for as long as it is wanted. */
  watch(context: WatchContext): AsyncIterable<WatchBatch<T>>
  /**
   * The key and version of every object, as one consistent snapshot in pages whose last one names its version: what the
   * audit reads, where it is cheaper than a list. A source that has it is audited unless told otherwise.
   */
  versions?(context: ListContext): AsyncIterable<VersionPage>
  /** Where the source is now. */
  head?(context: SourceContext): Promise<Version>
  /**
   * Whether `at` includes everything up to `mark`. Throws a SourceError with code `EPOCH_CHANGED` where the two belong
   * to different incarnations of the source, `PROTOCOL` where `mark` is none of this source's versions.
   */
  hasReached?(at: Version, mark: Version): boolean
  /**
   * Whether `mark` is certainly of an epoch that began after that of `at`. A wait for such a mark outlives `EPOCH_CHANGED`.
   * Without it, `hasReached` has to throw for marks of all other epochs.
   */
  isLaterEpoch?(at: Version, mark: Version): boolean
}

/** One object as the store keeps it. */
export interface Entry<T> {
  readonly key: string
  readonly object: T
  /**
   * The object's own version, if the source has one. In a watch, an equal version means an unchanged object; a relist compares by
   * content instead.
   */
  readonly version?: Version
  /** Identity, where the source knows it: another uid under the same key is a delete, then an add. */
  readonly uid?: string
}

/** The object is now this, whether it was there before or not. */
export type Put<T> = { readonly type: 'put' } & Entry<T>

/** The object is gone; `object` is its last state, where the source tells. */
export interface Delete<T> {
  readonly type: 'delete'
  readonly key: string
  readonly object?: T
  readonly version?: Version
}

/**
 * An object that could not be decoded. It counts as applied: the mirror goes on, `informer.invalid` has key and reason,
 * and a later good event clears it. Without a key nobody can say what it was: then the list it came in deletes nothing,
 * and another list is scheduled.
 */
export interface Invalid {
  readonly type: 'invalid'
  readonly key?: string
  readonly error: unknown
  readonly version?: Version
}

/** The collection is now exactly this: what a polled source says instead of single changes. */
export interface Replace<T> {
  readonly type: 'replace'
  readonly entries: readonly Entry<T>[]
}

export type ListEvent<T> = Put<T> | Delete<T> | Invalid
export type WatchEvent<T> = ListEvent<T> | Replace<T>

/** A part of a list. An empty collection is one page without events. */
export interface ListPage<T> {
  readonly events: readonly ListEvent<T>[]
  /** The version of the whole list; the last page names it. */
  readonly version?: Version
  /** How many objects are still to come, where the source knows. */
  readonly remaining?: number
}

/** A part of what the audit reads. */
export interface VersionPage {
  readonly keys: readonly { readonly key: string; readonly version: Version }[]
  /** The version of the whole; the last page names it. */
  readonly version?: Version
}

/** Atomic: one transaction of the source, or several. Without events: a bookmark. */
export interface WatchBatch<T> {
  readonly events: readonly WatchEvent<T>[]
  readonly version: Version
  /** When the newest of it was committed, in milliseconds since the epoch, where the source tells. */
  readonly committedAt?: number
}

/** Where a reflector writes: an Indexer, or a DeltaFIFO. It awaits each call before it reads on. */
export interface Sink<T> {
  /** The version of the last thing accepted. */
  readonly version: Version | undefined
  apply(batch: WatchBatch<T>): void | Promise<void>
  /** Begins a list. With `ignoreVersions` every object is compared by its content. */
  replace(options?: { readonly ignoreVersions?: boolean }): ListTransaction<T>
}

/** One list on its way in; nothing of it is visible before `commit`. */
export interface ListTransaction<T> {
  page(events: readonly ListEvent<T>[]): void | Promise<void>
  commit(version: Version): void | Promise<void>
  abandon(): void
}
