import type { Clock } from './clock.js'
import type { ListEvent, ListPage, VersionPage, WatchBatch } from './events.js'
import type { MirrorCacheContext, SavedMirror } from './mirror-cache.js'
import type { Random } from './random.js'
import type { Version } from './version.js'

export type * from './events.js'

/** The default of `heartbeatMs`, in milliseconds. */
export const DEFAULT_HEARTBEAT_MS = 10_000
/** A list that yields no page for this time fails with `UNAVAILABLE`, in milliseconds. */
export const LIST_STALL_MS = 30_000
/** The requested number of objects of a list page. */
export const PAGE_SIZE = 1_000

/**
 * The context of every call to a source. `clock` and `random` are the informer's, so that a source can be simulated
 * too.
 *
 * @example
 * ```ts
 * import { SourceError, type SourceContext, type Version } from 'listwatch/adapter'
 *
 * async function head(context: SourceContext): Promise<Version> {
 *   const response = await fetch('https://api.example/revision', { signal: context.signal })
 *   if (response.headers.has('deprecation')) context.warn?.('the API of countries is deprecated')
 *   if (!response.ok) throw new SourceError(`it responded with ${response.status}`, { code: 'UNAVAILABLE' })
 *   return response.text()
 * }
 * ```
 */
export interface SourceContext {
  /** Aborts when the call is no longer wanted. A source stops within 100 ms of it, at every await. */
  readonly signal: AbortSignal
  /** The clock for all delays and timeouts of the source. */
  readonly clock: Clock
  /** The random numbers for all random delays of the source. */
  readonly random: Random
  /**
   * Identifies the mirror: the same object in every list, watch and head of one mirror. A source may use it as the key
   * of a WeakMap that holds its state for that mirror.
   */
  readonly mirror?: object
  /**
   * Reports a problem that does not stop the source: a server with known bugs, a missing permission. A source reports
   * each problem once. The message goes to the informer's logger; without logger it is a process warning.
   */
  warn?(message: string): void
}

/**
 * The context of `list` and `versions`.
 *
 * @example
 * ```ts
 * import type { ListContext, ListPage } from 'listwatch/adapter'
 *
 * declare function query(limit: number, skip: number, signal: AbortSignal): Promise<{ rows: Country[]; head: number }>
 * async function* list({ pageSize, signal }: ListContext): AsyncIterable<ListPage<Country>> {
 *   for (let skip = 0; ; skip += pageSize) {
 *     const { rows, head } = await query(pageSize, skip, signal) // All from one snapshot.
 *     yield { events: rows.map((object) => ({ type: 'put', key: object.code, object })), version: String(head) }
 *     if (rows.length < pageSize) return
 *   }
 * }
 * ```
 */
export interface ListContext extends SourceContext {
  /** How many objects a page should hold; a source may send more or fewer. */
  readonly pageSize: number
  /**
   * The version that readers have already seen. Undefined before the first list and after `EPOCH_CHANGED`. The core
   * rejects a list that ends before it with `STALE_LIST`, and lists again. A source that knows that its history was
   * rewound throws `EPOCH_CHANGED`.
   */
  readonly floor?: Version | undefined
  /** With `splitSource`: the collection whose objects are needed. A source may leave out those of others. */
  readonly collection?: string | undefined
  /**
   * Reports that the list makes progress. A list that yields no page for 30 s fails with `UNAVAILABLE`; each call of
   * `alive` restarts these 30 s. Call it only if the server has proved that it still works on the list: a byte, a row,
   * an answer to a ping.
   */
  alive?(): void
}

