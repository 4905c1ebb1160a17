import type { Delete, Entry, ListEvent, ListTransaction, Sink, WatchBatch } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import { checkOptions, isCount, isObject, isOneOf, isSignal } from '../util/validate-options.js'
import {
  type Change,
  changesOf,
  type Delta,
  type DeltaBatch,
  type DeltaType,
  mergePending,
  namedInvalid,
  type Pending,
} from './change.js'

/** How many changes an `every` queue holds before it behaves as `latest`. */
export const DEFAULT_CAPACITY = 10_000

export interface DeltaFIFOOptions<T> {
  /** What the consumer holds already, usually an Indexer: deletions are detected against it, and against the queue. */
  readonly knownObjects?: { get(key: string): T | undefined; keys(): Iterable<string> }
  /**
   * `every` (default): the batches as they came, one for each `drain`. `latest`: everything pending as one batch,
   * merged by key.
   */
  readonly delivery?: 'every' | 'latest'
  /** How many changes `every` holds before it behaves as `latest` until it has caught up. Default 10 000. */
  readonly capacity?: number
}

/** One batch that waits, or was taken. */
export interface Queued<T> {
  readonly changes: readonly Change<T>[]
  readonly version: Version | undefined
  /** Where it came from; undefined where nobody said, and where changes of several sources are merged. */
  readonly source: string | undefined
  /** Which history of the source it leads to; undefined if none was given. */
  readonly history: number | undefined
}

interface Waiting<T> extends Queued<T> {
  readonly sequence: number
  readonly at: number
  /** How many of the changes have left by `pop`. */
  popped: number
}

/** A change that waits, and the batch in which it came. */
interface Place<T> {
  readonly change: Change<T>
  readonly batch: Waiting<T>
}

/**
 * The queue between what happens and who is told: each subscription has one, and composed by hand it is the sink of a
 * reflector. A key is in it exactly when it has deltas; keys leave in the order in which they came; a key that is queued
 * keeps its place. Every batch, and every list, is atomic: who drains to a boundary sees a state that the source had.
 * Merging never reaches into what was taken already.
 *
 * As a sink: a key that is queued, or in the batch last taken (until the next `drain` or `pop`), or known, and not in a
 * list, is deleted. A deletion of a key that nobody knows tells nobody.
 */
export class DeltaFIFO<T> implements Sink<T> {
  readonly #known: DeltaFIFOOptions<T>['knownObjects']
  readonly #delivery: 'every' | 'latest'
  readonly #capacity: number

  /** `every`: batches in the order in which they came. Invariant: of two neighbours at most one has no changes. */
  #batches: Waiting<T>[] = []
  #count = 0
  /** `latest`, or `every` until it has caught up after an overflow: the merged changes by key. */
  #merged: Map<string, Pending<T>> | undefined
  #hasBoundary = false
  #mergedSince = 0
  #mergedFrom: string | undefined
  /** The history of what was accepted last. */
  #history: number | undefined
  #sequence = 0
  /** The greatest sequence from which `pop` has taken: a drain of an earlier batch is no boundary. */
  #aheadOf = 0
  /** The version of what was accepted last. */
  #version: Version | undefined

  /** As a sink in `every`: the queued changes of each key, in the order in which the keys came. */
  readonly #queued = new Map<string, Place<T>[]>()
  /** As a sink: the last change of each key in what was taken last. */
  readonly #taken = new Map<string, Change<T>>()
  #firstList: 'awaited' | 'queued' | 'taken' | 'processed' = 'awaited'
  readonly #firstListKeys = new Set<string>()
  readonly #arrivals = new Set<() => void>()

