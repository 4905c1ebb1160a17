import type { Version } from '../contract/version.js'
import { OrderedTable } from '../util/ordered-table.js'
import { DEFAULT_SLICES, resultOf, type Steps } from '../util/steps.js'
import { type Change, changesOf, isPair, mergePending, type Pending } from './change.js'

/** The default capacity: the number of changes that an `every` queue holds before it behaves as `latest`. */
export const DEFAULT_CAPACITY = 10_000

/** More merged changes are listed in the steps of a large batch, so that `take` is fast. */
const PREPARED_FROM = 1_000

/** The batches of all empty queues. Nothing is added to it. */
const NONE: never[] = []

/** The position of a store after a commit. Each commit has one, which everything that is queued or delivered refers to. */
export interface StorePosition {
  readonly commit: number
  /** The version of the source. With several sources it is the number of the commit. */
  readonly version: Version | undefined
  /** The history of the source in which `version` is a version; undefined if it has ended. */
  readonly history: number | undefined
}

export const NO_POSITION: StorePosition = { commit: 0, version: undefined, history: undefined }

export interface QueuedBatch<T> {
  readonly changes: readonly Change<T>[]
  readonly position: StorePosition
  /** The source of the batch; undefined if it was not named, or if changes of several sources are merged. */
  readonly source: string | undefined
  /** The time at which it was pushed, or the first of the merged ones. */
  readonly at: number
}

/**
 * Batches of changes in the order of the commits. With `every` each is kept as it came, up to a capacity. With
 * `latest`, and after an overflow, they are merged by key; a key keeps its place. Taken batches are never changed.
 */
export class ChangeQueue<T> {
  readonly #delivery: 'every' | 'latest'
  readonly #capacity: number
  readonly #changesPerStep: number
  readonly #onCancelled: ((key: string) => void) | undefined
  /** Merged batches leave with their last step. Invariant: of two neighbours at most one has no changes. */
  #batches: QueuedBatch<T>[] = NONE
  /** The number of changes in them, without resyncs and without those that `takeKey` has taken. */
  #count = 0
  /** How many changes `takeKey` has taken of batches that were not taken. */
  #ahead = 0
  /** If batches are not merged and keys are taken: the queued changes of each key. */
  #queued: OrderedTable<Change<T>[]> | undefined
  /** `latest`, or `every` until it has caught up after an overflow: the merged changes by key. */
  #merged: OrderedTable<Pending<T>> | undefined
  /** The place and the source of the merged batches; undefined if there is none. */
  #boundary: { readonly at: number; source: string | undefined } | undefined
  /** The position of the batch that was pushed last. */
  position: StorePosition = NO_POSITION
  /** The merged changes after a large batch, until they change. */
  #prepared: readonly Change<T>[] | undefined

  /** Keys can be taken only with `onCancelled`, which is called if merged changes of a key leave none. */
  constructor(
    options: { readonly delivery?: 'every' | 'latest' | undefined; readonly capacity?: number | undefined },
    changesPerStep: number = DEFAULT_SLICES.changesPerStep,
    onCancelled?: (key: string) => void,
  ) {
    this.#delivery = options.delivery ?? 'every'
    this.#capacity = options.capacity ?? DEFAULT_CAPACITY
    this.#changesPerStep = changesPerStep
    this.#onCancelled = onCancelled
    this.clear()
  }

  get isEmpty(): boolean {
    return this.#batches.length === 0 && this.#boundary === undefined
  }

  /** Whether changes are merged: always with `latest`, with `every` after an overflow. */
  get isMerging(): boolean {
    return this.#merged !== undefined
  }

  /** Whether a batch is being merged. Meanwhile no batch can be taken. */
  get isBusy(): boolean {
    return this.#merged !== undefined && this.#batches.length > 0
  }

