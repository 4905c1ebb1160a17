import type { WatchEvent } from '../contract/source.js'
import type { Version } from '../contract/version.js'

/**
 * The reason of a change:
 * - `initial`: the object was in the store when the subscription began.
 * - `watch`: the watch delivered it.
 * - `relist`: a new list differs from the store.
 * - `resync`: a repeated delivery of a stored object.
 * - `access-lost`: the store was cleared because of `onAccessLost: 'clear'`.
 *
 * @example
 * ```ts
 * orders.subscribe({
 *   add: ({ key, origin }) => {
 *     if (origin === 'watch' || origin === 'relist') console.log(`${key} was ordered`) // Not at each start.
 *   },
 * })
 * ```
 */
export type Origin = 'initial' | 'watch' | 'relist' | 'resync' | 'access-lost'

/**
 * The members of every change.
 *
 * @example
 * ```ts
 * import type { ChangeBase } from 'listwatch/adapter'
 *
 * const lineOf = ({ key, origin, version }: ChangeBase<unknown>) => `${key} by ${origin} at ${version}`
 * orders.subscribe({ add: (change) => console.log(lineOf(change)) })
 * ```
 */
export interface ChangeBase<T> {
  /** The key of the object in the store. */
  readonly key: string
  /** The current object; of a delete the last known one. */
  readonly object: T
  /** The version of the batch with the change; undefined in the initial replay and of a resync. */
  readonly version: Version | undefined
  /** The reason of the change. */
  readonly origin: Origin
}

/**
 * A new object in the scope of the subscription.
 *
 * @example
 * ```ts
 * orders.subscribe({
 *   add: ({ key, object, origin }) => console.log(origin === 'initial' ? 'known' : 'new', key, object.total),
 * })
 * ```
 */
export interface Added<T> extends ChangeBase<T> {
  readonly type: 'add'
  /** Always undefined. */
  readonly previous: undefined
}

/**
 * A changed object, or the repeated delivery of one.
 *
 * @example
 * ```ts
 * orders.subscribe({
 *   update: ({ key, object, previous, origin }) => {
 *     if (origin !== 'resync' && object.paid && !previous.paid) console.log(`${key} was paid`)
 *   },
 * })
 * ```
 */
export interface Updated<T> extends ChangeBase<T> {
  readonly type: 'update'
  /** The object that this subscription received last for the key. */
  readonly previous: T
}

/**
 * An object that was deleted, or left the scope of the subscription.
 *
 * @example
 * ```ts
 * orders.subscribe({
 *   delete: ({ key, object, gone, finalState }) => {
 *     if (gone !== undefined) console.log(`${key} left the mirror: ${gone}`)
 *     else if (finalState === 'known') console.log(`${key} was deleted with the total ${object.total}`)
 *     else console.log(`${key} was deleted; its last known total is ${object.total}`)
 *   },
 * })
 * ```
 */
export interface Deleted<T> extends ChangeBase<T> {
  readonly type: 'delete'
  /** The object that this subscription received last for the key. */
  readonly previous: T
  /** `known`: the source reported the delete. `unknown`: the key was missing in a list, so `object` may be outdated. */
  readonly finalState: 'known' | 'unknown'
  /**
   * Why the object is absent, if the source did not delete it; otherwise without this member:
   * - `out-of-scope`: it left the scope of the subscription, or `transform` omits it. It may have been deleted since.
   * - `source-removed`: its source was removed from the set.
   * - `unknown`: access was lost, the object is invalid, or no delete of the key was received.
   */
  readonly gone?: 'out-of-scope' | 'source-removed' | 'unknown'
}

/**
 * A change, as handlers receive it. For each key a subscription receives `(add update* delete)*`.
 *
 * @example
 * ```ts
 * for await (const { changes } of orders.changes()) {
 *   for (const change of changes) {
 *     if (change.type === 'delete') console.log(`${change.key} was ${change.previous.status}`)
 *     else console.log(`${change.key}: ${change.previous?.status ?? 'absent'} → ${change.object.status}`)
 *   }
 * }
 * ```
 */
