import type { Version } from '../contract/version.js'
import { OrderedTable } from '../util/ordered-table.js'
import { DEFAULT_SLICES, finish, resultOf, type Steps } from '../util/steps.js'
import { type Change, changesOf, isPair, mergePending, type Pending } from './change.js'
import { KeyOrder } from './key-order.js'

/** The default capacity: the number of changes that an `every` queue holds before it behaves as `latest`. */
export const DEFAULT_CAPACITY = 10_000

/** More merged changes are listed in the steps of a large batch, so that `take` is fast. */
const PREPARED_FROM = 1_000

/** The batches of all empty queues. Nothing is added to it. */
const NONE: never[] = []

/** The position of a store after a commit. Each commit has one, which everything that is queued or delivered refers to. */
export interface StorePosition {
  /** The number of the commit. */
  readonly commit: number
  /** The version of the source. With several sources it is the number of the commit. */
  readonly version: Version | undefined
  /** The history of the source in which `version` is a version; undefined if it has ended. */
  readonly history: number | undefined
}

/** The position before the first commit. */
export const NO_POSITION: StorePosition = { commit: 0, version: undefined, history: undefined }

/** One batch in the queue. */
export interface QueuedBatch<T> {
  readonly changes: readonly Change<T>[]
  readonly position: StorePosition
  /** The source of the batch; undefined if it was not named, or if changes of several sources are merged. */
  readonly source: string | undefined
}

/** A batch in an `every` queue. */
export interface WaitingBatch<T> extends QueuedBatch<T> {
  readonly sequence: number
  readonly at: number
  /** How many of the changes were removed one by one. */
  removed: number
}

/**
 * The queue of a subscription: batches of changes in the order of the commits. With `every` each batch is kept as it
 * came, up to a capacity. With `latest`, and after an overflow, the changes are merged by key into one batch. A key
 * keeps its place when it is merged. Taken batches are never changed.
 */
export class ChangeQueue<T> {
  readonly #delivery: 'every' | 'latest'
  readonly #capacity: number
  readonly #onCancelled: (key: string) => void
  readonly #changesPerStep: number
  /** `every`: batches in the order in which they came. Invariant: of two neighbours at most one has no changes. */
  #batches: WaitingBatch<T>[] = NONE
  #count = 0
  /** `latest`, or `every` until it has caught up after an overflow: the merged changes by key. */
  #merged: OrderedTable<Pending<T>> | undefined
  /** The order in which `takeMergedKey` takes the keys of `#merged`. */
  #order: KeyOrder | undefined
  #hasBoundary = false
  #mergedSince = 0
  #mergedFrom: string | undefined
  #position: StorePosition = NO_POSITION
  #sequence = 0
  /** Whether a large batch is being merged in steps. */
  #isBusy = false
  /** The merged changes after a large batch, until they change. */
  #prepared: readonly Change<T>[] | undefined

