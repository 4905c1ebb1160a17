import type { Delete, Entry, ListEvent, ListTransaction, Sink, WatchBatch } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import { finish } from '../util/steps.js'
import { checkOptions, isCount, isObject, isOneOf, isSignal } from '../util/validate-options.js'
import { type Change, type Delta, type DeltaBatch, namedInvalid } from './change.js'
import { ChangeQueue, NO_POSITION } from './change-queue.js'

/**
 * The options of `new DeltaFIFO`.
 *
 * @example
 * ```ts
 * import { DeltaFIFO, Indexer } from 'listwatch'
 *
 * const knownObjects = new Indexer<Order>()
 * const fifo = new DeltaFIFO<Order>({ knownObjects, delivery: 'latest' }) // Default: `every`, with 10 000 changes.
 * ```
 */
export interface DeltaFIFOOptions<T> {
  /**
   * The objects that the consumer holds, usually an `Indexer`. A key in it that a list does not name is deleted.
   * Default: none, so that only queued keys are compared with a list.
   */
  readonly knownObjects?: {
    /** Returns the object of a key; undefined if the consumer does not hold it. */
    get(key: string): T | undefined
    /** Returns the keys of all objects that the consumer holds. */
    keys(): Iterable<string>
  }
  /**
   * `every` (default): each `drain` returns one batch as it came. `latest`: one batch with all changes merged by key.
   */
  readonly delivery?: 'every' | 'latest'
  /** How many changes `every` holds. With more changes it behaves as `latest` until it is empty. Default: 10 000. */
  readonly capacity?: number
}

/**
 * A queue of changes between a `Reflector` and a store, for programs that compose them. It does this:
 * - It delivers the changes of each key in order.
 * - It delivers the deletes of objects that a new list does not name.
 * - It delivers all pending changes of one key (`pop`), or a whole batch of the source (`drain`).
 *
 * Informers do not need it: each subscription has a queue.
 *
 * A key is in the queue exactly if it has deltas. Keys leave in the order in which they were added. A queued key keeps
 * its place. Each batch and each list is atomic: at a boundary the consumer has a state that the source had. Deltas
 * that were taken are never changed.
 *
 * A key that a list does not name is deleted if it is queued, in `knownObjects`, or in the batch that was taken last. A
 * batch counts as processed at the next `drain` or `pop`. A delete of an unknown key is dropped.
 *
 * @example
 * ```ts
 * import { DeltaFIFO, Indexer, Reflector } from 'listwatch'
 *
 * const store = new Indexer<Order>()
 * const fifo = new DeltaFIFO<Order>({ knownObjects: store })
 * const mirroring = new Reflector(source, fifo).run({ signal })
 * ```
 */
export class DeltaFIFO<T> implements Sink<T> {
  readonly #known: DeltaFIFOOptions<T>['knownObjects']
  readonly #queue: ChangeQueue<T>
  /** The last change of each key in the batch that was taken last. */
  readonly #taken = new Map<string, Change<T>>()
  #firstList: 'awaited' | 'queued' | 'taken' | 'processed' = 'awaited'
  /** The keys of the first list that were not taken. */
  readonly #firstListKeys = new Set<string>()
  readonly #arrivals = new Set<() => void>()

  /** @throws TypeError if an option is not valid. */
  constructor(options: DeltaFIFOOptions<T> = {}) {
    checkOptions('new DeltaFIFO', options, {
      knownObjects: isObject,
      delivery: isOneOf('every', 'latest'),
      capacity: isCount,
    })
    this.#known = options.knownObjects
    this.#queue = new ChangeQueue(options, undefined, (key) => this.#firstListKeys.delete(key))
  }

  /** Whether the first list was processed: all its keys were taken, and `drain` or `pop` was called after that. */
  get hasSynced(): boolean {
    return this.#firstList === 'processed'
  }

  /** The version of the batch or list that was accepted last; undefined before the first. */
  get version(): Version | undefined {
    return this.#queue.position.version
  }

  /** @internal */
  get isEmpty(): boolean {
    return this.#queue.isEmpty
  }

