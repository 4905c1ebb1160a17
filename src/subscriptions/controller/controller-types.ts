import type { Leases } from '../../contract/leases.js'
import type { Deleted } from '../../queue/change.js'
import type { Wait } from '../../util/deadline.js'
import type { Handlers } from '../delivery/handler-types.js'
import type { Scope, Subscription } from '../subscription-types.js'

/**
 * The second argument of a reconcile function.
 *
 * @example
 * ```ts
 * import type { ReconcileContext } from 'listwatch'
 *
 * async function ship(key: string, { object, signal, requeueAfter }: ReconcileContext<Order>): Promise<void> {
 *   if (object === undefined) return // It was deleted, or left the scope.
 *   await fetch(`https://carrier.example/${key}`, { method: 'PUT', body: JSON.stringify(object), signal })
 *   if (object.status !== 'delivered') requeueAfter(60_000) // Milliseconds.
 * }
 * orders.reconcile(ship)
 * ```
 */
export interface ReconcileContext<T> {
  /** The object as it is in the store now; undefined if it was deleted, or is out of the scope. */
  readonly object: T | undefined
  /** The last state of a deleted object, until a run for the deletion has succeeded; otherwise undefined. */
  readonly lastObject: T | undefined
  /**
   * Why there is no object; undefined if there is one. `deleted`: the source reported the delete, or does not list the
   * object any more. After a run for the delete has succeeded: `unknown`. The others are those of `Deleted`.
   */
  readonly gone: 'deleted' | Deleted<T>['gone']
  /**
   * Why the key runs. Of several reasons the first in this list counts:
   * - `changed`: the object was added, changed or deleted.
   * - `enqueued`: `enqueue` was called.
   * - `watches`: an object of an informer in `watches` was added, changed or deleted.
   * - `gained`: with the option `leases`, the key has moved to this replica.
   * - `initial`: the object was in the store when the controller began.
   * - `retry`: the last run failed, and its delay is over.
   * - `requeued`: the last run called `requeueAfter`.
   * - `resync`: the period of `resyncMs` is over.
   */
  readonly reason: 'changed' | 'enqueued' | 'watches' | 'gained' | 'initial' | 'retry' | 'requeued' | 'resync'
  /** 1 for the first run, after a success and after the last retry, and 1 more after each other failure. */
  readonly attempt: number
  /**
   * Aborts when the controller or the informer stops, when the option `timeoutMs` is over, and when the lease of this
   * replica ends. After a pause of the process it is aborted as soon as it is read.
   */
  readonly signal: AbortSignal
  /**
   * With the option `leases`: a number that is greater than each fence with which another replica ran the key before.
   * A store that rejects writes with a smaller fence than the last one is safe from writes of replicas that were
   * paused. Without `leases`: undefined.
   */
  readonly fence: number | undefined
  /**
   * Runs the key again after `delayMs` milliseconds, if this run succeeds. A change, a resync or an `enqueue` of the
   * key before that time cancels it.
   *
   * @throws TypeError if `delayMs` is not a finite number of at least 0.
   */
  requeueAfter(delayMs: number): void
}

/**
 * The delays of retries.
 *
 * @example
 * ```ts
 * orders.reconcile((key, { object }) => makeItSo(key, object), {
 *   retry: { minMs: 1_000, maxMs: 300_000, maxAttempts: 10 }, // Default: 100 ms to 30 s, without a limit.
 * })
 * ```
 */
export interface RetryOptions {
  /**
   * The longest delay after the first failure of a key, in milliseconds. It doubles after each further failure in a
   * row. Up to half of each delay is subtracted at random. A change of a failed key runs it after this time. Default:
   * 100.
   */
  readonly minMs?: number
  /** The upper limit of the delays, in milliseconds. Default: 30 000. */
  readonly maxMs?: number
  /**
   * After this many failures in a row a key is not retried, as if the run had thrown a `TerminalError`. It runs again
   * for a change, a resync or an `enqueue`, as attempt 1. Default: no limit.
   */
  readonly maxAttempts?: number
}

/**
 * Another informer whose changes run keys of a controller.
 *
 * @example
 * ```ts
 * owners.reconcile((key) => ensureRunning(key), {
 *   watches: [
 *     { informer: pods, keys: (pod) => [pod.ownerId] },
 *     { informer: limits, keys: ({ tenant }) => (tenant === undefined ? [] : [tenant]) },
 *   ],
 * })
 * ```
 */
export interface ControllerWatch<U> {
  /** The other informer. */
  readonly informer: {
    /** Resolves when the first list is in the store. */
    synced(wait?: Wait): Promise<void>
    /** Returns all objects with their keys. */
    entries(): Iterable<readonly [string, U]>
    /** Registers handlers for the changes. */
    subscribe(handlers: Handlers<U>, options?: { readonly name?: string }): Subscription
  }
  /**
   * Returns the keys of the controller that belong to an object. Called for each object of the first list and for each
   * changed one. For an update it is called for the previous and for the current state, so that the old and the new
   * owner run.
   */
  readonly keys: (object: U, key: string) => Iterable<string>
}

/**
 * The options of `reconcile`. `W`: the types of the objects of `watches`.
 *
 * @example
 * ```ts
 * orders.reconcile((key, { object }) => makeItSo(key, object), {
 *   name: 'billing',
 *   where: { tenant: 'acme' },
 *   concurrency: 8, // Default: 1 key at a time.
 *   timeoutMs: 30_000, // Default: no limit.
 *   after: [limits], // No key runs before `limits` is synced.
 * })
 * ```
 */
