import type { Clock } from '../contract/clock.js'
import type { SourceError } from '../contract/errors.js'
import type { MirrorCache } from '../contract/mirror-cache.js'
import type { Random } from '../contract/random.js'
import type { ListerWatcher } from '../contract/source.js'
import type { Logger, Status } from '../contract/status.js'
import type { Version } from '../contract/version.js'
import type { IndexBuilder } from '../store/indexes/index-types.js'
import type { StoreView } from '../store/store-view.js'
import type { Controller, ReconcileContext, ReconcileOptions } from '../subscriptions/controller/controller-types.js'
import type { Handlers } from '../subscriptions/delivery/handler-types.js'
import type { ChangeStream, SubscribeOptions, Subscription } from '../subscriptions/subscription-types.js'
import type { VersionWait } from '../subscriptions/version-waiters.js'
import type { Wait } from '../util/deadline.js'
import type { StandardSchema } from '../util/standard-schema.js'
import type { Slices } from '../util/steps.js'
import type { Inspection } from './observation/inspect-types.js'
import type { SourceSet } from './sources/source-set.js'

/**
 * The thresholds of `health`.
 *
 * @example
 * ```ts
 * const thresholds = { silentAfterMs: 60_000, stuckAfterMs: 120_000 } // Default: no limits.
 * const isReady = orders.health(thresholds).isReady && pods.health(thresholds).isReady
 * ```
 */
export interface HealthOptions {
  /**
   * Not ready if the source has sent nothing for longer than this, in milliseconds. It should be longer than the
   * heartbeat of the source. Default: no limit.
   */
  readonly silentAfterMs?: number | undefined
  /** Not ready if a handler or a run has been running for longer than this, in milliseconds. Default: no limit. */
  readonly stuckAfterMs?: number | undefined
}

/**
 * The result of `health`, for liveness and readiness probes. Without `silentAfterMs` a mirror that is synced stays ready
 * with the objects that it has, also in the state `failed`, for example after its table was dropped.
 *
 * @example
 * ```ts
 * app.get('/readyz', (_request, response) => {
 *   const { isReady, reason } = orders.health({ silentAfterMs: 120_000 })
 *   response.status(isReady ? 200 : 503).send(reason)
 * })
 * ```
 */
export interface Health {
  /** Whether the informer was started and not stopped. */
  readonly isLive: boolean
  /**
   * Whether the store has the first list of every source, no threshold is exceeded, and no controller waits for an
   * informer of `after` or `watches`.
   */
  readonly isReady: boolean
  /** The state and its cause, in words. */
  readonly reason: string
}

/**
 * The methods that informers and groups of informers share.
 *
 * @example
 * ```ts
 * import type { Lifecycle } from 'listwatch'
 *
 * // Runs an informer, or a group of them.
 * async function run(informers: Lifecycle): Promise<void> {
 *   process.once('SIGTERM', () => void informers.stop({ drainMs: 5_000 }))
 *   await informers.start().synced({ timeoutMs: 30_000 })
 * }
 * await run(groupInformers([orders, pods]))
 * ```
 */
export interface Lifecycle extends AsyncDisposable {
  /**
   * Starts to mirror. A second call does nothing. If `signal` aborts, the informer stops.
   *
   * @throws SourceError STOPPED after `stop`.
   */
  start(options?: { readonly signal?: AbortSignal | undefined }): this
  /**
   * Resolves when the first list is in the store; for a source set, the first list of every source. An empty list
   * counts.
   *
   * @throws SourceError NOT_FOUND, UNAUTHORIZED or PROTOCOL when the state becomes `failed` before that. The informer
   * continues to retry.
   * @throws OptionError when the source reports a wrong option.
   * @throws SourceError TIMEOUT after `timeoutMs`, and STOPPED when the informer is stopped.
   */
  synced(wait?: Wait): Promise<void>
  /**
   * Stops the informer permanently. No callback starts after the call, and running callbacks get up to 1 s. The store
   * stays readable. Every later call that would wait, subscribe or add fails with `STOPPED`. With `drainMs`, only the
   * source ends at once: subscriptions and controllers then have up to that many milliseconds to handle their pending
   * changes.
   */
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>
  /** Returns the health for liveness and readiness probes. A source that `onAccessLost` cleared is not ready. */
  health(options?: HealthOptions): Health
}

