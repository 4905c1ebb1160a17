import type { Entry } from '../contract/source.js'
import type { Added, Change, Deleted, Updated } from '../queue/change.js'
import type { Indexer } from '../store/indexer.js'
import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import type { Ordinal } from '../store/ordinals.js'
import type { Membership } from '../store/write/commit.js'
import { assertSynchronous } from '../util/type-guards.js'
import { ScopeScan } from './scope-scan.js'
import { declaredIn, type FeedOptions } from './subscription-types.js'

interface ScopeFailure {
  readonly what: string
  /** What happens to the objects or updates for which it fails. */
  readonly effect: string
  readonly error: unknown
  readonly key: string
}

/** Tracks which keys are in the scope of a subscription. Leaves out the updates for which `when` returns false. */
export class ScopeFilter<T> {
  readonly key: string | undefined
  readonly where: readonly (readonly [DeclaredIndex<T>, unknown])[]
  /** Whether every object with one value of an index is in scope, and no other. */
  readonly isOneValue: boolean
  readonly isFiltered: boolean
  readonly #indexer: Indexer<T, unknown>
  readonly #filter: ((object: T, key: string) => boolean) | undefined
  readonly #when: ((change: Updated<T>) => boolean) | undefined
  readonly #onFailure: (failure: ScopeFailure) => void
  /** Created by the first error: the functions that have failed. */
  #failed: Set<string> | undefined
  /** The keys that are in scope, as far as the subscriber was notified; undefined if every object is. */
  readonly #inScopeKeys: Set<string> | undefined
  /** The objects that the subscriber received, of keys whose later changes were left out, or are not decided. */
  #received: Map<string, T> | undefined
  readonly #untrack: readonly (() => void)[]

  /** `onFailure` is called for the first error of each function. */
  constructor(
    call: string,
    { key, where, filter, when }: FeedOptions<T>,
    indexer: Indexer<T, unknown>,
    onFailure: (failure: ScopeFailure) => void,
  ) {
    this.key = key
    this.where = declaredIn(call, where ?? {}, indexer.declared)
    this.#indexer = indexer
    this.#filter = filter
    this.isFiltered = filter !== undefined
    this.#when = when
    this.#onFailure = onFailure
    this.isOneValue = key === undefined && this.where.length === 1 && filter === undefined && when === undefined
    const hasScope = key !== undefined || this.where.length > 0 || filter !== undefined
    this.#inScopeKeys = hasScope ? new Set() : undefined
    this.#untrack = this.where.map(([index]) => indexer.writer.track(index))
  }

  /** Whether there are changes that the subscriber may not receive. */
  get isSelective(): boolean {
    return this.#inScopeKeys !== undefined || this.#when !== undefined
  }

  get size(): number {
    return this.#inScopeKeys?.size ?? this.#indexer.store.readers.size
  }

  has(key: string): boolean {
    return this.#inScopeKeys === undefined || this.#inScopeKeys.has(key)
  }

  /** The change as the subscriber sees it; undefined if it does not concern the subscriber. */
  match(
    change: Change<T>,
    membership: Membership | undefined,
    tracked: readonly DeclaredIndex<T>[],
  ): Change<T> | undefined {
    const inScopeKeys = this.#inScopeKeys
    if (inScopeKeys === undefined) return this.#unlessLeftOut(this.sinceReceived(change))
    const { key } = change
    const wasIn = inScopeKeys.has(key)
    const isIn = change.type !== 'delete' && this.#isIn(change, membership, tracked)
    if (isIn === undefined) {
      if (wasIn && change.previous !== undefined) this.#leaveOut(key, change.previous)
      return undefined
    }
    const decided = this.sinceReceived(change)
    if (isIn) {
      if (wasIn) return this.#unlessLeftOut(decided)
      inScopeKeys.add(key)
      return entering(change)
    }
    if (!wasIn) return undefined
    inScopeKeys.delete(key)
    return decided.type === 'delete' ? decided : leaving(decided)
  }

  /** Remembers the first of several objects, which is the one that the subscriber received. */
  #leaveOut(key: string, received: T): void {
    this.#received ??= new Map()
    if (!this.#received.has(key)) this.#received.set(key, received)
  }

  /** The change relative to the object that the subscriber received, if it did not receive earlier changes. */
  sinceReceived(change: Change<T>): Change<T> {
    const received = this.#received?.get(change.key)
    if (received === undefined || change.type === 'add') return change
    this.#received?.delete(change.key)
    return { ...change, previous: received }
  }

  #unlessLeftOut(change: Change<T>): Change<T> | undefined {
    if (change.type !== 'update' || this.#when === undefined || this.#isWanted(change, this.#when)) return change
    this.#leaveOut(change.key, change.previous)
    return undefined
  }

