import { type Change, type Delta, type DeltaBatch, namedInvalid, type Origin } from './delta.js'
import { structuralEqual } from './equal.js'
import { SourceError } from './errors.js'
import { isDevelopment } from './freeze.js'
import { type DeclaredIndex, declareIndexes } from './index-builder.js'
import type { IndexBuilder } from './index-types.js'
import { Intake, type IntakeOptions, invalid, isOtherIdentity, OMITTED, SAME } from './intake.js'
import { checkOptions, isFunction } from './options.js'
import { newPart, Ownership, type Part } from './ownership.js'
import { assertRoom, assertRoomForList, type Room } from './room.js'
import type { Delete, Entry, Invalid, ListEvent, Replacement, Sink, WatchBatch, WatchEvent } from './source.js'
import { type Ordinal, Store } from './store.js'
import { Turns } from './turns.js'
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
  /** The indexes that were tracked when it began, in the order of their values in the memberships. */
  readonly tracked: readonly DeclaredIndex<T>[]
  readonly version: Version | undefined
  /** Where the store is now: the version; over several sources a count of its own. */
  readonly position: Version | undefined
  /** Over several sources: the one that it comes from. */
  readonly source: string | undefined
  readonly committedAt: number | undefined
}

/** What was written while it was kept. */
export interface WriteRecord {
  readonly keys: ReadonlySet<string>
  /** Whether this part went on by a whole collection, which does not tell what came and went in between. */
  readonly isReplaced: boolean
  stop(): void
}

/** What an informer adds to its indexer. */
export interface IndexerHooks<T> extends Partial<IntakeOptions<T>> {
  /** `source`: over several sources, the one that it is about, where it is about one. */
  readonly report?: (error: SourceError, source?: string) => void
  readonly onInvalid?: 'omit' | 'keep-previous' | undefined
  readonly onCommit?: (commit: Commit<T>) => void
  /** A key that this source gave, and that was another's, is nobody's now. */
  readonly onReleased?: (source: string) => void
  readonly maxObjects?: number | undefined
  /** Whether to know what `prepare` left out. */
  readonly remembersOmitted?: boolean | undefined
}

/** What one source has in a store: all of it, or over several sources a part. */
export interface StorePart<T> extends Sink<T> {
  entryOf(key: string): Entry<T> | undefined
  /** Of what it holds, and of what is invalid. */
  keys(): Iterable<string>
  /** Keeps the keys that are written from now on, also by others, until it is stopped. */
  record(): WriteRecord
  /** Whether another source of the set has a key. */
  isOthers(key: string): boolean
  isInvalid(key: string): boolean
  /** What is known of an object that is invalid, or was left out. */
  passedOver(key: string): { readonly version: Version | undefined } | undefined
  /** Takes all of it out of the store. */
  drop(): void
}

const NOTHING: readonly never[] = []