  get oldestAt(): number | undefined {
    return (this.#boundary ?? this.#batches[0])?.at
  }

  get keys(): number {
    const byKey = this.#merged ?? this.#queued
    return byKey?.size ?? new Set(this.#batches.flatMap(({ changes }) => changes.map(({ key }) => key))).size
  }

  /** Whether the batch that was taken last ends at a boundary. `takeKey` has taken no change of a later one then. */
  get isAtBoundary(): boolean {
    return this.#ahead === 0
  }

  /** Returns false if the caller has to perform the steps of `merge`: with `latest`, or above the capacity. */
  push(changes: readonly Change<T>[], position: StorePosition, at = 0, source?: string): boolean {
    this.position = position
    if (this.#batches.at(-1)?.changes.length === 0 && changes.length === 0) this.#batches.pop()
    const batch = { changes, position, source, at }
    // A new array, because an old one is not in the cache of the processor if there are many queues.
    if (this.#batches.length === 0) this.#batches = [batch]
    else this.#batches.push(batch)
    if (this.#merged !== undefined) return false
    if (!isResync(changes)) this.#count += changes.length
    if (this.#queued !== undefined) for (const change of changes) this.#enter(this.#queued, change)
    return this.#count <= this.#capacity
  }

  #enter(queued: OrderedTable<Change<T>[]>, change: Change<T>): void {
    const others = queued.get(change.key)
    if (others === undefined) queued.set(change.key, [change])
    else others.push(change)
  }

  /** Merges all batches, and later ones, until everything is taken. No batch can be taken before the last step. */
  *merge(): Steps {
    const merged = this.#merged ?? new OrderedTable()
    this.#merged = merged
    this.#prepared = undefined
    let count = 0
    for (const { changes, at, source } of this.#batches) {
      this.#boundary ??= { at, source }
      if (this.#boundary.source !== source) this.#boundary.source = undefined
      const left = this.#leftOf(changes)
      count += left.length
      for (let from = 0; from < left.length; from += this.#changesPerStep) {
        yield
        this.#mergeChanges(merged, left.slice(from, from + this.#changesPerStep))
      }
    }
    if (Math.min(count, merged.size) > PREPARED_FROM) this.#prepared = yield* this.#listed(merged)
    this.#batches = NONE
    this.#queued = undefined
  }

  /** The batch lacks the changes that `takeKey` has taken. Callers check `isBusy` first. */
  take(): QueuedBatch<T> | undefined {
    if (this.#merged !== undefined) return this.#takeMerged(this.#merged)
    const batch = this.#batches.shift()
    if (batch === undefined) return undefined
    if (this.#batches.length === 0) this.#batches = NONE
    const changes = this.#leftOf(batch.changes)
    if (!isResync(changes)) this.#count -= changes.length
    this.#ahead -= batch.changes.length - changes.length
    return changes === batch.changes ? batch : { ...batch, changes }
  }

  /** Takes the changes of the key that entered first. With the last key everything is taken. */
  takeKey(): readonly Change<T>[] {
    const byKey = this.#merged ?? this.#queued
    if (byKey === undefined) return []
    const key = byKey.firstKey()
    const changes = key === undefined ? [] : this.changesOf(key)
    if (key !== undefined) byKey.delete(key)
    this.#prepared = undefined
    this.#count -= changes.length
    this.#ahead += changes.length
    if (byKey.size === 0) this.clear()
    // A caller that only takes keys would otherwise keep every batch.
    for (let first = this.#batches[0]; first !== undefined && this.#isSpent(first); first = this.#batches[0]) {
      this.#ahead -= first.changes.length
      this.#batches.shift()
    }
    return changes
  }

  changesOf(key: string): readonly Change<T>[] {
    const pending = this.#merged?.get(key)
    return pending === undefined ? (this.#queued?.get(key) ?? []) : changesOf(pending)
  }

  queuedKeys(): Iterable<string> {
    return (this.#merged ?? this.#queued)?.keys() ?? []
  }

  /** Empties the queue. An `every` queue that overflowed has caught up then. */
  clear(): void {
    this.#batches = NONE
    this.#count = 0
    this.#ahead = 0
    this.#boundary = undefined
    this.#prepared = undefined
    this.#merged = this.#delivery === 'latest' ? new OrderedTable() : undefined
    this.#queued = this.#merged === undefined && this.#onCancelled !== undefined ? new OrderedTable() : undefined
  }

  /** Removes the changes of the oldest batch from `#queued`. Returns those that `takeKey` has not taken. */
  #leftOf(changes: readonly Change<T>[]): readonly Change<T>[] {
    const queued = this.#queued
    if (queued === undefined) return changes
    return changes.filter((change) => {
      const of = queued.get(change.key)
      if (of?.[0] !== change) return false
      of.shift()
      if (of.length === 0) queued.delete(change.key)
      return true
    })
  }

  /** Whether `takeKey` has taken all changes of a batch. */
  #isSpent({ changes }: QueuedBatch<T>): boolean {
    // The last one leaves last, as a rule.
    const last = changes.findLast((change) => this.#queued?.get(change.key)?.includes(change) === true)
    return changes.length > 0 && last === undefined
  }

  #mergeChanges(merged: OrderedTable<Pending<T>>, changes: readonly Change<T>[]): void {
    for (const change of changes) {
      const pending = mergePending(merged.get(change.key), change)
      if (pending !== undefined) {
        merged.set(change.key, pending)
        continue
      }
      merged.delete(change.key)
      this.#onCancelled?.(change.key)
    }
  }

  *#listed(merged: OrderedTable<Pending<T>>): Generator<void, readonly Change<T>[]> {
    const changes: Change<T>[] = []
    let keys = 0
    for (const pending of merged.values()) {
      if (isPair(pending)) changes.push(...pending)
      else changes.push(pending)
      if (++keys % this.#changesPerStep === 0) yield
    }
    return changes
  }

  #takeMerged(merged: OrderedTable<Pending<T>>): QueuedBatch<T> | undefined {
    if (this.#boundary === undefined) return undefined
    const { at, source } = this.#boundary
    const changes = this.#prepared ?? resultOf(this.#listed(merged))
    this.clear()
    return { changes, position: this.position, source, at }
  }
}

/** Resyncs do not count against the capacity: one is queued only if the queue is empty. */
function isResync(changes: readonly Change<unknown>[]): boolean {
  return changes[0]?.origin === 'resync'
}