  /** `onCancelled` is called when an add and a delete of one key were merged, so that no change of the key is left. */
  constructor(
    options: { readonly delivery?: 'every' | 'latest' | undefined; readonly capacity?: number | undefined },
    onCancelled: (key: string) => void = () => {},
    changesPerStep: number = DEFAULT_SLICES.changesPerStep,
  ) {
    this.#changesPerStep = changesPerStep
    this.#delivery = options.delivery ?? 'every'
    this.#capacity = options.capacity ?? DEFAULT_CAPACITY
    this.#onCancelled = onCancelled
    if (this.#delivery === 'latest') this.#merged = new OrderedTable()
  }

  /** The position of the batch that was pushed last. */
  get position(): StorePosition {
    return this.#position
  }

  get isEmpty(): boolean {
    return this.#merged === undefined ? this.#batches.length === 0 : !this.#hasBoundary
  }

  /** Whether changes are merged: always with `latest`, with `every` after an overflow. */
  get isMerging(): boolean {
    return this.#merged !== undefined
  }

  /** Whether a large batch is being merged. Meanwhile no batch can be taken. */
  get isBusy(): boolean {
    return this.#isBusy
  }

  /** The time at which the oldest batch was pushed; undefined if the queue is empty. */
  get oldestAt(): number | undefined {
    if (this.isEmpty) return undefined
    return this.#merged === undefined ? this.#batches[0]?.at : this.#mergedSince
  }

  /** The number of keys with changes in the queue. */
  get keys(): number {
    if (this.#merged !== undefined) return this.#merged.size
    return new Set(this.#batches.flatMap(({ changes }) => changes.map(({ key }) => key))).size
  }

  /** Queues a batch at time `at`. Returns false if an `every` queue now holds more changes than its capacity. */
  push(changes: readonly Change<T>[], position: StorePosition, at = 0, source?: string): boolean {
    this.#position = position
    this.#prepared = undefined
    if (this.#merged === undefined) return this.#add(changes, position, at, source)
    if (!this.#hasBoundary) {
      this.#mergedSince = at
      this.#mergedFrom = source
    } else if (this.#mergedFrom !== source) this.#mergedFrom = undefined
    this.#hasBoundary = true
    this.#merge(this.#merged, changes)
    return true
  }

  /** Like `push`. No batch can be taken before the last step. */
  *pushInSteps(
    changes: readonly Change<T>[],
    position: StorePosition,
    at: number,
    source?: string,
  ): Generator<void, boolean> {
    if (this.#merged === undefined) return this.push(changes, position, at, source)
    this.push([], position, at, source)
    this.#isBusy = true
    yield* this.#mergeInSteps(this.#merged, changes)
    if (changes.length > PREPARED_FROM) yield* this.#prepare(this.#merged)
    this.#isBusy = false
    return true
  }

  #add(changes: readonly Change<T>[], position: StorePosition, at: number, source: string | undefined): boolean {
    const last = this.#batches.at(-1)
    const sequence = ++this.#sequence
    if (last !== undefined && last.changes.length === 0 && changes.length === 0) this.#batches.pop()
    const batch = { changes, position, source, sequence, at, removed: 0 }
    // A new array, because an old one is not in the cache of the processor if there are many queues.
    if (this.#batches.length === 0) this.#batches = [batch]
    else this.#batches.push(batch)
    if (!isResync(changes)) this.#count += changes.length
    return this.#count <= this.#capacity
  }

  /** Merges all batches, and later ones, until everything is taken. Changes that were removed are not merged. */
  coalesce(isQueued: (change: Change<T>) => boolean = () => true): void {
    finish(this.coalesceInSteps(isQueued))
  }

  /** Like `coalesce`. No batch can be taken before the last step. */
  *coalesceInSteps(isQueued: (change: Change<T>) => boolean = () => true): Steps {
    if (this.#merged !== undefined) return
    this.#merged = new OrderedTable()
    this.#isBusy = true
    this.#mergedSince = this.#batches[0]?.at ?? 0
    const sources = new Set(this.#batches.map(({ source }) => source))
    this.#mergedFrom = sources.size === 1 ? this.#batches[0]?.source : undefined
    this.#hasBoundary = this.#batches.length > 0
    for (const { changes, removed } of this.#batches) {
      const left = removed === 0 ? changes : changes.filter(isQueued)
      yield* this.#mergeInSteps(this.#merged, left)
    }
    this.#batches = NONE
    this.#count = 0
    yield* this.#prepare(this.#merged)
    this.#isBusy = false
  }

  /**
   * Takes the next batch, or returns undefined if the queue is empty. It may still have changes that were removed.
   * Callers check `isBusy` first.
   */
  take(): QueuedBatch<T> | undefined {
    if (this.#merged !== undefined) return this.#takeMerged(this.#merged)
    const batch = this.#batches.shift()
    if (batch === undefined) return undefined
    if (this.#batches.length === 0) this.#batches = NONE
    if (!isResync(batch.changes)) this.#count -= batch.changes.length - batch.removed
    const { changes, position, source } = batch
    return { changes, position, source }
  }

  /** Empties the queue. An `every` queue that overflowed has caught up then. */
  clear(): void {
    this.#hasBoundary = false
    this.#isBusy = false
    this.#prepared = undefined
    this.#batches = NONE
    this.#count = 0
    this.#order = undefined
    this.#merged = this.#delivery === 'latest' ? new OrderedTable() : undefined
  }

  /** The batch that was pushed last, unless batches are merged. */
  get newest(): WaitingBatch<T> | undefined {
    return this.#batches.at(-1)
  }

  /** The sequence number of the next batch, or of the last one if batches are merged or the queue is empty. */
  get nextSequence(): number {
    return this.#batches[0]?.sequence ?? this.#sequence
  }

  /** Marks one change of a batch as removed: the caller has taken it out of order. */
  remove(batch: WaitingBatch<T>): void {
    batch.removed++
    this.#count--
    // A caller that only removes changes, and never takes a batch, would otherwise keep every batch.
    while (isSpent(this.#batches[0])) this.#batches.shift()
  }

  /** Takes the changes of the key that was merged first. */
  takeMergedKey(): readonly Change<T>[] {
    const merged = this.#merged
    if (merged === undefined) return []
    this.#order ??= new KeyOrder(merged)
    const key = this.#order.next()
    const pending = key === undefined ? undefined : merged.get(key)
    if (key === undefined || pending === undefined) return []
    this.#prepared = undefined
    merged.delete(key)
    return changesOf(pending)
  }

  /** The merged changes of a key; undefined if there are none, or if batches are not merged. */
  mergedChangesOf(key: string): readonly Change<T>[] | undefined {
    const pending = this.#merged?.get(key)
    return pending === undefined ? undefined : changesOf(pending)
  }

  /** The keys with merged changes. */
  mergedKeys(): Iterable<string> {
    return this.#merged?.keys() ?? []
  }

  *#mergeInSteps(merged: OrderedTable<Pending<T>>, changes: readonly Change<T>[]): Steps {
    for (let from = 0; from < changes.length; from += this.#changesPerStep) {
      yield
      this.#merge(merged, changes.slice(from, from + this.#changesPerStep))
    }
  }

  #merge(merged: OrderedTable<Pending<T>>, changes: readonly Change<T>[]): void {
    for (const change of changes) {
      const pending = mergePending(merged.get(change.key), change)
      if (pending !== undefined) {
        merged.set(change.key, pending)
        continue
      }
      merged.delete(change.key)
      this.#onCancelled(change.key)
    }
  }

  *#prepare(merged: OrderedTable<Pending<T>>): Steps {
    if (merged.size > PREPARED_FROM) this.#prepared = yield* this.#listed(merged)
  }

  /** Returns the merged changes in their order. */
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
    if (!this.#hasBoundary) return undefined
    const changes = this.#prepared ?? resultOf(this.#listed(merged))
    this.clear()
    return { changes, position: this.#position, source: this.#mergedFrom }
  }
}

/** Resyncs do not count against the capacity: one is queued only if the queue is empty. */
function isResync(changes: readonly Change<unknown>[]): boolean {
  return changes[0]?.origin === 'resync'
}

/** Whether all changes of a batch were removed. */
function isSpent(batch: WaitingBatch<unknown> | undefined): boolean {
  return batch !== undefined && batch.removed > 0 && batch.removed === batch.changes.length
}
