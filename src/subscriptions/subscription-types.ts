import { OptionError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import type { Change, Updated } from '../queue/change.js'
import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import type { Index } from '../store/indexes/index-types.js'
import { copyScalar, isScalar } from '../store/indexes/scalar.js'
import type { Wait } from '../util/deadline.js'
import {
  checkOptions,
  isCount,
  isFunction,
  isName,
  isOneOf,
  isPositive,
  isSignal,
  isString,
  isWhere,
  type OptionCheck,
} from '../util/validate-options.js'
import type { VersionWait } from './version-waiters.js'

/**
 * The scope of a subscription, and options of its handlers. An object that enters the scope is delivered as an add, an
 * object that leaves it as a delete.
 *
 * @example
 * ```ts
 * const scope = { where: { tenant: 'acme' }, filter: (order: Order) => order.total > 1_000, signal }
 * orders.subscribe({ add: ({ key }) => console.log(key) }, { ...scope, concurrency: 4 })
 * orders.reconcile((key, { object }) => makeItSo(key, object), { ...scope, resyncMs: 600_000 })
 * orders.reconcile((key, { object }) => makeItSo(key, object), {
 *   when: ({ object, previous }) => object.status !== previous.status, // No run for a change of the total.
 * })
 * ```
 */
export interface Scope<T, I = {}> {
  /** A name for errors and logs. Default: none. */
  readonly name?: string
  /** Closes the subscription when it aborts. */
  readonly signal?: AbortSignal | undefined
  /**
   * How many keys are handled at a time. The changes of one key are handled in order. `changes` ignores it: its reader
   * takes one batch after the other. Default: 1.
   */
  readonly concurrency?: number
  /**
   * The time limit of a handler or a run, in milliseconds. After it the `signal` aborts, and the call counts as failed.
   * Then the next change of the key is delivered, or the run is retried, even if the function ignores its signal and
   * still runs. `changes` ignores it. Default: no limit.
   */
  readonly timeoutMs?: number
  /**
   * The period of resyncs, in milliseconds. In each period every object in scope is delivered again, as an update with
   * `origin: 'resync'`. The objects come from the store, in parts that are spread over the period. A part waits while
   * changes are queued. Default: no resyncs.
   */
  readonly resyncMs?: number
  /** Only this key. */
  readonly key?: string
  /** Only objects that have these values in these indexes. Changes of other objects cost nothing. */
  readonly where?: { readonly [K in keyof I]?: I[K] extends Index<unknown, infer V> ? V : never }
  /**
   * Only objects for which it returns true. Called for the objects of the store at the beginning, and for each change.
   * For more than 1 024 objects it is called in slices of about 8 ms; nothing is delivered before it was called for
   * all.
   */
  readonly filter?: (object: T, key: string) => boolean
  /**
   * Only updates for which it returns true. Adds, deletes and resyncs are always delivered. Called once for each update
   * in scope, before it waits in the queue. `previous` is the last object that was delivered or waits, so an update that
   * was left out counts with the next one. If it throws, the update is delivered. Default: every update.
   */
  readonly when?: (change: Updated<T>) => boolean
}

/**
 * The options of `subscribe` and `changes`.
 *
 * @example
 * ```ts
 * orders.subscribe(
 *   { update: ({ key, object }) => console.log(key, object.status) },
 *   { capacity: 1_000, onOverflow: 'fail' }, // Default: 10 000 changes, and `coalesce`.
 * )
 * orders.changes({ delivery: 'latest' }) // The changes of a key that wait are merged. Default: `every`.
 * ```
 */
export interface SubscribeOptions<T, I = {}> extends Scope<T, I> {
  /** `every` (default): each change. `latest`: the changes of a key that wait are merged into one. */
  readonly delivery?: 'every' | 'latest'
  /** How many changes the queue of `every` may hold. Default: 10 000. */
  readonly capacity?: number
  /**
   * What happens if more changes wait. `coalesce` (default): the queue behaves as `latest` until it is empty. `fail`:
   * the subscription is closed, and an error with code `HANDLER` is reported.
   */
  readonly onOverflow?: 'coalesce' | 'fail'
}

/** The options that a feed reads. The type of `where` was checked at the public call. */
export type FeedOptions<T> = Omit<SubscribeOptions<T>, 'where'> & { readonly where?: object }

/**
 * Changes that belong together: one commit of the store, several merged commits, or a part of the initial replay.
 *
 * @example
 * ```ts
 * for await (const { changes, version, isSynced } of orders.changes()) {
 *   send(changes)
 *   if (isSynced) console.log(`everything up to ${version} was sent`)
 * }
 * ```
 */
export interface ChangeBatch<T> {
  /** Empty for a bookmark: everything up to `version` has been delivered. */
  readonly changes: readonly Change<T>[]
  /**
   * The version of the source after these changes. Undefined with several sources, and in the initial replay, except in
   * its last batch.
   */
  readonly version: Version | undefined
  /** With several sources: the name of the source of these changes; undefined if changes of several are merged. */
  readonly source: string | undefined
  /** Whether all objects of the initial replay have been delivered, including this batch. */
  readonly isSynced: boolean
}

/** How long `close` and `stop` wait for a running handler, in milliseconds. */
export const CLOSE_GRACE_MS = 1_000

/**
 * A registered handler, a stream of changes or a controller. It ends by `close`, by its signal, and with the informer.
 *
 * @example
 * ```ts
 * const subscription = orders.subscribe({ add: ({ object }) => send([object]) })
 * await subscription.synced({ timeoutMs: 30_000 }) // The stored objects were handled,
 * await subscription.waitFor(mark) // and the write with this mark.
 * console.log(`${subscription.backlog.keys} keys wait`)
 * await subscription.close({ drain: true })
 * ```
 */
export interface Subscription extends AsyncDisposable {
  /**
   * The version up to which every change was handled, not only stored. Undefined during the initial replay, and with
   * several sources.
   */
  readonly version: Version | undefined
  /**
   * The changes that wait. `keys` counts each queued key once, each change that has left the queue and waits for its
   * handler, and each object for which `filter` is still to be called. So it may be larger than the number of keys.
   * `oldestMs` is how many milliseconds the oldest change has waited. A merged change has waited as long as the first
   * of its changes. `oldestKey` is the key whose handler or run has been running for longest; undefined if none runs.
   */
  readonly backlog: { readonly keys: number; readonly oldestMs: number; readonly oldestKey?: string | undefined }
  /**
   * Resolves when the initial replay was handled. The replay starts after the first list of the informer.
   *
   * @throws SourceError `TIMEOUT` after `timeoutMs`, `STOPPED` if the subscription is closed before.
   */
  synced(wait?: Wait): Promise<void>
  /**
   * Resolves when every change up to `version` was handled.
   *
   * @throws SourceError `EPOCH_CHANGED` if the version is of another epoch, `TIMEOUT` after `timeoutMs`, `STOPPED` if
   * the subscription is closed before.
   * @throws TypeError if the source cannot compare versions.
   */
  waitFor(version: Version, wait?: VersionWait): Promise<void>
  /**
   * Ends the subscription. With `drain` the changes that wait now are handled first. Waits up to 1 s for a running
   * handler, and then resolves. With `drain` it waits as long as the handlers run: a handler must not await it.
   * Such a handler never settles, which is reported after 10 s.
   */
  close(options?: { readonly drain?: boolean }): Promise<void>
}

/**
 * A subscription as an async iterator of batches. A batch counts as handled when the next one is read. Until then later
 * changes wait in the queue. The iteration ends without an error when the stream is closed, when its signal aborts and
 * when the informer stops. Leaving the loop closes the stream.
 *
 * @example
 * ```ts
 * const stream = orders.changes({ where: { tenant: 'acme' }, signal })
 * for await (const { changes } of stream) {
 *   console.log(`${changes.length} changes, and ${stream.backlog.keys} keys wait`)
 *   if (changes.some(({ type }) => type === 'delete')) break // Closes the stream.
 * }
 * ```
 */
export interface ChangeStream<T> extends Subscription, AsyncIterable<ChangeBatch<T>> {}

/** The checks of the options of `Scope`. */
export const scopeChecks: Readonly<Record<string, OptionCheck>> = {
  name: isName,
  signal: isSignal,
  concurrency: isCount,
  timeoutMs: isPositive,
  resyncMs: isPositive,
  key: isString,
  where: isWhere,
  filter: isFunction,
  when: isFunction,
}

const subscribeChecks = {
  ...scopeChecks,
  delivery: isOneOf('every', 'latest'),
  capacity: isCount,
  onOverflow: isOneOf('coalesce', 'fail'),
} as const

/** Throws a TypeError that names the option if an option is unknown or not valid. */
export function checkSubscribeOptions(call: string, options: object): void {
  checkOptions(call, options, call === 'reconcile' ? scopeChecks : subscribeChecks)
}

/** The declared indexes that `where` names, each with the value. Throws an OptionError if there is no such index. */
export function declaredIn<T>(
  call: string,
  where: object,
  declared: ReadonlyMap<string, DeclaredIndex<T>>,
): (readonly [DeclaredIndex<T>, unknown])[] {
  const named: (readonly [DeclaredIndex<T>, unknown])[] = []
  for (const [name, value] of Object.entries(where)) {
    const index = declared.get(name)
    if (index === undefined) {
      const allowed = declared.size === 0 ? 'no index is declared' : `allowed are ${[...declared.keys()].join(', ')}`
      throw new OptionError(`${call}: where: there is no index "${name}"; ${allowed}`, { option: 'where' })
    }
    const flaw = index.flawIn(value)
    if (flaw !== undefined) throw new OptionError(`${call}: where "${name}" ${flaw}`, { option: 'where' })
    named.push([index, copyOf(value)])
  }
  return named
}

/** A copy of a scalar or a tuple in `where`, which the caller cannot change. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf)
  return isScalar(value) ? copyScalar(value) : value
}