interface Batch<T> {
  readonly part: Part
  readonly origin: Origin
  readonly version: Version | undefined
  readonly finalState: 'known' | 'unknown'
  readonly ignoreVersions: boolean
  /** Whether nobody wants to know. */
  readonly isSilent: boolean
  readonly changes: Change<T>[]
  readonly memberships: Membership[]
  readonly tracked: readonly DeclaredIndex<T>[]
  /** Keys that another source has given already. */
  readonly claimed: string[]
  /** Keys that the source gave, and that may be nobody's now. */
  readonly released: string[]
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
  readonly #whole = newPart()
  /** Over several sources. */
  #ownership: Ownership | undefined
  /** Those who want to know which keys are written. */
  readonly #recorders = new Set<{ readonly keys: Set<string>; readonly part: Part; isReplaced: boolean }>()
  #hasFilled = false
  #commits = 0
  /** Whether the user's functions may be called between two parts of one step. */
  #isWriting = false
  /** @internal What may not come in the middle of a step of the store, or of what looks at all of it. */
  readonly turns: Turns = new Turns()

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
    return this.#whole.version
  }

  /** @internal Where the store is: its version; over several sources a count of its own. */
  get position(): Version | undefined {
    return this.#ownership === undefined ? this.#whole.version : String(this.#commits)
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
    return this.#store.isVisible ? this.#invalid : new Map()
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
    return this.#inOneStep(
      'addIndex',
      () => (this.#declare((ix) => ({ [name]: build(ix) })) as Record<string, X>)[name] as X,
    )
  }

  /** @internal Refuses a call out of a function that the store calls while it is written. */
  assertNotWriting(call: string): void {
    if (!this.#isWriting) return
    throw new TypeError(
      `${call}: the store is being written; schema, transform, equals and index functions may only read the object that they are given`,
    )
  }

  /** @internal */
  snapshot(): StoreView<T, I> & Disposable {
    this.assertNotWriting('snapshot')
    return new Snapshot<T, I>(
      this.#store.isVisible ? this.#store.pin() : new Store<T>().pin(),
      this.version,
      this.#declared.values(),
    )
  }

  /** @internal The whole store, as what its only source has in it. */
  whole(): StorePart<T> {
    return this.#partOf(this.#whole)
  }

  /** @internal From now on the store is in parts; this is a new one. */
  part(name: string): StorePart<T> {
    this.#ownership ??= new Ownership()
    const part = newPart(name)
    return this.#partOf(part)
  }

  #partOf(part: Part): StorePart<T> {
    const owns = (ordinal: Ordinal): boolean => this.#ownership?.isOwner(part, ordinal) ?? true
    const store = this.#store
    return {
      get version() {
        return part.version
      },
      apply: (batch) => this.#inOneStep('apply', () => this.#apply(batch, part)),
      replace: ({ ignoreVersions = false } = {}) => this.#replace(ignoreVersions, part),
      entryOf: (key) => {
        const ordinal = store.ordinalOf(key)
        return ordinal !== undefined && owns(ordinal) ? store.entryAt(ordinal) : undefined
      },
      *keys() {
        for (let ordinal = 0; ordinal < store.ordinalLimit; ordinal++) {
          const entry = store.entryAt(ordinal)
          if (entry !== undefined && owns(ordinal)) yield entry.key
        }
        for (const key of part.invalid.keys()) if (store.ordinalOf(key) === undefined) yield key
      },
      record: () => {
        const record = { keys: new Set<string>(), part, isReplaced: false, stop: () => this.#recorders.delete(record) }
        this.#recorders.add(record)
        return record
      },
      isOthers: (key) => this.#isOthers(part, key, store.ordinalOf(key)),
      isInvalid: (key) => part.invalid.has(key),
      passedOver: (key) => {
        if (part.invalid.has(key)) return { version: part.invalid.get(key) }
        return part.omitted.has(key) ? { version: part.omitted.get(key) } : undefined
      },
      drop: () => this.#inOneStep('drop', () => this.#drop(part)),
    }
  }

  /**
   * @internal Whether the store holds what it would make of an object that arrives; `current` is what it holds, and
   * `isInvalid` whether it counts that as old.
   */
  isHeld(arrived: Entry<unknown>, current: Entry<T> | undefined, isInvalid: boolean): boolean {
    const taken = this.#intake.take(arrived, current, true)
    if (isInvalid || taken instanceof SourceError) return isInvalid && taken instanceof SourceError
    if (taken === SAME) return true
    return taken === OMITTED ? current === undefined : taken.object === current?.object
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
    this.#inOneStep('apply', () => this.#apply(batch, this.#whole))
  }

  replace({ ignoreVersions = false }: { readonly ignoreVersions?: boolean } = {}): Replacement<T> {
    return this.#replace(ignoreVersions, this.#whole)
  }

  /** One thing at a time: `act` calls the user's functions, which may not write what is being written. */
  #inOneStep<V>(call: string, act: () => V): V {
    this.assertNotWriting(call)
    return this.turns.hold(() => {
      this.#isWriting = true
      try {
        return act()
      } finally {
        this.#isWriting = false
      }
    })
  }

  #apply(batch: WatchBatch<T> | DeltaBatch<T>, part: Part): void {
    const commit = this.#begin(part, 'watch', batch.version, 'known', false)
    const isOfDeltas = 'deltas' in batch
    const events: readonly WatchEvent<T>[] = isOfDeltas ? batch.deltas.map(eventOf) : batch.events
    assertRoom(events, this.#room(part))
    for (const event of events) {
      if (event.type === 'replace') this.#replaceBy(event.entries, namedInvalid(events), commit)
      else this.#event(event, commit)
    }
    this.#end(commit, batch.version ?? part.version, isOfDeltas ? undefined : batch.committedAt)
  }

  #replace(ignoreVersions: boolean, part: Part): Replacement<T> {
    const isFirst = !this.#hasFilled && this.#store.size === 0 && this.#ownership === undefined
    const { page, commit, abandon } = isFirst ? this.#fill() : this.#relist(ignoreVersions, part)
    return {
      page: (events) => this.#inOneStep('page', () => page(events)),
      commit: (version) => this.#inOneStep('commit', () => commit(version)),
      abandon: () => this.#inOneStep('abandon', abandon),
    }
  }

  /** The first list: it fills the store directly, which nobody can see until it is whole. */
  #fill(): Replacement<T> {
    this.#store.isVisible = false
    const commit: Batch<T> = { ...this.#begin(this.#whole, 'initial', undefined, 'unknown', false), isSilent: true }
    return {
      page: (events) => {
        for (const event of events) this.#event(event, commit)
      },
      commit: (version) => {
        this.#store.isVisible = true
        this.#hasFilled = true
        this.#whole.version = version
        this.#tellCommit('filled', commit, undefined)
      },
      abandon: () => {
        this.#store.clear()
        this.#invalid.clear()
        this.#whole.invalid.clear()
        this.#whole.omitted.clear()
        this.#store.isVisible = true
      },
    }
  }

  /** A later list: compared with the store as it comes, written in one step at its end. */
  #relist(ignoreVersions: boolean, part: Part): Replacement<T> {
    const listed = new Uint8Array(this.#store.ordinalLimit)
    const pending = new Map<string, Entry<T> | typeof OMITTED>()
    const bad = new Map<string, SourceError>()
    /** Of what is bad, or left out. */
    const versions = new Map<string, Version | undefined>()
    const claimed: string[] = []
    let isComplete = true
    const take = (event: ListEvent<T>): void => {
      const { key } = event
      if (key === undefined) {
        isComplete = false
        if (event.type === 'invalid') this.#hooks.report?.(invalid(key, event.error), part.name)
        return
      }
      const ordinal = this.#store.ordinalOf(key)
      if (this.#isForeign(key, event.type, ordinal, { part, claimed })) return
      const current = ordinal === undefined ? undefined : this.#store.entryAt(ordinal)
      if (pending.size > 0) pending.delete(key)
      if (bad.size > 0) bad.delete(key)
      if (ordinal !== undefined) listed[ordinal] = event.type === 'delete' ? 0 : 1
      if (event.type === 'delete') return
      const taken =
        event.type === 'invalid' ? invalid(key, event.error) : this.#intake.take(event, current, ignoreVersions)
      if (taken instanceof SourceError || taken === OMITTED) versions.set(key, event.version)
      if (taken instanceof SourceError) bad.set(key, taken)
      else if (taken !== SAME) pending.set(key, taken)
      else if (current !== undefined && part.invalid.has(key)) pending.set(key, current) // It is good again.
    }
    return {
      page: (events) => {
        for (const event of events) take(event)
      },
      commit: (version) => {
        // Another source may have given a key meanwhile.
        for (const keys of this.#ownership === undefined ? [] : [pending, bad])
          for (const key of keys.keys())
            if (this.#isForeign(key, 'put', this.#store.ordinalOf(key), { part, claimed })) keys.delete(key)
        if (pending.size > this.#store.room) assertRoomForList(listed, pending, isComplete, this.#room(part))
        const commit: Batch<T> = { ...this.#begin(part, 'relist', version, 'unknown', ignoreVersions), claimed }
        this.#recordReplaced(part)
        for (const [key, error] of bad) this.#markInvalid(key, error, versions.get(key), commit)
        if (isComplete) {
          for (const key of part.invalid.keys()) if (!bad.has(key)) this.#markValid(key, commit)
          part.omitted.clear()
          this.#deleteUnlisted(listed, commit)
        }
        if (ignoreVersions) this.#forgetVersions(bad.keys(), isComplete ? undefined : listed, part)
        for (const [key, taken] of pending) {
          this.#markValid(key, commit)
          if (taken === OMITTED) this.#omit(key, versions.get(key), commit)
          else this.#write(taken, this.#store.ordinalOf(key), commit)
        }
        this.#end(commit, version, undefined)
      },
      // What was not told yet is news again.
      abandon: () => {
        for (const key of claimed) this.#ownership?.disclaim(part, key)
      },
    }
  }

  #room(part: Part): Room {
    return { store: this.#store, owns: (ordinal) => this.#owns(part, ordinal), owned: () => this.#sizeOf(part) }
  }

  #deleteUnlisted(listed: Uint8Array, commit: Batch<T>): void {
    for (let ordinal = 0; ordinal < listed.length; ordinal++) {
      const entry = listed[ordinal] === 1 ? undefined : this.#store.entryAt(ordinal)
      if (entry !== undefined && this.#owns(commit.part, ordinal)) this.#remove(entry.key, undefined, commit)
    }
  }

  /**
   * What a list of another history kept without having seen it: its version is of the old history, and one of the new may
   * read the same.
   */
  #forgetVersions(keys: Iterable<string>, listed: Uint8Array | undefined, part: Part): void {
    const ordinals = Array.from(keys, (key) => this.#store.ordinalOf(key))
    listed?.forEach((isListed, ordinal) => {
      if (isListed === 0 && this.#owns(part, ordinal)) ordinals.push(ordinal)
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
    this.#recordReplaced(commit.part)
    if (keep !== undefined) {
      const keys = new Set(keep)
      for (const { key } of entries) keys.add(key)
      for (const key of commit.part.invalid.keys()) if (!keys.has(key)) this.#markValid(key, commit)
      commit.part.omitted.clear()
      this.#deleteAll(commit, (key) => !keys.has(key))
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
    if (this.#ownership !== undefined && this.#isForeign(arrived.key, 'put', ordinal, commit)) return
    const current = ordinal === undefined ? undefined : this.#store.entryAt(ordinal)
    const taken = this.#intake.take(arrived, current, commit.ignoreVersions)
    if (taken instanceof SourceError) {
      this.#markInvalid(arrived.key, taken, arrived.version, commit)
      return
    }
    if (this.#invalid.size > 0) this.#markValid(arrived.key, commit)
    if (taken === OMITTED) this.#omit(arrived.key, arrived.version, commit)
    else if (taken !== SAME) this.#write(taken, ordinal, commit)
  }

  #delete({ key, object }: Delete<unknown>, commit: Batch<T>): void {
    if (this.#isForeign(key, 'delete', this.#store.ordinalOf(key), commit)) return
    this.#markValid(key, commit)
    commit.part.omitted.delete(key)
    this.#remove(key, this.#intake.lastState(key, object), commit)
  }

  #refuse({ key, error, version }: Invalid, commit: Batch<T>): void {
    if (key === undefined) this.#hooks.report?.(invalid(key, error), commit.part.name)
    else if (!this.#isForeign(key, 'invalid', this.#store.ordinalOf(key), commit))
      this.#markInvalid(key, invalid(key, error), version, commit)
  }

  /** What `prepare` does not want. */
  #omit(key: string, version: Version | undefined, commit: Batch<T>): void {
    this.#remove(key, undefined, commit)
    if (this.#hooks.remembersOmitted === true) commit.part.omitted.set(key, version)
  }

  /** Takes out what one source gave, where `isGone`. */
  #deleteAll(commit: Batch<T>, isGone: (key: string) => boolean): void {
    for (const key of this.#store.keys()) {
      const ordinal = this.#store.ordinalOf(key)
      const isOwn = ordinal !== undefined && this.#owns(commit.part, ordinal)
      if (isOwn && isGone(key)) this.#remove(key, undefined, { ...commit, finalState: 'unknown' })
    }
  }

  #drop(part: Part): void {
    const commit = this.#begin(part, 'relist', undefined, 'unknown', false)
    for (const key of part.invalid.keys()) this.#markValid(key, commit)
    part.omitted.clear()
    this.#deleteAll(commit, () => true)
    this.#ownership?.remove(part)
    this.#end(commit, undefined, undefined)
  }

  #owns(part: Part, ordinal: Ordinal): boolean {
    return this.#ownership?.isOwner(part, ordinal) ?? true
  }

  #sizeOf(part: Part): number {
    if (this.#ownership === undefined) return this.#store.size
    let size = 0
    for (let ordinal = 0; ordinal < this.#store.ordinalLimit; ordinal++) {
      if (this.#store.entryAt(ordinal) !== undefined && this.#owns(part, ordinal)) size++
    }
    return size
  }

  /** Whether an event is about what another source gave, and so changes nothing. */
  #isForeign(
    key: string,
    type: ListEvent<T>['type'],
    ordinal: Ordinal | undefined,
    { part, claimed }: Pick<Batch<T>, 'part' | 'claimed'>,
  ): boolean {
    if (!this.#isOthers(part, key, ordinal)) return false
    if (type === 'delete') this.#ownership?.disclaim(part, key)
    else if (this.#ownership?.claim(part, key)) claimed.push(key)
    return true
  }

  /** Whether another source has a key; one whose object is invalid may have no place in the store. */
  #isOthers(part: Part, key: string, ordinal: Ordinal | undefined): boolean {
    if (this.#ownership === undefined) return false
    return ordinal === undefined
      ? this.#invalid.has(key) && !part.invalid.has(key)
      : !this.#ownership.isOwner(part, ordinal)
  }

  #markValid(key: string, { part, released }: Batch<T>): void {
    if (!part.invalid.delete(key)) return
    this.#invalid.delete(key)
    this.#record(key)
    released.push(key)
  }

  #markInvalid(key: string, error: SourceError, version: Version | undefined, commit: Batch<T>): void {
    const known = this.#invalid.get(key)
    this.#invalid.set(key, error)
    commit.part.invalid.set(key, version)
    this.#record(key)
    if (known?.message !== error.message) this.#hooks.report?.(error, commit.part.name)
    if (this.#hooks.onInvalid === 'omit') this.#remove(key, undefined, { ...commit, finalState: 'unknown' })
  }

  #write(entry: Entry<T>, ordinal: Ordinal | undefined, commit: Batch<T>): void {
    const current = ordinal === undefined ? undefined : this.#store.entryAt(ordinal)
    const isOther = current !== undefined && isOtherIdentity(current, entry)
    if (this.#recorders.size > 0) this.#record(entry.key)
    if (ordinal !== undefined && current?.object === entry.object && !isOther) {
      this.#store.touch(ordinal, entry)
      return
    }
    if (commit.part.omitted.size > 0) commit.part.omitted.delete(entry.key)
    if (commit.isSilent) {
      const at = this.#store.set(entry, ordinal)
      this.#ownership?.set(commit.part, at)
      return
    }
    const was = valuesAt(ordinal, commit)
    const at = this.#store.set(entry, ordinal)
    this.#ownership?.set(commit.part, at)
    const is = valuesAt(at, commit)
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
    const ordinal = this.#store.ordinalOf(key)
    const was = valuesAt(ordinal, commit)
    const entry = this.#store.delete(key)
    if (this.#recorders.size > 0) this.#record(key)
    if (ordinal !== undefined && this.#ownership !== undefined) {
      this.#ownership.set(undefined, ordinal)
      commit.released.push(key)
    }
    if (entry === undefined || commit.isSilent) return
    const { version, origin, finalState } = commit
    const previous = entry.object
    const object = last === undefined ? previous : last
    this.#tell({ type: 'delete', key, object, previous, version, origin, finalState }, was, [], commit)
  }

  #tell(change: Change<T>, was: readonly unknown[], is: readonly unknown[], commit: Batch<T>): void {
    commit.changes.push(change)
    if (commit.tracked.length > 0) commit.memberships.push({ was, is })
  }

  #record(key: string): void {
    for (const { keys } of this.#recorders) keys.add(key)
  }

  #recordReplaced(part: Part): void {
    for (const record of this.#recorders) if (record.part === part) record.isReplaced = true
  }

  #begin(
    part: Part,
    origin: Origin,
    version: Version | undefined,
    finalState: 'known' | 'unknown',
    ignoreVersions: boolean,
  ): Batch<T> {
    const isSilent = this.#hooks.onCommit === undefined
    return {
      part,
      origin,
      version,
      finalState,
      ignoreVersions,
      isSilent,
      changes: [],
      memberships: [],
      tracked: this.#tracked.size === 0 ? NOTHING : [...this.#tracked.keys()],
      claimed: [],
      released: [],
    }
  }

  #end(commit: Batch<T>, version: Version | undefined, committedAt: number | undefined): void {
    commit.part.version = version
    this.#hasFilled = true
    this.#tellCommit(commit.origin === 'relist' ? 'listed' : 'changed', commit, committedAt)
    if (this.#ownership !== undefined) this.#settleClaims(commit, this.#ownership)
  }

  #tellCommit(type: Commit<T>['type'], commit: Batch<T>, committedAt: number | undefined): void {
    const { part, changes, memberships, tracked } = commit
    const { version, name: source } = part
    this.#commits++
    this.#isWriting = false // The store is whole.
    const { position } = this
    this.#hooks.onCommit?.({ type, changes, memberships, tracked, version, position, source, committedAt })
  }

  /** Tells of keys that two sources give, and gives those that are nobody's any more to the next. */
  #settleClaims({ part, claimed, released }: Batch<T>, ownership: Ownership): void {
    const [first] = claimed
    if (first !== undefined) {
      const others = claimed.length === 1 ? '' : ` and ${claimed.length - 1} more`
      const message = `another source of the set has the key "${first}"${others} already; what "${part.name}" says of it is left out`
      this.#hooks.report?.(new SourceError(message, { code: 'PROTOCOL', phase: 'apply', key: first }), part.name)
    }
    const next = new Set<string>()
    for (const key of released) {
      if (this.#store.ordinalOf(key) !== undefined || this.#invalid.has(key)) continue
      for (const { name } of ownership.release(key) ?? []) if (name !== undefined) next.add(name)
    }
    for (const name of next) this.#hooks.onReleased?.(name)
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

function valuesAt<T>(ordinal: Ordinal | undefined, { tracked }: Batch<T>): readonly unknown[] {
  return ordinal === undefined || tracked.length === 0 ? NOTHING : tracked.map(({ index }) => index.valueAt(ordinal))
}

/** A delta as an event. Its version is that of its batch, not the object's own, so that it says nothing of equality. */
function eventOf<T>({ type, key, object }: Delta<T>): ListEvent<T> {
  return { type: type === 'deleted' ? 'delete' : 'put', key, object }
}

function warn(error: SourceError): void {
  process.emitWarning(error.message, { type: 'ListwatchWarning', code: error.code })
}
