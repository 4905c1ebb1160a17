import type { Clock } from './clock.js'
import type { Entry } from './entry.js'
import type { MirrorCacheContext, SavedMirror } from './mirror-cache.js'
import type { Random } from './random.js'
import type { Version } from './version.js'

export type { Entry } from './entry.js'

/** The default of `heartbeatMs`, in milliseconds. */
export const DEFAULT_HEARTBEAT_MS = 10_000
/** A list that yields no page for this time fails with `UNAVAILABLE`, in milliseconds. */
export const LIST_STALL_MS = 30_000
/** The requested number of objects of a list page. */
export const PAGE_SIZE = 1_000

/**
 * The context of every call to a source. `clock` and `random` are the informer's, so that a source can be simulated
 * too.
 */
export interface SourceContext {
  /** Aborts when the call is no longer wanted. A source stops within 100 ms of it, at every await. */
  readonly signal: AbortSignal
  /** The clock for all delays and timeouts of the source. */
  readonly clock: Clock
  /** The random numbers for all random delays of the source. */
  readonly random: Random
  /**
   * Identifies the mirror: the same object in every list and watch of one mirror. A source may use it as the key of a
   * WeakMap that holds its state for that mirror.
   */
  readonly mirror?: object
  /**
   * Reports a problem that does not stop the source: a server with known bugs, a missing permission. A source reports
   * each problem once. The message goes to the informer's logger; without logger it is a process warning.
   */
  warn?(message: string): void
}

/** The context of `list` and `versions`. */
export interface ListContext extends SourceContext {
  /** How many objects a page should hold; a source may send more or fewer. */
  readonly pageSize: number
  /**
   * The version that readers have already seen. Undefined before the first list and after `EPOCH_CHANGED`. The core
   * rejects a list that ends before it with `STALE_LIST`, and lists again. A source that knows that its history was
   * rewound throws `EPOCH_CHANGED`.
   */
  readonly floor?: Version | undefined
  /**
   * Reports that the list makes progress. A list that yields no page for 30 s fails with `UNAVAILABLE`; each call of
   * `alive` restarts these 30 s. Call it only if the server has proved that it still works on the list: a byte, a row,
   * an answer to a ping.
   */
  alive?(): void
}

/** The context of `watch`. */
export interface WatchContext extends SourceContext {
  /** The watch yields everything after this version, and nothing at or before it. */
  readonly after: Version
  /**
   * Registers a listener that the core calls when a reader waits for a version. A source that can query its current
   * version then yields a bookmark at once; other sources ignore it.
   */
  onProgressRequest(listener: () => void): void
  /** Returns whether a reader waits for a version now. The wait that caused a progress request may be over already. */
  hasWaiters?(): boolean
  /**
   * Requests an audit soon: the source could not disprove its history, but something is suspicious, for example a new
   * raft term. If audits are enabled, one runs within 10 s and is retried until it completes.
   */
  requestAudit?(reason: string): void
  /**
   * Requests an audit now, because a reader waits for a version that the watch cannot report. The core reads
   * `versions`, else `list`. If the store does not differ, it is at the version that was read. The source must be able
   * to watch from that version.
   */
  requestProof?(): void
  /**
   * Whether the mirror resumes from saved content that its first batch confirms. Then a source yields no batch before
   * it has verified that its history continues from `after`, also no bookmark.
   */
  readonly isUnconfirmed?: boolean
  /**
   * The result of `resumeState` when the mirror was saved. Only the first watches after a warm start have it, until one
   * of them has yielded a batch. The source throws `VERSION_EXPIRED` or `EPOCH_CHANGED` if a resume would be wrong.
   */
  readonly resumeState?: string | undefined
}

