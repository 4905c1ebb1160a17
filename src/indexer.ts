import { type Change, type Delta, type DeltaBatch, namedInvalid, type Origin } from './delta.js'
import { structuralEqual } from './equal.js'
import { SourceError } from './errors.js'
import { isDevelopment } from './freeze.js'
import { type DeclaredIndex, declareIndexes } from './index-builder.js'
import type { IndexBuilder } from './index-types.js'
import { Intake, type IntakeOptions, invalid, isOtherIdentity, OMITTED, SAME } from './intake.js'
import { checkOptions, isFunction } from './options.js'
import type { Delete, Entry, Invalid, ListEvent, Replacement, Sink, WatchBatch, WatchEvent } from './source.js'
import { type Ordinal, Store } from './store.js'
import type { Version } from './version.js'
import { Snapshot, type StoreView } from './views.js'

/** Index values of one object before and after a change, one for each tracked index. */
export interface Membership {
  readonly was: readonly unknown[]
  readonly is: readonly unknown[]
}

/** One step of the store, told after it was taken whole. */
export interface Commit<T> {
  /** `filled`: the first list is in, and whoever follows starts from the store itself; `listed`: a later one is. */
  readonly type: 'filled' | 'listed' | 'changed'
  readonly changes: readonly Change<T>[]
  /** Beside each change, where indexes are tracked; else empty. */
  readonly memberships: readonly Membership[]
  readonly version: Version | undefined
  readonly committedAt: number | undefined
}

/** What an informer adds to its indexer. */
export interface IndexerHooks<T> extends Partial<IntakeOptions<T>> {
  readonly onInvalid?: 'omit' | 'keep-previous' | undefined
  readonly onCommit?: (commit: Commit<T>) => void
  readonly maxObjects?: number | undefined
}

const NOTHING: readonly unknown[] = []

interface Batch<T> {
  readonly origin: Origin
  readonly version: Version | undefined
  readonly finalState: 'known' | 'unknown'
  readonly ignoreVersions: boolean
  /** Whether nobody wants to know. */
  readonly isSilent: boolean
  readonly changes: Change<T>[]
  readonly memberships: Membership[]
}

/**
 * The indexed store, and the sink that a reflector writes to. One writer; every batch, and every list, becomes visible
 * in one synchronous step. Objects that are equal to what is there keep their identity and are no change.
 */
export class Indexer<T, I = {}> implements StoreView<T, I>, Sink<T> {
  readonly by: I
  readonly #store: Store<T>
  readonly #intake: Intake<T>
  readonly #hooks: IndexerHooks<T>
  readonly #declared = new Map<string, DeclaredIndex<T>>()
  readonly #invalid = new Map<string, SourceError>()
  /** Indexes whose values commits carry, because somebody's scope asks for them. */
  readonly #tracked = new Map<DeclaredIndex<T>, number>()
  #version: Version | undefined
  #hasFilled = false
  #commits = 0