  #isWanted(change: Updated<T>, when: (change: Updated<T>) => boolean): boolean {
    try {
      const isWanted: unknown = when(change)
      assertSynchronous(isWanted, 'function `when`')
      return Boolean(isWanted)
    } catch (error) {
      this.#fail({ what: 'the function `when`', effect: 'such updates are delivered', error, key: change.key })
      return true
    }
  }

  *entries(): Iterator<Entry<T>, undefined> {
    const { store } = this.#indexer
    if (this.#inScopeKeys !== undefined) {
      for (const key of this.#inScopeKeys) {
        const entry = store.readers.entryOf(key)
        if (entry !== undefined) yield entry
      }
      return
    }
    for (let ordinal = store.readers.ordinalStart; ordinal < store.readers.ordinalLimit; ordinal++) {
      const entry = store.readers.entryAt(ordinal)
      if (entry !== undefined) yield entry
    }
  }

  /** Undefined if every object is in scope. Without `wantsObjects` the search finds no object for the subscriber. */
  scan(wantsObjects: boolean): ScopeScan<T> | undefined {
    if (this.#inScopeKeys === undefined && wantsObjects) return undefined
    const candidates = this.#inScopeKeys === undefined ? [] : this.#candidates()
    const isInScope = ({ key, object }: Entry<T>): boolean => this.#passes(object, key)
    const found = { keys: this.#inScopeKeys ?? new Set(), wantsObjects }
    return new ScopeScan(this.#indexer.store.readers, candidates, isInScope, found)
  }

  close(): void {
    for (const untrack of this.#untrack) untrack()
    this.#inScopeKeys?.clear()
    this.#received = undefined
  }

  /** The ordinals with the key and the values of `where`; undefined if all objects may be in scope. */
  #candidates(): readonly Ordinal[] | undefined {
    const { store } = this.#indexer
    const [first, ...rest] = this.where
    if (first !== undefined) store.indexes.assertIntact()
    let candidates: readonly Ordinal[]
    if (this.key !== undefined) {
      const ordinal = store.readers.ordinalOf(this.key)
      candidates = ordinal === undefined ? [] : [ordinal]
    } else if (first !== undefined) {
      const [index, value] = first
      candidates = index.ordinalsWith(value)
    } else return undefined
    for (const [index, value] of this.key === undefined ? rest : this.where) {
      const { ordinalStart, ordinalLimit } = store.readers
      const isMatching = new Uint8Array(ordinalLimit - ordinalStart)
      for (const ordinal of index.ordinalsWith(value)) isMatching[ordinal - ordinalStart] = 1
      candidates = candidates.filter((ordinal) => isMatching[ordinal - ordinalStart] === 1)
    }
    return candidates
  }

  /** Whether a changed object is in scope; undefined if a later change of its key decides. */
  #isIn(
    change: Change<T>,
    membership: Membership | undefined,
    tracked: readonly DeclaredIndex<T>[],
  ): boolean | undefined {
    if (this.key !== undefined && change.key !== this.key) return false
    for (const [declared, value] of this.where) {
      const position = tracked.indexOf(declared)
      if (position < 0 && this.#isReplaced(change)) return undefined
      const valueNow = position < 0 ? this.#valueIn(declared, change) : membership?.[tracked.length + position]
      if (!declared.includes(valueNow, value)) return false
    }
    return this.#passes(change.object, change.key)
  }

  /** Whether a later change has replaced the object of a change in the store. */
  #isReplaced({ key, object }: Change<T>): boolean {
    const { store } = this.#indexer
    const ordinal = store.ordinalOf(key)
    return ordinal === undefined || store.entryAt(ordinal)?.object !== object
  }

  /** The value of a changed object in an index that was not tracked yet when the commit began. */
  #valueIn({ index }: DeclaredIndex<T>, { key }: Change<T>): unknown {
    const ordinal = this.#indexer.store.ordinalOf(key)
    return ordinal === undefined ? undefined : index.valueAt(ordinal)
  }

  #passes(object: T, key: string): boolean {
    if (this.#filter === undefined) return true
    try {
      const passes: unknown = this.#filter(object, key)
      assertSynchronous(passes, 'filter')
      return Boolean(passes)
    } catch (error) {
      this.#fail({ what: 'the filter', effect: 'such objects are out of scope', error, key })
      return false
    }
  }

  #fail(failure: ScopeFailure): void {
    this.#failed ??= new Set()
    if (this.#failed.has(failure.what)) return
    this.#failed.add(failure.what)
    this.#onFailure(failure)
  }
}

function entering<T>({ key, object, version, origin }: Change<T>): Added<T> {
  return { type: 'add', key, object, previous: undefined, version, origin }
}

/** The deleted object is the last one that was in scope. */
function leaving<T>({ key, object, previous, version, origin }: Change<T>): Deleted<T> {
  const last = previous === undefined ? object : previous // It may be null.
  return {
    type: 'delete',
    key,
    object: last,
    previous: last,
    version,
    origin,
    finalState: 'known',
    gone: 'out-of-scope',
  }
}