  constructor(options: DeltaFIFOOptions<T> = {}) {
    checkOptions('new DeltaFIFO', options, {
      knownObjects: isObject,
      delivery: isOneOf('every', 'latest'),
      capacity: isCount,
    })
    this.#known = options.knownObjects
    this.#delivery = options.delivery ?? 'every'
    this.#capacity = options.capacity ?? DEFAULT_CAPACITY
    if (this.#delivery === 'latest') this.#merged = new Map()
  }

  /** Whether the whole first list has been processed: taken, and then the next asked for. */
  get hasSynced(): boolean {
    return this.#firstList === 'processed'
  }

  /** The version of what was accepted last. */
  get version(): Version | undefined {
    return this.#version
  }

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
   * Everything up to the next boundary, as soon as there is something; a bookmark is an empty batch. Resolves with an
   * empty batch when the signal aborts.
   */
  drain(options: { readonly signal?: AbortSignal } = {}): Promise<DeltaBatch<T>> {
    checkOptions('drain', options, { signal: isSignal })
    return this.#next(options.signal, () => {
      const sequence = this.#batches[0]?.sequence ?? this.#sequence
      const taken = this.take() ?? { changes: [], version: undefined }
      return this.#handOut(taken.changes, taken.version, sequence >= this.#aheadOf)
    })
  }

  /**
   * All deltas of the key that has waited longest; they may stand between two boundaries, and then have no version.
   * Resolves with an empty batch when the signal aborts.
   */
  pop(options: { readonly signal?: AbortSignal } = {}): Promise<DeltaBatch<T>> {
    checkOptions('pop', options, { signal: isSignal })
    return this.#next(options.signal, () => {
      const changes = this.#merged === undefined ? this.#popQueued() : this.#popMerged(this.#merged)
      const isLast = this.#merged === undefined ? this.#queued.size === 0 : this.#merged.size === 0
      if (isLast) this.#clear()
      return this.#handOut(changes, isLast ? this.#version : undefined, isLast)
    })
  }

  /** @internal Queues changes that are right already, at time `at`. False where that is more than `every` may hold. */
  push(
    changes: readonly Change<T>[],
    version: Version | undefined,
    at = 0,
    source?: string,
    history?: number,
  ): boolean {
    this.#version = version
    this.#history = history
    if (this.#merged !== undefined) {
      if (!this.#hasBoundary) {
        this.#mergedSince = at
        this.#mergedFrom = source
      } else if (this.#mergedFrom !== source) this.#mergedFrom = undefined
      this.#merge(this.#merged, changes)
      return true
    }
    const last = this.#batches.at(-1)
    const sequence = ++this.#sequence
    if (last !== undefined && last.changes.length === 0 && changes.length === 0) this.#batches.pop()
    this.#batches.push({ changes, version, source, history, sequence, at, popped: 0 })
    if (!isResync(changes)) this.#count += changes.length
    return this.#count <= this.#capacity
  }

  /** @internal From now on as `latest`, until everything is taken. */
  coalesce(): void {
    if (this.#merged !== undefined) return
    this.#merged = new Map()
    this.#mergedSince = this.#batches[0]?.at ?? 0
    const sources = new Set(this.#batches.map(({ source }) => source))
    this.#mergedFrom = sources.size === 1 ? this.#batches[0]?.source : undefined
    for (const { changes, popped } of this.#batches) {
      const isLeft = (change: Change<T>): boolean =>
        this.#queued.get(change.key)?.some((place) => place.change === change) ?? false
      const left = popped === 0 ? changes : changes.filter(isLeft)
      this.#merge(this.#merged, left)
    }
    this.#batches = []
    this.#queued.clear()
    this.#count = 0
  }

  /** @internal The next batch, or undefined where nothing waits. */
  take(): Queued<T> | undefined {
    if (this.#merged !== undefined) return this.#takeMerged(this.#merged)
    const batch = this.#batches.shift()
    if (batch === undefined) return undefined
    if (!isResync(batch.changes)) this.#count -= batch.changes.length - batch.popped
    const { version, source, history } = batch
    return { changes: this.#unpopped(batch), version, source, history }
  }

  /** @internal */
  get isEmpty(): boolean {
    return this.#merged === undefined ? this.#batches.length === 0 : !this.#hasBoundary
  }

  /** @internal Since when the oldest of what waits has waited; undefined where nothing does. */
  get oldestAt(): number | undefined {
    if (this.isEmpty) return undefined
    return this.#merged === undefined ? this.#batches[0]?.at : this.#mergedSince
  }

  /** @internal How many keys wait. */
  get keys(): number {
    if (this.#merged !== undefined) return this.#merged.size
    return new Set(this.#batches.flatMap(({ changes }) => changes.map(({ key }) => key))).size
  }

  #merge(merged: Map<string, Pending<T>>, changes: readonly Change<T>[]): void {
    this.#hasBoundary = true
    for (const change of changes) {
      const pending = mergePending(merged.get(change.key), change)
      if (pending !== undefined) {
        merged.set(change.key, pending)
        continue
      }
      merged.delete(change.key)
      this.#firstListKeys.delete(change.key)
    }
  }

  #takeMerged(merged: Map<string, Pending<T>>): Queued<T> | undefined {
    if (!this.#hasBoundary) return undefined
    const changes: Change<T>[] = []
    for (const pending of merged.values()) changes.push(...changesOf(pending))
    this.#clear()
    return { changes, version: this.#version, source: this.#mergedFrom, history: this.#history }
  }

  /** Nothing waits any more; an `every` queue that overflowed has caught up. */
  #clear(): void {
    this.#hasBoundary = false
    this.#batches = []
    this.#queued.clear()
    this.#count = 0
    this.#merged = this.#delivery === 'latest' ? new Map() : undefined
  }

  // What follows serves the use as a sink.

  #accept(changes: readonly Change<T>[], version: Version): void {
    const fits = this.push(changes, version)
    const batch = this.#batches.at(-1)
    if (batch !== undefined) this.#enter(batch)
    if (!fits) this.coalesce()
    for (const arrive of this.#arrivals) arrive()
  }

  #enter(batch: Waiting<T>): void {
    for (const change of batch.changes) {
      const queued = this.#queued.get(change.key)
      if (queued === undefined) this.#queued.set(change.key, [{ change, batch }])
      else queued.push({ change, batch })
    }
  }

  async #next(signal: AbortSignal | undefined, take: () => DeltaBatch<T>): Promise<DeltaBatch<T>> {
    this.#taken.clear()
    if (this.#firstList === 'taken') this.#firstList = 'processed'
    while (this.isEmpty) {
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

  #handOut(changes: readonly Change<T>[], version: Version | undefined, isBoundary: boolean): DeltaBatch<T> {
    for (const change of changes) {
      this.#taken.set(change.key, change)
      // Unmerged, a key may also leave with a batch that was queued before the list.
      if (this.#merged !== undefined || change.origin === 'initial') this.#firstListKeys.delete(change.key)
    }
    if (this.isEmpty) this.#firstListKeys.clear()
    if (this.#firstList === 'queued' && this.#firstListKeys.size === 0) this.#firstList = 'taken'
    return { deltas: changes.map(toDelta), version: isBoundary ? version : undefined, isBoundary }
  }

  #popQueued(): readonly Change<T>[] {
    const first = this.#queued.entries().next()
    if (first.done) return []
    const [key, places] = first.value
    this.#queued.delete(key)
    for (const { batch } of places) {
      batch.popped++
      this.#aheadOf = Math.max(this.#aheadOf, batch.sequence)
    }
    this.#count -= places.length
    // Who only pops, and never catches up, would else keep every batch for ever.
    while (isSpent(this.#batches[0])) this.#batches.shift()
    return places.map(({ change }) => change)
  }

  #popMerged(merged: Map<string, Pending<T>>): readonly Change<T>[] {
    const first = merged.entries().next()
    if (first.done) return []
    const [key, pending] = first.value
    merged.delete(key)
    return changesOf(pending)
  }

  /** The changes of a batch that are still queued; they leave the queue. */
  #unpopped({ changes, popped }: Waiting<T>): readonly Change<T>[] {
    if (this.#queued.size === 0) return popped === 0 ? changes : []
    return changes.filter((change) => {
      const queued = this.#queued.get(change.key)
      if (queued?.[0]?.change !== change) return false
      queued.shift()
      if (queued.length === 0) this.#queued.delete(change.key)
      return true
    })
  }

  /** What the consumer will hold of a key once it has processed everything before `staged`'s batch and `staged` itself. */
  #objectOf(key: string, staged: ReadonlyMap<string, Change<T>>): T | undefined {
    const last = staged.get(key) ?? this.#lastQueued(key)
    return last === undefined ? this.#delivered(key) : objectAfter(last)
  }

  /** What the consumer will hold of a key once it has processed what it has taken. */
  #delivered(key: string): T | undefined {
    const taken = this.#taken.get(key)
    return taken === undefined ? this.#known?.get(key) : objectAfter(taken)
  }

  #lastQueued(key: string): Change<T> | undefined {
    const pending = this.#merged?.get(key)
    return pending === undefined ? this.#queued.get(key)?.at(-1)?.change : changesOf(pending).at(-1)
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
    // A second delete improves one that will be told: of a key that the consumer holds.
    const queued = staged.get(key) ?? this.#lastQueued(key)
    if (queued?.type !== 'delete' || this.#merged === undefined || this.#delivered(key) === undefined) return undefined
    return {
      ...queued,
      object: object ?? queued.object,
      version,
      origin,
      finalState: object ? finalState : queued.finalState,
    }
  }

  /** A whole collection, as changes to what the consumer will hold. Without `keep`, nothing is deleted. */
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
    for (const key of this.#queued.keys()) keys.add(key)
    for (const key of this.#merged?.keys() ?? []) keys.add(key)
    for (const key of this.#taken.keys()) keys.add(key)
    for (const key of this.#known?.keys() ?? []) keys.add(key)
    return keys
  }
}

/** A resync is no falling behind: it comes only while nothing waits, and does not count. */
function isResync(changes: readonly Change<unknown>[]): boolean {
  return changes[0]?.origin === 'resync'
}

function objectAfter<T>(change: Change<T>): T | undefined {
  return change.type === 'delete' ? undefined : change.object
}

/** Whether all changes of a batch have left by `pop`. */
function isSpent(batch: Waiting<unknown> | undefined): boolean {
  return batch !== undefined && batch.popped > 0 && batch.popped === batch.changes.length
}

function toDelta<T>({ type, key, object, version, origin }: Change<T>): Delta<T> {
  return { type: deltaType(type, origin), key, object, version }
}

function deltaType(type: Change<unknown>['type'], origin: Change<unknown>['origin']): DeltaType {
  if (type === 'delete') return 'deleted'
  if (origin === 'resync') return 'sync'
  if (origin === 'initial' || origin === 'relist') return 'replaced'
  return type === 'add' ? 'added' : 'updated'
}