export interface ReconcileOptions<T, I = {}, W extends readonly unknown[] = readonly unknown[]> extends Scope<T, I> {
  /**
   * Other informers whose changes run keys, with the reason `watches`. No key runs before these informers are synced,
   * as with `after`. Default: none.
   */
  readonly watches?: { readonly [K in keyof W]: ControllerWatch<W[K]> }
  /**
   * No key runs before these informers and groups are synced, and `health` is not ready. If one is stopped before, no
   * key ever runs, which is reported. So is one that was not started for 10 s. A group starts these informers first and drains them last. Default: none.
   */
  readonly after?: readonly {
    /** Resolves when the first lists are in the stores. */
    synced(wait?: Wait): Promise<void>
  }[]
  /** The delays of retries, and their number. */
  readonly retry?: RetryOptions
  /** Limits how many runs start. Default: no limit. */
  readonly rateLimit?: RateLimit
  /**
   * Returns the priority of a key: of the keys that wait, the one with the highest number runs first. Called when the
   * key begins to wait, and for each further reason. Use few different numbers. Keys of equal priority run in their
   * order. If it throws or returns no finite number, that is reported once, and the priority is 0. Default: resyncs run
   * last.
   */
  readonly priority?: (key: string, reason: ReconcileContext<T>['reason']) => number
  /**
   * Shares the keys with the controllers of other processes that have the same lease store and group: a key runs on one
   * replica at a time. Default: this controller runs every key.
   */
  readonly leases?: Leases
}

/**
 * A limit of the runs that start: a token bucket.
 *
 * @example
 * ```ts
 * orders.reconcile((key, { object }) => makeItSo(key, object), {
 *   rateLimit: { perSecond: 50, burst: 100 }, // Default of `burst`: 1.
 * })
 * ```
 */
export interface RateLimit {
  /** How many runs may start in a second, on average. */
  readonly perSecond: number
  /** How many runs may start at once, after a pause. Default: 1. */
  readonly burst?: number
}

/**
 * A key of a controller whose last run failed.
 *
 * @example
 * ```ts
 * const controller = orders.reconcile((key, { object }) => makeItSo(key, object))
 * for (const [key, { attempt, retryAt, lastError }] of controller.failing) {
 *   const next = retryAt === undefined ? 'after a change' : `at ${new Date(retryAt).toISOString()}`
 *   console.warn(`${key}: ${lastError}; run ${attempt} ${next}`)
 * }
 * ```
 */
export interface FailingKey {
  /** The number of the next run. */
  readonly attempt: number
  /** When the last run failed, in milliseconds since the Unix epoch. */
  readonly failedAt: number
  /** When the next run is due, in milliseconds since the Unix epoch. Undefined if the key is not retried. */
  readonly retryAt: number | undefined
  /** The message of the last failure, at most 200 characters. */
  readonly lastError: string
}

/**
 * The place of a controller in its group of replicas.
 *
 * @example
 * ```ts
 * import { postgresLeases } from 'listwatch/postgres'
 *
 * const leases = postgresLeases({ pool, group: 'orders' })
 * const controller = orders.reconcile((key, { object }) => makeItSo(key, object), { leases })
 * const place = controller.replica
 * console.log(`${place?.member}: one of ${place?.members.length} replicas, for ${place?.leaseEndsInMs} ms`)
 * ```
 */
export interface ReplicaStatus {
  /** The name of this replica in its group; a new one each time that it joins. */
  readonly member: string
  /** The replicas among which it shares the keys, itself included. Empty while it joins or leaves. */
  readonly members: readonly string[]
  /** The part of all keys that it may run, from 0 to 1, estimated from samples. */
  readonly share: number
  /** How long its lease is valid, in milliseconds; 0 without a lease. */
  readonly leaseEndsInMs: number
  /** The fence of a run that begins now; undefined before the first renewal. */
  readonly fence: number | undefined
}

/**
 * A level-triggered controller: it runs a function for each key that changed, with the state in the store at the time
 * of the run, until the function succeeds. Its `version` is the version up to which every change was reconciled: with
 * success, or with a failure that is not retried.
 *
 * @example
 * ```ts
 * const controller = orders.reconcile((key, { object }) => makeItSo(key, object))
 * controller.pause() // Changes are received, and wait.
 * controller.resume()
 * controller.enqueue('42', { delayMs: 60_000 }) // Runs the key without a change.
 * await controller.close({ drain: true })
 * ```
 */
export interface Controller extends Subscription {
  /** With the option `leases`: its place in the group. Otherwise undefined. */
  readonly replica: ReplicaStatus | undefined
  /**
   * The keys whose last run failed. A key that is not retried stays until a run of it succeeds; of such keys the latest
   * 10 000 are kept.
   */
  readonly failing: ReadonlyMap<string, FailingKey>
  /** Whether `pause` was called, and `resume` was not called since. */
  readonly isPaused: boolean
  /**
   * Starts no run until `resume`. Runs in progress continue, and changes are still received. While it is paused,
   * `close` with `drain` and `stop` with `drainMs` wait for the runs in progress, and not for the keys that wait.
   */
  pause(): void
  /** Starts runs again. */
  resume(): void
  /**
   * Runs a key for a reason other than a change: as soon as possible, or after `delayMs` milliseconds. An earlier run
   * of the key does not cancel the delay. Of several delays of a key the earliest counts. Has no effect after `close`.
   *
   * @throws TypeError if the key is not a string, or an option is not valid.
   */
  enqueue(key: string, options?: { readonly delayMs?: number }): void
}