/**
 * Mirrors one collection of a source, or several collections of a source set, into an indexed store.
 *
 * The *authoritative state* of an object is its state at the source. The source defines the order of these states. The
 * informer is a reader: it never writes to the source, and its store may be behind the source at any time.
 *
 * A client of the informer may rely on this:
 *
 * - For each key, the states that the store shows are a subsequence of the authoritative states, in the same order.
 *   States may be skipped, but none is repeated, reordered or invented.
 * - Once faults end and writes stop, the store equals the source. So does the last state that each subscription
 *   received.
 * - One read, and one snapshot, shows either all or nothing of a list, and all or nothing of a batch.
 * - After `EPOCH_CHANGED` (for example a restored backup) the order starts again with a new history.
 *
 * A client must not rely on this:
 *
 * - That every intermediate state is delivered. Pending changes of one key may be merged, and a relist delivers only
 *   the difference.
 * - That two informers, or two sources of a set, show the same point in time.
 * - That a read includes a write that has just returned. Wait for it with `waitFor` or `fresh`.
 * - That stored objects can be modified. They are shared by all readers, and frozen outside production.
 *
 * Example 1. An object is created, updated twice and deleted while the watch is interrupted. The history of that
 * version is still available, so the watch resumes and delivers the changes, perhaps merged into fewer. If the history
 * has expired, the informer lists again. The object is absent from the store and from the list, so no change is
 * delivered.
 *
 * Example 2. An object `a` is in the store when the watch is interrupted. It is deleted, and created again with the
 * same key. A relist then delivers one update if the source has no uids. If the source has uids, it delivers a delete,
 * whose `finalState` is `unknown`, and then an add.
 *
 * @example
 * ```ts
 * import type { Equal, Informer } from 'listwatch'
 *
 * function openOrders(orders: Informer<Order, { readonly tenant: Equal<Order, string> }>, tenant: string): number {
 *   return orders.by.tenant(tenant).filter(({ status }) => status === 'open').length
 * }
 * await orders.start().synced()
 * console.log(openOrders(orders, 'acme'), orders.get('42')?.total)
 * ```
 */