/**
 * The interface of a source, which an adapter implements.
 *
 * An adapter promises the following. The core checks it as far as possible:
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
  /**
   * The longest silence of a healthy watch in milliseconds. Default: 10 000. A watch that is silent for twice this plus
   * 5 s is closed.
   */
  readonly heartbeatMs?: number
  /** One consistent snapshot in pages. Later events override earlier ones; the last page names the version. */
  list(context: ListContext): AsyncIterable<ListPage<T>>
  /** Yields all changes after `context.after`, in order, until the signal aborts. */
  watch(context: WatchContext): AsyncIterable<WatchBatch<T>>
  /**
   * Yields the key and version of every object, as one consistent snapshot in pages. The last page has the version of
   * the snapshot. Audits read it instead of a list. A source with this method is audited by default.
   */
  versions?(context: ListContext): AsyncIterable<VersionPage>
  /** Returns the current version of the source. */
  head?(context: SourceContext): Promise<Version>
  /**
   * Returns whether `at` includes everything up to `mark`.
   *
   * @throws SourceError EPOCH_CHANGED if the two belong to different histories of the source.
   * @throws SourceError PROTOCOL if `mark` is not a version of this source.
   */
  hasReached?(at: Version, mark: Version): boolean
  /**
   * Returns whether `mark` certainly belongs to an epoch that began after that of `at`. A wait for such a mark survives
   * `EPOCH_CHANGED`. Without this method, `hasReached` must throw for marks of all other epochs.
   */
  isLaterEpoch?(at: Version, mark: Version): boolean
  /**
   * Names all options that change which objects the source returns, or their content. A mirror that was saved with
   * another selection is not used.
   */
  readonly selection?: string
  /** Whether the objects are secrets. A cache does not save them, unless the user allows it. */
  readonly isSensitive?: boolean
  /**
   * Opens a snapshot that the source has at hand. A mirror starts from it instead of the first list, and resumes its
   * watch at the version of the snapshot. It is synced after the first batch of that watch: with it, the mirror should
   * be as new as a list would be. Returns undefined if there is no snapshot: then the source is listed. Not called if
   * the informer has the option `cache`, `schema` or `transform`, or several sources.
   */
  openSnapshot?(context: MirrorCacheContext): Promise<SavedMirror | undefined>
  /**
   * Returns what a later process needs, besides the version, to resume a watch safely. `mirror` is that of the
   * contexts.
   */
  resumeState?(mirror: object): string | undefined
}

/** Creates or replaces an object. */
export type Put<T> = { readonly type: 'put' } & Entry<T>

/** Deletes an object. */
export interface Delete<T> {
  /** Identifies the kind of event. */
  readonly type: 'delete'
  /** The key of the object. */
  readonly key: string
  /** The last state of the object, if the source has it. */
  readonly object?: T
  /** The version of the deletion, if the source has one. */
  readonly version?: Version
}

/**
 * Reports an object that could not be decoded. The mirror continues: `informer.invalid` has the key and the error until
 * a later valid event. If the key is unknown, the list with this event deletes nothing, and another list is scheduled.
 */
export interface Invalid {
  /** Identifies the kind of event. */
  readonly type: 'invalid'
  /** The key of the object, if it is known. */
  readonly key?: string
  /** The reason. */
  readonly error: unknown
  /** The version of the object, if the source has one. */
  readonly version?: Version
}

/** Replaces the whole collection. A polled source yields it instead of single changes. */
export interface Replace<T> {
  /** Identifies the kind of event. */
  readonly type: 'replace'
  /** All objects of the collection. */
  readonly entries: readonly Entry<T>[]
}

/** An event of a list. */
export type ListEvent<T> = Put<T> | Delete<T> | Invalid
/** An event of a watch. */
export type WatchEvent<T> = ListEvent<T> | Replace<T>

/** A part of a list. An empty collection is one page without events. */
export interface ListPage<T> {
  /** The objects of the page. A later event of the same key overrides an earlier one. */
  readonly events: readonly ListEvent<T>[]
  /** The version of the whole list. The last page must have it. */
  readonly version?: Version
  /** The number of objects in later pages, if the source knows it. */
  readonly remaining?: number
}

/** A part of the keys and versions of a collection. */
export interface VersionPage {
  /** The keys of the page, with the version of each object. */
  readonly keys: readonly { readonly key: string; readonly version: Version }[]
  /** The version of the whole snapshot. The last page must have it. */
  readonly version?: Version
}

/** One or more whole transactions of the source, applied atomically. Without events it is a bookmark. */
export interface WatchBatch<T> {
  /** The changes, in order. */
  readonly events: readonly WatchEvent<T>[]
  /** The version after the batch. A watch can resume from it. */
  readonly version: Version
  /** The commit time of the newest change in milliseconds since the Unix epoch, if the source has it. */
  readonly committedAt?: number
}

/** The target of a reflector: an Indexer or a DeltaFIFO. The reflector awaits each call before it continues to read. */
export interface Sink<T> {
  /** The version of the last accepted list or batch. */
  readonly version: Version | undefined
  /** Applies a batch atomically. */
  apply(batch: WatchBatch<T>): void | Promise<void>
  /** Begins a list. With `ignoreVersions` every object is compared by its content. */
  replace(options?: { readonly ignoreVersions?: boolean }): ListTransaction<T>
}

/** A list that is being read. It is not visible before `commit`. */
export interface ListTransaction<T> {
  /** Adds the events of a page. */
  page(events: readonly ListEvent<T>[]): void | Promise<void>
  /** Replaces the collection by the list, atomically. */
  commit(version: Version): void | Promise<void>
  /** Drops the list. */
  abandon(): void
}