  /** Queues a batch of a watch. */
  apply(batch: WatchBatch<T>): void {
    const changes: Change<T>[] = []
    const staged = new Map<string, Change<T>>()
    const add = (change: Change<T> | undefined): void => {
      if (change === undefined) return
      changes.push(change)
      staged.set(change.key, change)
    }
    for (const event of batch.events) {
      if (event.type === 'put') add(this.#put(event, batch.version, 'watch', staged))
      else if (event.type === 'delete') add(this.#delete(event, batch.version, 'watch', staged))
      else if (event.type === 'replace') {
        const listed = new Map(event.entries.map((entry) => [entry.key, entry]))
        const keep = namedInvalid(batch.events)
        for (const change of this.#replaced(listed, keep, batch.version, 'watch', staged)) add(change)
      }
    }
    this.#accept(changes, batch.version)
  }

  /** Begins a list. Its `commit` queues the objects, and the deletes of keys that it does not name. */
  replace(): ListTransaction<T> {
    const listed = new Map<string, Entry<T>>()
    const invalid = new Set<string>()
    let isComplete = true
    const take = (event: ListEvent<T>): void => {
      if (event.key === undefined) {
        isComplete = false
        return
      }
      listed.delete(event.key)
      invalid.delete(event.key)
      if (event.type === 'put') listed.set(event.key, event)
      else if (event.type === 'invalid') invalid.add(event.key)
    }
    return {
      page: (events) => {
        for (const event of events) take(event)
      },
      commit: (version) => {
        const isFirst = this.#firstList === 'awaited'
        if (isFirst) this.#firstList = 'queued'
        const keep = isComplete ? invalid : undefined
        const changes = this.#replaced(listed, keep, version, isFirst ? 'initial' : 'relist', new Map())
        this.#accept(changes, version)
        if (isFirst) for (const { key } of changes) this.#firstListKeys.add(key)
      },
      abandon: () => {},
    }
  }

  /**
   * Takes all deltas up to the next boundary. Waits until there is a batch. A bookmark is an empty batch. Resolves with
   * an empty batch if the signal aborts.
   */
  async drain(options: { readonly signal?: AbortSignal } = {}): Promise<DeltaBatch<T>> {
    checkOptions('drain', options, { signal: isSignal })
    return this.#next(options.signal, () => {
      const { changes, position } = this.#queue.take() ?? { changes: [], position: NO_POSITION }
      return this.#handOut(changes, this.#queue.isAtBoundary ? position.version : undefined)
    })
  }

  /**
   * Takes all deltas of the key that has waited for the longest time. Waits until there is one. The batch has no
   * version if it ends between two boundaries. Resolves with an empty batch if the signal aborts.
   */
  async pop(options: { readonly signal?: AbortSignal } = {}): Promise<DeltaBatch<T>> {
    checkOptions('pop', options, { signal: isSignal })
    return this.#next(options.signal, () => {
      const changes = this.#queue.takeKey()
      return this.#handOut(changes, this.#queue.isEmpty ? this.version : undefined)
    })
  }

  #accept(changes: readonly Change<T>[], version: Version): void {
    if (!this.#queue.push(changes, { ...NO_POSITION, version })) finish(this.#queue.merge())
    for (const notify of this.#arrivals) notify()
  }

  async #next(signal: AbortSignal | undefined, take: () => DeltaBatch<T>): Promise<DeltaBatch<T>> {
    this.#taken.clear()
    if (this.#firstList === 'taken') this.#firstList = 'processed'
    while (this.#queue.isEmpty) {
      if (signal?.aborted) return { deltas: [], version: undefined, isBoundary: false }
      await this.#arrival(signal)
    }
    return take()
  }

  #arrival(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      const arrive = (): void => {
        this.#arrivals.delete(arrive)
        signal?.removeEventListener('abort', arrive)
        resolve()
      }
      this.#arrivals.add(arrive)
      signal?.addEventListener('abort', arrive, { once: true })
    })
  }

  /** `version` is that of the boundary at which the changes end, if they do. */
  #handOut(changes: readonly Change<T>[], version: Version | undefined): DeltaBatch<T> {
    for (const change of changes) {
      this.#taken.set(change.key, change)
      // Unless changes are merged, the key may belong to a batch that was queued before the list.
      if (this.#queue.isMerging || change.origin === 'initial') this.#firstListKeys.delete(change.key)
    }
    if (this.#queue.isEmpty) this.#firstListKeys.clear()
    if (this.#firstList === 'queued' && this.#firstListKeys.size === 0) this.#firstList = 'taken'
    const deltas = changes.map(({ type, key, object, version: of, origin }) => {
      return { type: deltaType(type, origin), key, object, version: of }
    })
    return { deltas, version, isBoundary: version !== undefined }
  }

  /** The object that the consumer will hold after it has processed the queue and `staged`. */
  #objectOf(key: string, staged: ReadonlyMap<string, Change<T>>): T | undefined {
    const last = staged.get(key) ?? this.#queue.changesOf(key).at(-1)
    return last === undefined ? this.#delivered(key) : objectAfter(last)
  }

  /** The object that the consumer will hold after it has processed the deltas that it has taken. */
  #delivered(key: string): T | undefined {
    const taken = this.#taken.get(key)
    return taken === undefined ? this.#known?.get(key) : objectAfter(taken)
  }

  #put(
    { key, object }: Entry<T>,
    version: Version,
    origin: Change<T>['origin'],
    staged: ReadonlyMap<string, Change<T>>,
  ): Change<T> {
    const previous = this.#objectOf(key, staged)
    if (previous === undefined) return { type: 'add', key, object, previous: undefined, version, origin }
    return { type: 'update', key, object, previous, version, origin }
  }

  #delete(
    { key, object }: Delete<T>,
    version: Version,
    origin: Change<T>['origin'],
    staged: ReadonlyMap<string, Change<T>>,
    finalState: 'known' | 'unknown' = 'known',
  ): Change<T> | undefined {
    const previous = this.#objectOf(key, staged)
    if (previous !== undefined) {
      return { type: 'delete', key, object: object ?? previous, previous, version, origin, finalState }
    }
    // A second delete adds data to a merged one that will be delivered, because the consumer holds the key.
    const queued = staged.get(key) ?? this.#queue.changesOf(key).at(-1)
    if (queued?.type !== 'delete' || !this.#queue.isMerging || this.#delivered(key) === undefined) return undefined
    return {
      ...queued,
      object: object ?? queued.object,
      version,
      origin,
      finalState: object ? finalState : queued.finalState,
    }
  }

  /** The changes from what the consumer will hold to `listed`. Keys in `keep` are not deleted; without it none is. */
  #replaced(
    listed: ReadonlyMap<string, Entry<T>>,
    keep: ReadonlySet<string> | undefined,
    version: Version,
    origin: Change<T>['origin'],
    staged: ReadonlyMap<string, Change<T>>,
  ): Change<T>[] {
    const changes: Change<T>[] = []
    for (const key of keep === undefined ? [] : this.#everyKey(staged)) {
      if (listed.has(key) || keep?.has(key)) continue
      const change = this.#delete({ type: 'delete', key }, version, origin, staged, 'unknown')
      if (change !== undefined && this.#objectOf(key, staged) !== undefined) changes.push(change)
    }
    for (const entry of listed.values()) changes.push(this.#put(entry, version, origin, staged))
    return changes
  }

  #everyKey(staged: ReadonlyMap<string, Change<T>>): ReadonlySet<string> {
    const keys = new Set<string>(staged.keys())
    for (const key of this.#queue.queuedKeys()) keys.add(key)
    for (const key of this.#taken.keys()) keys.add(key)
    for (const key of this.#known?.keys() ?? []) keys.add(key)
    return keys
  }
}

function objectAfter<T>(change: Change<T>): T | undefined {
  return change.type === 'delete' ? undefined : change.object
}

function deltaType(type: Change<unknown>['type'], origin: Change<unknown>['origin']): Delta<unknown>['type'] {
  if (type === 'delete') return 'deleted'
  if (origin === 'initial' || origin === 'relist') return 'replaced'
  return type === 'add' ? 'added' : 'updated'
}