export interface Informer<T, I = {}> extends StoreView<T, I>, Lifecycle {
  /**
   * The option `name`; without it the name of the source, or the names of the sources. It has a suffix such as `#2` if
   * another informer of the process, which was not stopped, has that name.
   */
  readonly name: string
  /**
   * The version of each source of a set, by name; of a single source under its own name. Empty before the first list.
   */
  readonly versions: ReadonlyMap<string, Version>
  /** The status now. The event `status` reports each change of state. */
  readonly status: Status
  /**
   * Returns a picture of the informer for people and logs, which can be serialised as JSON: states and their history,
   * sources, subscriptions, indexes, memory. It takes time in proportion to the number of index values, so it is not
   * for metrics. It contains keys, values of indexes and messages of errors, but no objects.
   *
   * With the environment variable `LISTWATCH_DEBUG=1`, the signal SIGUSR2 prints the pictures of all informers of the
   * process that were not stopped, one per line, as JSON on the standard error.
   */
  inspect(): Inspection
  /** The keys of invalid objects, with the error. A later valid event of the key removes it. */
  readonly invalid: ReadonlyMap<string, SourceError>
  /**
   * Calls the listener for every failure. The message says what happens next. Without listener and logger, an error is
   * a process warning, at most once a minute.
   *
   * @throws TypeError for an unknown event, or a listener that is not a function.
   */
  on(event: 'error', listener: (error: SourceError) => void): this
  /** Calls the listener after each change of state, with the new status and the previous one. */
  on(event: 'status', listener: (status: Status, previous: Status) => void): this
  /** Removes a listener. It is not called after this, even if a notification is pending. */
  off(event: 'error' | 'status', listener: (...args: never[]) => void): this
  /**
   * Calls the handlers, first with an add for each object that the store holds, then for every change, in order.
   *
   * @throws SourceError STOPPED after `stop`.
   * @throws OptionError for a wrong option; TypeError for wrong handlers.
   *
   * @example
   * ```ts
   * const paid = new Map<string, Order>()
   * const subscription = orders.subscribe(
   *   {
   *     add: ({ key, object }) => paid.set(key, object),
   *     update: ({ key, object }) => paid.set(key, object),
   *     delete: ({ key }) => paid.delete(key),
   *   },
   *   { filter: (order) => order.paid },
   * )
   * await subscription.synced() // All objects of the first list were handled.
   * ```
   */
  subscribe(handlers: Handlers<T>, options?: SubscribeOptions<T, I>): Subscription
  /**
   * Returns the same changes as an async iterator of batches. A slow loop delays nothing else.
   *
   * @throws SourceError STOPPED after `stop`.
   * @throws OptionError for a wrong option.
   */
  changes(options?: SubscribeOptions<T, I>): ChangeStream<T>
  /**
   * Calls `fn` for each key that changed, until it succeeds. Changes during a run are merged into one more run. A
   * failed run is retried with backoff, unless it throws a `TerminalError`. Runs of the same key never overlap.
   *
   * @throws SourceError STOPPED after `stop`.
   * @throws OptionError for a wrong option; TypeError if `fn` is not a function.
   *
   * @example
   * ```ts
   * const controller = orders.reconcile(async (key, { object, signal }) => {
   *   const path = `https://ledger.example/${encodeURIComponent(key)}`
   *   if (object === undefined) await fetch(path, { method: 'DELETE', signal })
   *   else await fetch(path, { method: 'PUT', body: JSON.stringify(object), signal })
   * })
   * ```
   */
  reconcile<const W extends readonly unknown[] = readonly []>(
    fn: (key: string, context: ReconcileContext<T>) => Promise<void>,
    options?: ReconcileOptions<T, I, W>,
  ): Controller
  /**
   * Resolves when the store includes `version`: the mark of a write, or any other version of the source. While the
   * store shows a history that has ended, the wait continues until the next list.
   *
   * @throws SourceError EPOCH_CHANGED if the version belongs to another history than the source.
   * @throws SourceError INVALID_MARK if it is not a version of this source.
   * @throws SourceError TIMEOUT after `timeoutMs`, and STOPPED when the informer or its source is stopped.
   * @throws TypeError if the source cannot compare versions, or if a source set needs the option `source`.
   *
   * @example
   * ```ts
   * // `mark` is the version of a write: here the result of `source.mark(tx)` of Postgres.
   * await orders.waitFor(mark, { timeoutMs: 5_000 })
   * ```
   */
  waitFor(version: Version, wait?: VersionWait): Promise<void>
  /**
   * Lists the whole source again. Resolves when a list that began after this call is in the store.
   *
   * @throws SourceError TIMEOUT after `timeoutMs`, and STOPPED when the informer is stopped.
   */
  relist(wait?: Wait): Promise<void>
  /**
   * Reads the current version of the source, and resolves when the store includes it. Transient errors of that request
   * are retried until the wait ends.
   *
   * @throws SourceError UNAUTHORIZED, NOT_FOUND or PROTOCOL if the source rejects the request.
   * @throws SourceError TIMEOUT after `timeoutMs`, and STOPPED when the informer is stopped.
   * @throws TypeError if a source has no `head` or cannot compare versions.
   *
   * @example
   * ```ts
   * await orders.fresh({ timeoutMs: 5_000 })
   * const ofAcme = orders.by.tenant('acme') // Includes all writes before the call of `fresh`.
   * ```
   */
  fresh(wait?: Wait): Promise<void>
  /**
   * Resolves with the object of the key once `condition` returns true for it, after the first list. `condition` is
   * called with `undefined` while the key is absent. It runs after each commit, so it should be fast.
   *
   * @throws SourceError TIMEOUT after `timeoutMs`, and STOPPED when the informer is stopped.
   * @throws The error that `condition` throws.
   */
  until(key: string, condition: (object: T | undefined) => boolean, wait?: Wait): Promise<T | undefined>
  /**
   * Returns a read-only view of the store as it is now. It keeps replaced objects in memory until it is disposed of.
   *
   * @throws SourceError STOPPED after `stop`.
   */
  snapshot(): StoreView<T, I> & Disposable
  /**
   * Adds an index, also to a store that holds objects already. Resolves with what `build` returns when the index has
   * all objects. Later changes wait until then.
   *
   * @throws SourceError STOPPED after `stop`.
   * @throws TypeError for a wrong name or a second index of that name.
   */
  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): Promise<X>
}