  constructor(options?: { readonly indexes?: (ix: IndexBuilder<T>) => I })
  /** @internal */
  constructor(options: { readonly indexes?: ((ix: IndexBuilder<T>) => I) | undefined }, hooks: IndexerHooks<T>)
  constructor(
    options: { readonly indexes?: ((ix: IndexBuilder<T>) => I) | undefined } = {},
    hooks: IndexerHooks<T> = {},
  ) {
    checkOptions('new Indexer', options, { indexes: isFunction })
    this.#hooks = hooks
    this.#store = new Store(hooks.maxObjects, hooks.freeze ?? isDevelopment())
    this.#intake = new Intake({
      prepare: hooks.prepare,
      equals: hooks.equals ?? structuralEqual,
      freeze: hooks.freeze ?? false,
      report: hooks.report ?? warn,
    })
    const declare = options.indexes as ((ix: IndexBuilder<T>) => I & object) | undefined
    this.by = declare === undefined ? (Object.create(null) as I) : this.#declare(declare)
  }

  get(key: string): T | undefined {
    return this.#store.isVisible ? this.#store.entryOf(key)?.object : undefined
  }

  has(key: string): boolean {
    return this.#store.isVisible && this.#store.ordinalOf(key) !== undefined
  }

  get size(): number {
    return this.#store.isVisible ? this.#store.size : 0
  }

  get version(): Version | undefined {
    return this.#version
  }

  keys(): Iterable<string> {
    return this.#store.isVisible ? this.#store.keys() : []
  }

  entries(): Iterable<Entry<T>> {
    return this.#store.isVisible ? this.#store.entries() : []
  }

  list(): readonly T[] {
    return this.#store.isVisible ? this.#store.list() : []
  }

  /** @internal */
  get invalid(): ReadonlyMap<string, SourceError> {
    return this.#invalid
  }

  /** @internal */
  get declared(): ReadonlyMap<string, DeclaredIndex<T>> {
    return this.#declared
  }

  /** @internal How many steps the store has taken. */
  get commits(): number {
    return this.#commits
  }

  /** @internal */
  get store(): Store<T> {
    return this.#store
  }

  /** @internal */
  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): X {
    if (this.#declared.has(name)) throw new TypeError(`addIndex: there is an index "${name}" already`)
    return (this.#declare((ix) => ({ [name]: build(ix) })) as Record<string, X>)[name] as X
  }

  /** @internal */
  snapshot(): StoreView<T, I> & Disposable {
    return new Snapshot<T, I>(
      this.#store.isVisible ? this.#store.pin() : new Store<T>().pin(),
      this.#version,
      this.#declared.values(),
    )
  }

  /** @internal Makes commits carry the values of an index, until the result is called. */
  track(index: DeclaredIndex<T>): () => void {
    this.#tracked.set(index, (this.#tracked.get(index) ?? 0) + 1)
    return () => {
      const users = (this.#tracked.get(index) ?? 1) - 1
      if (users === 0) this.#tracked.delete(index)
      else this.#tracked.set(index, users)
    }
  }

  /** @internal */
  get tracked(): Iterable<DeclaredIndex<T>> {
    return this.#tracked.keys()
  }

  apply(batch: WatchBatch<T> | DeltaBatch<T>): void {
    const commit = this.#begin('watch', batch.version, 'known', false)
    const isOfDeltas = 'deltas' in batch
    const events: readonly WatchEvent<T>[] = isOfDeltas ? batch.deltas.map(eventOf) : batch.events
    this.#assertRoom(events)
    for (const event of events) {
      if (event.type === 'replace') this.#replaceBy(event.entries, namedInvalid(events), commit)
      else this.#event(event, commit)
    }
    this.#end(commit, batch.version ?? this.#version, isOfDeltas ? undefined : batch.committedAt)
  }

  replace({ ignoreVersions = false }: { readonly ignoreVersions?: boolean } = {}): Replacement<T> {
    if (this.#hasFilled || this.#store.size > 0) return this.#relist(ignoreVersions)
    return this.#fill()
  }

  /** The first list: it fills the store directly, which nobody can see until it is whole. */
  #fill(): Replacement<T> {
    this.#store.isVisible = false
    const commit: Batch<T> = { ...this.#begin('initial', undefined, 'unknown', false), isSilent: true }
    return {
      page: (events) => {
        for (const event of events) this.#event(event, commit)
      },
      commit: (version) => {
        this.#store.isVisible = true
        this.#hasFilled = true
        this.#version = version
        this.#commits++
        this.#hooks.onCommit?.({ type: 'filled', changes: [], memberships: [], version, committedAt: undefined })
      },
      abandon: () => {
        this.#store.clear()
        this.#invalid.clear()
        this.#store.isVisible = true
      },
    }
  }

  /** A later list: compared with the store as it comes, written in one step at its end. */
  #relist(ignoreVersions: boolean): Replacement<T> {
    const listed = new Uint8Array(this.#store.ordinalLimit)
    const pending = new Map<string, Entry<T> | typeof OMITTED>()
    const bad = new Map<string, SourceError>()
    let isComplete = true
    const take = (event: ListEvent<T>): void => {
      const { key } = event
      if (key === undefined) {
        isComplete = false
        if (event.type === 'invalid') this.#refuse(event, undefined)
        return
      }
      const ordinal = this.#store.ordinalOf(key)
      const current = ordinal === undefined ? undefined : this.#store.entryAt(ordinal)
      if (pending.size > 0) pending.delete(key)
      if (bad.size > 0) bad.delete(key)
      if (ordinal !== undefined) listed[ordinal] = event.type === 'delete' ? 0 : 1
      if (event.type === 'delete') return
      const taken =
        event.type === 'invalid' ? invalid(key, event.error) : this.#intake.take(event, current, ignoreVersions)
      if (taken instanceof SourceError) bad.set(key, taken)
      else if (taken !== SAME) pending.set(key, taken)
      else if (current !== undefined && this.#invalid.has(key)) pending.set(key, current) // It is good again.
    }
    return {
      page: (events) => {
        for (const event of events) take(event)
      },
      commit: (version) => {
        if (pending.size > this.#store.room) this.#assertRoomForList(listed, pending, isComplete)
        const commit = this.#begin('relist', version, 'unknown', ignoreVersions)
        for (const [key, error] of bad) this.#markInvalid(key, error, commit)
        for (const key of this.#invalid.keys()) if (isComplete && !bad.has(key)) this.#invalid.delete(key)
        if (isComplete) this.#deleteUnlisted(listed, commit)
        if (ignoreVersions) this.#forgetVersions(bad.keys(), isComplete ? undefined : listed)
        for (const [key, taken] of pending) {
          this.#invalid.delete(key)
          if (taken === OMITTED) this.#remove(key, undefined, commit)
          else this.#write(taken, this.#store.ordinalOf(key), commit)
        }
        this.#end(commit, version, undefined)
      },
      abandon: () => {},
    }
  }

  /** A batch is applied whole or not at all: refused before it begins where the store cannot hold it on the way. */
  #assertRoom(events: readonly WatchEvent<T>[]): void {
    let arriving = 0
    for (const event of events) arriving += event.type === 'replace' ? event.entries.length : 1
    if (arriving <= this.#store.room) return
    const most = this.#store.size + this.#store.room
    /** What differs from the store on the way, or from nothing once a replace has come. */
    const changed = new Map<string, boolean>()
    let isReplaced = false
    let size = this.#store.size
    const has = (key: string): boolean => changed.get(key) ?? (!isReplaced && this.#store.ordinalOf(key) !== undefined)
    const set = (key: string, isThere: boolean): void => {
      if (has(key) !== isThere) size += isThere ? 1 : -1
      changed.set(key, isThere)
      if (size > most) throw this.#store.overflow()
    }
    for (const event of events) {
      if (event.type === 'put') set(event.key, true)
      else if (event.type === 'delete') set(event.key, false)
      else if (event.type === 'replace') {
        const keep = namedInvalid(events)
        if (keep !== undefined) {
          const kept = [...keep].filter(has)
          changed.clear()
          isReplaced = true
          size = 0
          for (const key of kept) set(key, true)
        }
        for (const { key } of event.entries) set(key, true)
      }
    }
  }

  #assertRoomForList(listed: Uint8Array, pending: ReadonlyMap<string, unknown>, isComplete: boolean): void {
    let size = isComplete ? listed.reduce((sum, each) => sum + each, 0) : this.#store.size
    for (const key of pending.keys()) if (this.#store.ordinalOf(key) === undefined) size++
    if (size > this.#store.size + this.#store.room) throw this.#store.overflow()
  }

  #deleteUnlisted(listed: Uint8Array, commit: Batch<T>): void {
    for (let ordinal = 0; ordinal < listed.length; ordinal++) {
      const entry = listed[ordinal] === 1 ? undefined : this.#store.entryAt(ordinal)
      if (entry !== undefined) this.#remove(entry.key, undefined, commit)
    }
  }

  /**
   * What a list of another history kept without having seen it: its version is of the old history, and one of the new may
   * read the same.
   */
  #forgetVersions(keys: Iterable<string>, listed: Uint8Array | undefined): void {
    const ordinals = Array.from(keys, (key) => this.#store.ordinalOf(key))
    listed?.forEach((isListed, ordinal) => {
      if (isListed === 0) ordinals.push(ordinal)
    })
    for (const ordinal of ordinals) {
      const entry = ordinal === undefined ? undefined : this.#store.entryAt(ordinal)
      if (ordinal === undefined || entry?.version === undefined) continue
      const { version: _version, ...rest } = entry
      this.#store.touch(ordinal, rest)
    }
  }

  /** A polled source's whole collection, inside a batch. `keep` counts as listed; without it nothing is known to be gone. */
  #replaceBy(entries: readonly Entry<T>[], keep: ReadonlySet<string> | undefined, commit: Batch<T>): void {
    if (keep !== undefined) {
      const keys = new Set(keep)
      for (const { key } of entries) keys.add(key)
      for (const key of this.#invalid.keys()) if (!keys.has(key)) this.#invalid.delete(key)
      for (const key of this.#store.keys())
        if (!keys.has(key)) this.#remove(key, undefined, { ...commit, finalState: 'unknown' })
    }
    for (const entry of entries) this.#put(entry, commit)
  }

  #event(event: ListEvent<T>, commit: Batch<T>): void {
    switch (event.type) {
      case 'put':
        this.#put(event, commit)
        break
      case 'delete':
        this.#delete(event, commit)
        break
      case 'invalid':
        this.#refuse(event, commit)
        break
    }
  }

  #put(arrived: Entry<unknown>, commit: Batch<T>): void {
    const ordinal = this.#store.ordinalOf(arrived.key)
    const current = ordinal === undefined ? undefined : this.#store.entryAt(ordinal)
    const taken = this.#intake.take(arrived, current, commit.ignoreVersions)
    if (taken instanceof SourceError) {
      this.#markInvalid(arrived.key, taken, commit)
      return
    }
    if (this.#invalid.size > 0) this.#invalid.delete(arrived.key)
    if (taken === OMITTED) this.#remove(arrived.key, undefined, commit)
    else if (taken !== SAME) this.#write(taken, ordinal, commit)
  }

  #delete({ key, object }: Delete<unknown>, commit: Batch<T>): void {
    this.#invalid.delete(key)
    this.#remove(key, this.#intake.lastState(key, object), commit)
  }

  #refuse({ key, error }: Invalid, commit: Batch<T> | undefined): void {
    if (key !== undefined && commit !== undefined) this.#markInvalid(key, invalid(key, error), commit)
    else this.#hooks.report?.(invalid(key, error))
  }

  #markInvalid(key: string, error: SourceError, commit: Batch<T>): void {
    const known = this.#invalid.get(key)
    this.#invalid.set(key, error)
    if (known?.message !== error.message) this.#hooks.report?.(error)
    if (this.#hooks.onInvalid === 'omit') this.#remove(key, undefined, { ...commit, finalState: 'unknown' })
  }

  #write(entry: Entry<T>, ordinal: Ordinal | undefined, commit: Batch<T>): void {
    const current = ordinal === undefined ? undefined : this.#store.entryAt(ordinal)
    const isOther = current !== undefined && isOtherIdentity(current, entry)
    if (ordinal !== undefined && current?.object === entry.object && !isOther) {
      this.#store.touch(ordinal, entry)
      return
    }
    if (commit.isSilent) {
      this.#store.set(entry, ordinal)
      return
    }
    const was = this.#valuesAt(ordinal)
    const is = this.#valuesAt(this.#store.set(entry, ordinal))
    const { key, object } = entry
    const { version, origin } = commit
    if (current === undefined) {
      this.#tell({ type: 'add', key, object, previous: undefined, version, origin }, was, is, commit)
      return
    }
    const previous = current.object
    if (!isOther) {
      this.#tell({ type: 'update', key, object, previous, version, origin }, was, is, commit)
      return
    }
    const gone: Change<T> = { type: 'delete', key, object: previous, previous, version, origin, finalState: 'unknown' }
    this.#tell(gone, was, [], commit)
    this.#tell({ type: 'add', key, object, previous: undefined, version, origin }, [], is, commit)
  }

  #remove(key: string, last: T | undefined, commit: Batch<T>): void {
    const was = this.#valuesAt(this.#store.ordinalOf(key))
    const entry = this.#store.delete(key)
    if (entry === undefined || commit.isSilent) return
    const { version, origin, finalState } = commit
    const previous = entry.object
    const object = last === undefined ? previous : last
    this.#tell({ type: 'delete', key, object, previous, version, origin, finalState }, was, [], commit)
  }

  #tell(change: Change<T>, was: readonly unknown[], is: readonly unknown[], commit: Batch<T>): void {
    commit.changes.push(change)
    if (this.#tracked.size > 0) commit.memberships.push({ was, is })
  }

  #valuesAt(ordinal: Ordinal | undefined): readonly unknown[] {
    if (ordinal === undefined || this.#tracked.size === 0) return NOTHING
    return Array.from(this.#tracked.keys(), ({ index }) => index.valueAt(ordinal))
  }

  #begin(
    origin: Origin,
    version: Version | undefined,
    finalState: 'known' | 'unknown',
    ignoreVersions: boolean,
  ): Batch<T> {
    const isSilent = this.#hooks.onCommit === undefined
    return { origin, version, finalState, ignoreVersions, isSilent, changes: [], memberships: [] }
  }

  #end(
    { origin, changes, memberships }: Batch<T>,
    version: Version | undefined,
    committedAt: number | undefined,
  ): void {
    this.#version = version
    this.#commits++
    this.#hasFilled = true
    const type = origin === 'relist' ? 'listed' : 'changed'
    this.#hooks.onCommit?.({ type, changes, memberships, version, committedAt })
  }

  #declare<X extends object>(declare: (ix: IndexBuilder<T>) => X): X {
    const report = (message: string, cause: unknown, key: string): void => {
      const error = new SourceError(`${message}; such objects are left out of it`, {
        code: 'DECODE',
        phase: 'apply',
        cause,
        key,
      })
      const tell = this.#hooks.report ?? warn
      tell(error)
    }
    const { by, declared } = declareIndexes(this.#store, declare, report)
    for (const index of declared) this.#declared.set(index.name, index)
    if (this.by !== undefined) Object.assign(this.by as object, by)
    return by
  }
}

/** A delta as an event. Its version is that of its batch, not the object's own, so that it says nothing of equality. */
function eventOf<T>({ type, key, object }: Delta<T>): ListEvent<T> {
  return { type: type === 'deleted' ? 'delete' : 'put', key, object }
}

function warn(error: SourceError): void {
  process.emitWarning(error.message, { type: 'ListwatchWarning', code: error.code })
}
