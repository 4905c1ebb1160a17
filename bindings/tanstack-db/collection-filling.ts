import { systemClock } from '../../src/contract/clock.js'
import { messageOf, SourceError, thrownFor } from '../../src/contract/errors.js'
import { emitWarning } from '../../src/contract/node-or-browser.js'
import type { Status } from '../../src/contract/status.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { ChangeBatch, ChangeStream } from '../../src/subscriptions/subscription-types.js'

/** Warnings about subscribers of a collection are at least this far apart, in milliseconds. */
const WARNING_MS = 60_000
const TYPES = { add: 'insert', update: 'update', delete: 'delete' } as const

/**
 * The functions of a collection that a sync uses, as TanStack DB declares them.
 *
 * @example
 * ```ts
 * import type { CollectionSync } from 'listwatch/tanstack-db'
 *
 * // What `sync` does with the functions of a collection.
 * function fill({ begin, write, commit, markReady }: CollectionSync<Order>): void {
 *   begin()
 *   for (const [key, value] of orders.entries()) write({ type: 'insert', key, value })
 *   commit()
 *   markReady()
 * }
 * ```
 */
export interface CollectionSync<T extends object> {
  /** Begins a transaction. */
  readonly begin: () => void
  /** Adds a change to the transaction. */
  readonly write: (change: {
    readonly type: 'insert' | 'update' | 'delete'
    readonly key: string
    readonly value: T
  }) => void
  /** Commits the transaction. */
  readonly commit: () => unknown
  /** Makes the collection ready. */
  readonly markReady: () => void
  /** Makes the status of the collection `error`. */
  readonly markError: (error?: unknown) => void
}

/**
 * Fills a collection with the changes of an informer until `end` is called: the collection receives nothing after that.
 * `keys` has the keys of the objects that were written.
 */
export function fillCollection<T extends object>(
  informer: Informer<T, object>,
  where: object,
  collection: CollectionSync<T>,
  keys: WeakMap<object, string>,
): { readonly stream: ChangeStream<T>; end(): void } {
  const { begin, write, commit, markReady, markError } = collection
  const stream = informer.changes({ where, delivery: 'latest' })
  let isReady = false
  let isEnded = false
  /** Whether a transaction has begun: that of the initial content consists of several batches. */
  let hasBegun = false
  let warnedAt = -Infinity
  /** Before the first list the collection has the failure of the informer. */
  const onStatus = ({ state, lastError }: Status): void => {
    if (state === 'failed' && !isReady) markError(thrownFor(lastError))
  }
  const end = (): void => {
    isEnded = true
    informer.off('status', onStatus)
    void stream.close()
  }
  /** The collection throws what a subscriber has thrown, after its work: the others still need the next batches. */
  const notifying = (call: () => unknown): void => {
    try {
      call()
    } catch (thrown) {
      const now = systemClock.now()
      if (now - warnedAt < WARNING_MS) return
      warnedAt = now
      const detail = thrown instanceof Error ? thrown.stack : undefined
      const message = `a subscriber of a collection of ${informer.name} threw: ${messageOf(thrown)}`
      emitWarning(message, { code: 'HANDLER', ...(detail === undefined ? {} : { detail }) })
    }
  }
  const apply = ({ changes, isSynced }: ChangeBatch<T>): void => {
    if (isEnded) return
    if (changes.length > 0 && !hasBegun) {
      hasBegun = true
      begin()
    }
    for (const { type, key, object } of changes) {
      keys.set(object, key)
      write({ type: TYPES[type], key, value: object })
    }
    if (!isSynced) return
    if (hasBegun) {
      hasBegun = false
      notifying(commit)
    }
    if (isReady) return
    isReady = true
    notifying(markReady)
  }
  const follow = async (): Promise<void> => {
    let error: unknown = new SourceError(`${informer.name} was stopped`, { code: 'STOPPED' })
    try {
      for await (const batch of stream) apply(batch)
    } catch (thrown) {
      error = thrown
    }
    if (isEnded) return
    end()
    markError(error)
  }
  informer.on('status', onStatus)
  onStatus(informer.status)
  void follow()
  return { stream, end }
}