/**
 * The options of `createInformer`. `S`: objects of the source; `P`: after `schema`; `T`: after `transform`; `I`:
 * indexes.
 *
 * @example
 * ```ts
 * const informer = createInformer({
 *   source,
 *   transform: (order: Order) => (order.status === 'archived' ? undefined : order), // `undefined`: it is not stored.
 *   indexes: (ix) => ({ tenant: ix.equal(({ tenant }) => tenant), total: ix.ordered(({ total }) => total) }),
 *   onAccessLost: 'clear', // Default: `keep`.
 *   audit: { periodMs: 600_000 }, // Default: 5 minutes, if the source can list versions.
 *   logger: console,
 * })
 * ```
 */
export interface InformerOptions<S, I extends object, P = S, T = P> {
  /**
   * The name of the informer in logs, errors, metrics, traces and `inspect()`. Messages have it in front of the source:
   * `list of orders (postgres:orders) failed`. Default: the name of the source, or of the sources.
   */
  readonly name?: string
  /** A source, or several sources in one store: `sourceSet`. */
  readonly source: ListerWatcher<S> | SourceSet<S>
  /**
   * A synchronous Standard Schema, for example of zod, valibot or arktype. Its output is stored. An object that it
   * rejects is invalid. It runs once for each object that arrives.
   */
  readonly schema?: StandardSchema<P>
  /**
   * Converts an object of the source to the stored object. If it returns `undefined`, the object is not stored. If it
   * throws, the object is invalid. It runs once for each object that arrives, and must not call the informer.
   */
  readonly transform?: (object: P, key: string) => T | undefined
  /**
   * Returns whether two objects are equal: then no change is delivered. Default: a comparison of their content, which
   * includes all own properties. Typed arrays are compared by their bytes. Of plain objects and arrays that the source
   * yields, and neither `schema` nor `transform` has made, only enumerable names and elements are compared. An instance
   * counts as changed if its class may have state that is not in its own properties, such as private fields. That is
   * reported once, with the name of the class.
   */
  readonly equals?: (a: T, b: T) => boolean
  /** Declares the indexes, which are then members of `informer.by`. Default: no indexes. */
  readonly indexes?: (ix: IndexBuilder<T>) => I
  /**
   * Whether the last valid object stays in the store when a later version of it is invalid. Default: `keep-previous`.
   */
  readonly onInvalid?: 'omit' | 'keep-previous'
  /**
   * What happens to the objects of a source if a list or a watch fails with `UNAUTHORIZED` after the first list. `keep`
   * (default): they stay readable. `clear`: they are deleted from the store, and handlers receive deletes with the
   * origin `access-lost`, which say nothing about the object at the source. The next list that succeeds adds the
   * objects again; until then `waitFor` and `fresh` wait, and `health()` is not ready. An expired credential counts as
   * lost access too.
   */
  readonly onAccessLost?: 'keep' | 'clear'
  /**
   * Whether stored plain objects and arrays are frozen deeply, and arrays of results too. Results are shared between
   * reads: without it a program that sorts one in place changes what others read. Default: true unless NODE_ENV is
   * `production`.
   */
  readonly freeze?: boolean
  /**
   * Stores equal subtrees (plain objects and arrays inside of objects) and equal strings once: labels, owner
   * references. It saves memory if many objects have them in common, and costs time for each object that is new or
   * changed, after `transform` and `equals`. Instances of classes, and everything inside them, are kept as they are.
   * Subtrees that no stored object contains are collected. An object that is modified changes others too: with
   * `freeze: false`, which is the default in production, no error shows that. See docs/how-to/tuning.md. Default: false.
   */
  readonly intern?: boolean
  /**
   * Saves the mirror, and starts from the saved content: the watch resumes at its version, and nothing is listed. By
   * default readers see it only once the source has confirmed that its history continues from there. Only for a single
   * source. See docs/how-to/warm-start.md. Default: no cache.
   */
  readonly cache?: MirrorCache
  /** @internal The sizes of large writes and of their slices. */
  readonly slices?: Slices
  /**
   * Compares the store with the source about every `periodMs` milliseconds (default: 5 minutes), reports a difference
   * and lists again. Default: on if the source can list keys and versions (`versions`). For other sources an audit
   * reads a whole list. `false` turns audits off.
   */
  readonly audit?: false | { readonly periodMs?: number }
  /** The clock of all delays and timeouts. Default: `systemClock`. */
  readonly clock?: Clock
  /** The random numbers of all delays. Default: `systemRandom`. */
  readonly random?: Random
  /** Receives status changes, warnings and errors; `console` fits. Default: no log. */
  readonly logger?: Logger
}