/**
 * The context of `watch`.
 *
 * @example
 * ```ts
 * import type { WatchBatch, WatchContext } from 'listwatch/adapter'
 *
 * async function* watch({ after, signal, clock }: WatchContext): AsyncIterable<WatchBatch<Country>> {
 *   for (let version = after; ; await clock.sleep(1_000, signal)) {
 *     const batch = await journal.since(version, signal) // Throws VERSION_EXPIRED if the history is gone.
 *     version = batch.version
 *     yield batch
 *   }
 * }
 * ```
 */
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
   * raft term. If audits are enabled, one runs within 10 s and is retried until it completes. With `contents` it compares
   * contents also if the source has `versions`: another history may have other contents at the same version.
   */
  requestAudit?(reason: string, options?: { readonly contents?: boolean }): void
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
 * The interface of a source, which an adapter implements. `name`, `list` and `watch` make a source. The other members add
 * waits for versions, audits and warm starts.
 *
 * An adapter promises the following. The core checks it as far as possible:
 * - `list` is one consistent snapshot; `watch({ after: v })` yields everything later than v in order, nothing missed,
 *   or throws a SourceError with code `VERSION_EXPIRED`.
 * - A batch is atomic: one transaction of the source, or several. A batch without events is a bookmark: everything up
 *   to its `version` has been delivered. `version` is always a safe point to resume from.
 * - A healthy watch yields something, at least a bookmark, every `heartbeatMs`.
 * - Event objects belong to the core once yielded: they are kept, and must not be changed or used again.
 *
 * @example
 * ```ts
 * import type { Entry, ListerWatcher } from 'listwatch/adapter'
 *
 * declare function readAll(signal: AbortSignal): Promise<{ entries: Entry<Country>[]; version: string }>
 * const countries: ListerWatcher<Country> = {
 *   name: 'countries',
 *   async *list({ signal }) {
 *     const { entries, version } = await readAll(signal)
 *     yield { events: entries.map((entry) => ({ type: 'put', ...entry })), version }
 *   },
 *   async *watch({ after, signal, clock }) {
 *     for (let last = after; ; ) {
 *       await clock.sleep(5_000, signal)
 *       const { entries, version } = await readAll(signal)
 *       yield { events: version === last ? [] : [{ type: 'replace', entries }], version }
 *       last = version
 *     }
 *   },
 * }
 * ```
 */
export interface ListerWatcher<T> {
  /** For logs, metrics and errors: "postgres:public.orders". */
  readonly name: string
  /** One consistent snapshot in pages. Later events override earlier ones; the last page names the version. */
  list(context: ListContext): AsyncIterable<ListPage<T>>
  /** Yields all changes after `context.after`, in order, until the signal aborts. */
  watch(context: WatchContext): AsyncIterable<WatchBatch<T>>

  // The silence of a watch.

  /**
   * The longest silence of a healthy watch in milliseconds. Default: 10 000. A watch that is silent for twice this plus
   * 5 s is closed.
   */
  readonly heartbeatMs?: number
  /** What may hold the data of a watch back. The error of a silent watch has it. */
  readonly silenceHint?: string

  // Waits for versions: `waitFor` and `fresh`.

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

  // Audits.

  /**
   * Yields the key and version of every object, as one consistent snapshot in pages. The last page has the version of
   * the snapshot. Audits read it instead of a list. A source with this method is audited by default.
   */
  versions?(context: ListContext): AsyncIterable<VersionPage>

  // Warm starts.

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

/**
 * The target of a reflector: an Indexer or a DeltaFIFO. The reflector awaits each call before it continues to read.
 *
 * @example
 * ```ts
 * import type { ListEvent, Sink, WatchBatch } from 'listwatch/adapter'
 *
 * class Sender implements Sink<Order> {
 *   version: string | undefined
 *   apply({ events, version }: WatchBatch<Order>) {
 *     send(events)
 *     this.version = version
 *   }
 *   replace() {
 *     const listed: ListEvent<Order>[] = []
 *     const page = (events: readonly ListEvent<Order>[]) => void listed.push(...events)
 *     return { page, commit: (version: string) => this.apply({ events: listed, version }), abandon: () => {} }
 *   }
 * }
 * ```
 */
export interface Sink<T> {
  /** The version of the last accepted list or batch. */
  readonly version: Version | undefined
  /** Applies a batch atomically. */
  apply(batch: WatchBatch<T>): void | Promise<void>
  /** Begins a list. With `ignoreVersions` every object is compared by its content. */
  replace(options?: { readonly ignoreVersions?: boolean }): ListTransaction<T>
}

/**
 * A list that is being read. It is not visible before `commit`.
 *
 * @example
 * ```ts
 * import { Indexer } from 'listwatch'
 *
 * const store = new Indexer<Country>()
 * const list = store.replace()
 * await list.page([{ type: 'put', key: 'de', object: { code: 'de', name: 'Germany' } }]) // Readers do not see it yet.
 * await list.commit('17')
 * ```
 */
export interface ListTransaction<T> {
  /** Adds the events of a page. */
  page(events: readonly ListEvent<T>[]): void | Promise<void>
  /** Replaces the collection by the list, atomically. */
  commit(version: Version): void | Promise<void>
  /** Drops the list. */
  abandon(): void
}
