import type { Added, Deleted, Updated } from '../../queue/change.js'
import { membersOf } from '../../util/type-guards.js'
import { checkOptions, isFunction } from '../../util/validate-options.js'

/**
 * The callbacks of a subscription. A returned promise is awaited before the next change of the same key. A handler that
 * throws, rejects, or does not settle within 10 s is reported with code `HANDLER`. Delivery continues: other
 * subscriptions are not affected, and a failed change is not delivered again. The signal in the second argument aborts
 * when the subscription or the informer stops, and when the option `timeoutMs` is over.
 *
 * @example
 * ```ts
 * import type { Handlers } from 'listwatch'
 *
 * function copyInto(copy: Map<string, Order>): Handlers<Order> {
 *   const set = ({ key, object }: { readonly key: string; readonly object: Order }) => copy.set(key, object)
 *   return { add: set, update: set, delete: ({ key }) => copy.delete(key) }
 * }
 * orders.subscribe(copyInto(new Map()))
 * ```
 */
export interface Handlers<T> {
  /**
   * Called for an object that is new in the scope of the subscription. Without it at the call of `subscribe`, the
   * objects that the store holds are not read for the subscription, unless its scope needs that.
   */
  add?(change: Added<T>, context: { readonly signal: AbortSignal }): unknown
  /** Called for an object in the scope that changed, and for each object at a resync. */
  update?(change: Updated<T>, context: { readonly signal: AbortSignal }): unknown
  /** Called for an object that was deleted, or that left the scope. */
  delete?(change: Deleted<T>, context: { readonly signal: AbortSignal }): unknown
}

/** Throws a TypeError if `handlers` is not an object with functions as handlers. */
export function assertHandlers(handlers: unknown, call: string): void {
  if (typeof handlers !== 'object' || handlers === null) throw new TypeError(`${call}: the handlers must be an object`)
  const { add, update, delete: gone } = membersOf(handlers)
  // An instance of a class may have other members. In a literal an unknown member is a mistake.
  const isLiteral = [Object.prototype, null].includes(Object.getPrototypeOf(handlers))
  const checked = isLiteral ? handlers : { add, update, delete: gone }
  checkOptions(`${call}: the handlers`, checked, { add: isFunction, update: isFunction, delete: isFunction })
}