export type Change<T> = Added<T> | Updated<T> | Deleted<T>

/** The pending changes of one key, relative to the last delivered one: one change, or a delete and then an add. */
export type Pending<T> = Change<T> | readonly [Deleted<T>, Added<T>]

/**
 * Merges a change into the pending changes of its key. A subscriber that receives the result ends in the same state as
 * one that receives the changes one by one. Returns undefined if no change is left.
 */
export function mergePending<T>(pending: Pending<T> | undefined, change: Change<T>): Pending<T> | undefined {
  if (pending === undefined) return change
  if (isPair(pending)) return mergeIntoPair(pending, change)
  switch (pending.type) {
    case 'add':
      if (change.type === 'delete') return undefined
      return { ...change, type: 'add', previous: undefined, origin: pending.origin }
    case 'update':
      if (change.type === 'add') return { ...change, type: 'update', previous: pending.previous }
      return { ...change, previous: pending.previous }
    case 'delete':
      // The second of two deletes includes the data of the first already.
      if (change.type === 'delete')
        return { ...change, previous: pending.previous, version: change.version ?? pending.version }
      return [pending, { ...change, type: 'add', previous: undefined }]
  }
}

function mergeIntoPair<T>([gone, back]: readonly [Deleted<T>, Added<T>], change: Change<T>): Pending<T> {
  // The object that was added again has a last state of its own.
  if (change.type === 'delete') return { ...change, previous: gone.previous }
  return [gone, { ...change, type: 'add', previous: undefined, origin: back.origin }]
}

/** The pending changes as an array, in the order of delivery. */
export function changesOf<T>(pending: Pending<T>): readonly Change<T>[] {
  return isPair(pending) ? pending : [pending]
}

export function isPair<T>(pending: Pending<T>): pending is readonly [Deleted<T>, Added<T>] {
  return Array.isArray(pending)
}

/**
 * The keys of the invalid events of a batch. A replace in the same batch counts them as listed. Undefined if an invalid
 * event has no key: then no key is known to be deleted.
 */
export function namedInvalid(events: readonly WatchEvent<unknown>[]): ReadonlySet<string> | undefined {
  const keys = new Set<string>()
  for (const event of events) {
    if (event.type !== 'invalid') continue
    if (event.key === undefined) return undefined
    keys.add(event.key)
  }
  return keys
}

/**
 * A change in a `DeltaFIFO`.
 *
 * @example
 * ```ts
 * import type { Delta } from 'listwatch'
 *
 * const totals = new Map<string, number>()
 * function apply({ type, key, object }: Delta<Order>): void {
 *   if (type === 'deleted') totals.delete(key)
 *   else totals.set(key, object.total)
 * }
 * ```
 */
export interface Delta<T> {
  /** What happened. `replaced`: the object was in a list. `sync`: a repeated delivery of a stored object. */
  readonly type: 'added' | 'updated' | 'deleted' | 'replaced' | 'sync'
  /** The key of the object. */
  readonly key: string
  /** The current object; of a delete the last known one. */
  readonly object: T
  /** The version of the batch with the change; undefined in the initial replay and of a resync. */
  readonly version: Version | undefined
}

/**
 * The deltas that one call of `drain` or `pop` returns.
 *
 * @example
 * ```ts
 * import { DeltaFIFO } from 'listwatch'
 *
 * const fifo = new DeltaFIFO<Order>()
 * const { deltas, version, isBoundary } = await fifo.drain({ signal })
 * console.log(deltas.map(({ type, key }) => `${type} ${key}`))
 * if (isBoundary) console.log(`equal to the source at ${version}`)
 * ```
 */
export interface DeltaBatch<T> {
  /** The deltas in order. Empty for a bookmark. */
  readonly deltas: readonly Delta<T>[]
  /** The version of the source after these deltas; undefined if they end between two boundaries. */
  readonly version: Version | undefined
  /** Whether a store that has applied all deltas so far equals the source at `version`. */
  readonly isBoundary: boolean
}
