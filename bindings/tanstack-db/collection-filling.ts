import { systemClock } from '../../src/contract/clock.js'
import { messageOf, SourceError, thrownFor } from '../../src/contract/errors.js'
import { emitWarning } from '../../src/contract/node-or-browser.js'
import type { Status } from '../../src/contract/status.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Change } from '../../src/queue/change.js'
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

/** Fills a collection with the changes of an informer until it ends. A collection that is used again has a new one. */
export class CollectionFilling<T extends object> {
  readonly stream: ChangeStream<T>
  readonly #informer: Informer<T, object>
  readonly #collection: CollectionSync<T>
  /** The keys of the objects that were written. */
  readonly #keys: WeakMap<object, string>
  #isReady = false
  #isEnded = false
  /** Whether a transaction has begun: that of the initial content consists of several batches. */
  #hasBegun = false
  #warnedAt = -Infinity

  constructor(
    informer: Informer<T, object>,
    where: object,
    collection: CollectionSync<T>,
    keys: WeakMap<object, string>,
  ) {
    this.#informer = informer
    this.#collection = collection
    this.#keys = keys
    this.stream = informer.changes({ where, delivery: 'latest' })
    informer.on('status', this.#onStatus)
    this.#onStatus(informer.status)
    void this.#follow()
  }

  /** Ends it. The collection receives nothing after this. */
  end(): void {
    this.#isEnded = true
    this.#informer.off('status', this.#onStatus)
    void this.stream.close()
  }

  /** Before the first list the collection has the failure of the informer. */
  readonly #onStatus = ({ state, lastError }: Status): void => {
    if (state === 'failed' && !this.#isReady) this.#collection.markError(thrownFor(lastError))
  }

  async #follow(): Promise<void> {
    let error: unknown = new SourceError(`${this.#informer.name} was stopped`, { code: 'STOPPED' })
    try {
      for await (const batch of this.stream) this.#apply(batch)
    } catch (thrown) {
      error = thrown
    }
    if (this.#isEnded) return
    this.end()
    this.#collection.markError(error)
  }

  #apply({ changes, isSynced }: ChangeBatch<T>): void {
    if (this.#isEnded) return
    const { begin, commit, markReady } = this.#collection
    if (changes.length > 0 && !this.#hasBegun) {
      this.#hasBegun = true
      begin()
    }
    for (const change of changes) this.#write(change)
    if (!isSynced) return
    if (this.#hasBegun) {
      this.#hasBegun = false
      this.#notifying(commit)
    }
    if (this.#isReady) return
    this.#isReady = true
    this.#notifying(markReady)
  }

  /** The collection throws what a subscriber has thrown, after its work: the others still need the next batches. */
  #notifying(call: () => unknown): void {
    try {
      call()
    } catch (thrown) {
      const now = systemClock.now()
      if (now - this.#warnedAt < WARNING_MS) return
      this.#warnedAt = now
      const detail = thrown instanceof Error ? thrown.stack : undefined
      const message = `a subscriber of a collection of ${this.#informer.name} threw: ${messageOf(thrown)}`
      emitWarning(message, { code: 'HANDLER', ...(detail === undefined ? {} : { detail }) })
    }
  }

  #write({ type, key, object }: Change<T>): void {
    this.#keys.set(object, key)
    this.#collection.write({ type: TYPES[type], key, value: object })
  }
}
