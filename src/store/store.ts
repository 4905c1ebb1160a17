import { messageOf, SourceError } from '../contract/errors.js'
import type { Entry } from '../contract/source.js'
import { finish, type Steps } from '../util/steps.js'
import { EntryTable } from './entry-table.js'
import type { StoreIndex } from './indexes/store-index.js'
import { OrdinalTable } from './ordinal-table.js'
import type { Ordinal } from './ordinals.js'
import { indexBaseOf, type KeptBase, packedValuesOf } from './packed/kept-base.js'
import type { PackedIndex } from './packed/packed-snapshot.js'
import { Pin, type PinLayer, PinLayers, type StoreReads, type TrackedReads } from './pin.js'
import { type Undoable, UndoJournal } from './undo-journal.js'

/** The default limit of objects in one store. A JavaScript Map holds at most 2^24 keys. */
export const MAX_OBJECTS = 16_000_000

export function pairsOf<T>(entries: readonly Entry<T>[]): IteratorObject<[key: string, object: T], undefined> {
  return entries.values().map(({ key, object }) => [key, object])
}

export function entriesAt<T>(
  ordinals: readonly Ordinal[],
  objects: Pick<StoreReads<T>, 'entryAt'>,
): readonly Entry<T>[] {
  const entries: Entry<T>[] = []
  for (const ordinal of ordinals) {
    const entry = objects.entryAt(ordinal)
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

/**
 * The entries by key, and their indexes, which refer to ordinals: an update moves nothing. A rollback restores
 * overwritten entries, and rebuilds all indexes: one that threw may be in any state.
 */
export class Store<T> implements Undoable {
  readonly #ordinals = new OrdinalTable((ordinal, key) => this.#entries.keyAt(ordinal) === key)
  /** Invariant: `#entries.at(o)` is present exactly when some key maps to `o`; otherwise `o` is in `#free`. */
  readonly #entries: EntryTable<T>
  /** The array of `#entries`: a read of it is faster. Empty if entries are made when they are read. */
  readonly #wholeEntries: readonly (Entry<T> | undefined)[]
  readonly #free: Ordinal[] = []
  readonly indexes: StoreIndexes<T>
  readonly #pins = new PinLayers<T>()
  readonly #maxObjects: number
  readonly #freezesResults: boolean
  readonly #journal = new UndoJournal<Ordinal, Entry<T> | undefined>()
  #list: readonly T[] | undefined
  /** The state before the write that is in progress. */
  #held: Pin<T> | undefined
  /** The state that readers see while the first list fills the store. Undefined afterwards. */
  #empty: Pin<T> | undefined
  /** What readers see instead of the store: usually `#held`. */
  #shown: Pin<T> | TrackedReads<T> | undefined
  /** The packed content whose entries the store does not contain, until they are written. */
  kept: KeptBase<T> | undefined

  constructor(maxObjects: number = MAX_OBJECTS, freezesResults = true, hasVersions = true) {
    this.#entries = new EntryTable(hasVersions)
    this.#wholeEntries = this.#entries.whole
    this.indexes = new StoreIndexes(this.#entries)
    this.#maxObjects = maxObjects
    this.#freezesResults = freezesResults
  }

  /** In development only: a loop over a frozen array takes ten times as long. */
  freezeShared(objects: readonly T[]): readonly T[] {
    return this.#freezesResults ? Object.freeze(objects) : objects
  }

  /** The state that readers see: the store itself, or the state before the large write that is in progress. */
  get readers(): StoreReads<T> {
    return this.#shown ?? this
  }

  /** False while the first list fills the store: readers see an empty one. */
  get isVisible(): boolean {
    return this.#empty === undefined
  }

  set isVisible(isVisible: boolean) {
    this.#empty = isVisible ? undefined : new Store<T>().pin()
    this.showHeld()
  }

  get heldPin(): Pin<T> | undefined {
    const held = this.#shown
    return held === undefined || !(held instanceof Pin) ? undefined : held
  }

  get tracked(): TrackedReads<T> | undefined {
    const held = this.#shown
    return held === undefined || held instanceof Pin ? undefined : held
  }

  get isHeld(): boolean {
    return this.#held !== undefined
  }

  /** From now on readers see the current state, until `release`. */
  hold(): void {
    if (!this.isVisible || this.#held !== undefined) return
    this.#held = this.pin()
    this.showHeld()
  }

  /** Readers see all that was written since `hold`. */
  release(): void {
    this.#held?.close()
    this.#held = undefined
    this.showHeld()
    this.#dropUnusedKept()
  }

  /** From now on readers see `reads`; without it all that was written, also since `hold`. */
  show(reads: TrackedReads<T> | undefined): void {
    this.#shown = reads ?? this.#empty
  }

  showHeld(): void {
    this.#shown = this.#held ?? this.#empty
  }

  /** From now on the empty store has the entries of packed content, at ordinals below 0. Open pins do not see them. */
  keep(kept: KeptBase<T>, indexes: ReadonlyMap<StoreIndex<T>, PackedIndex>): void {
    this.kept = kept
    this.#list = undefined
    this.indexes.setBase(kept, indexes)
  }

  /** Moves packed entries into the empty store. That is not a change, and pins of the content do not record it. */
  *fillFromKept(): Steps {
    const kept = this.kept
    if (kept === undefined) return
    try {
      for (let at = kept.ordinalStart; at < 0; at++) {
        const entry = kept.take(at)
        if (entry !== undefined) {
          this.indexes.fill(this.#entries.length, entry)
          this.#overwrite(at, kept)
          this.#ordinals.add(entry.key, this.#entries.length)
          this.#entries.set(this.#entries.length, entry)
        }
        yield
      }
      yield* this.indexes.prepare()
      // Readers have this array, and no object has changed.
      this.#list = this.#held?.sharedList
    } catch (error) {
      // An index may have a value of an entry that the store still reads in place.
      this.indexes.rebuild()
      throw error
    }
  }

  #dropUnusedKept(): void {
    if (this.kept?.size === 0 && this.#pins.size === 0) this.#dropKept(this.kept)
  }

  #dropKept(kept: KeptBase<T>): void {
    this.kept = undefined
    this.indexes.setBase()
    kept.release()
  }

  get size(): number {
    return this.kept === undefined ? this.#ordinals.size : this.#ordinals.size + this.kept.size
  }

  /** The least ordinal: 0, or that of the first entry of packed content. */
  get ordinalStart(): Ordinal {
    return this.kept?.ordinalStart ?? 0
  }

  /** One more than the greatest ordinal that was ever used. */
  get ordinalLimit(): number {
    return this.#entries.length
  }

  /** A right `guess` needs no hash of the key. */
  ordinalOf(key: string, guess?: Ordinal): Ordinal | undefined {
    if (guess !== undefined && this.entryAt(guess)?.key === key) return guess
    return this.#ordinals.get(key) ?? this.kept?.ordinalOf(key)
  }

  entryAt(ordinal: Ordinal): Entry<T> | undefined {
    if (ordinal < 0) return this.kept?.entryAt(ordinal)
    return this.#wholeEntries[ordinal] ?? this.#entries.at(ordinal)
  }

  entryOf(key: string): Entry<T> | undefined {
    const ordinal = this.#ordinals.get(key)
    if (ordinal === undefined) return this.kept?.entryOf(key)
    return this.#wholeEntries[ordinal] ?? this.#entries.at(ordinal)
  }

  keys(): string[] {
    const own = this.#entries.all().map(({ key }) => key)
    return this.kept === undefined ? own : [...this.kept.keys(), ...own]
  }

  entries(): Entry<T>[] {
    const own = this.#entries.all()
    return this.kept === undefined ? own : [...this.kept.entries(), ...own]
  }

  /** Returns all objects, in the same array until an object changes. */
  list(): readonly T[] {
    // The array would keep the objects of the base.
    if (this.kept !== undefined)
      return this.kept.sharedList(() => this.freezeShared(this.entries().map((entry) => entry.object)))
    this.#list ??= this.freezeShared(this.entries().map((entry) => entry.object))
    return this.#list
  }

  /** @throws SourceError PROTOCOL when the store is full. */
  set(entry: Entry<T>): Ordinal {
    return this.setAt(this.ordinalOf(entry.key), entry)
  }

  /** Like `set`. The key of the entry has the ordinal `at`, or it is new. */
  setAt(at: Ordinal | undefined, entry: Entry<T>): Ordinal {
    if (this.kept !== undefined) {
      this.kept.changes++
      if (at !== undefined && at < 0) return this.setAt(this.#overwrite(at, this.kept), entry)
    }
    const ordinal = at ?? this.#nextOrdinal()
    if (this.#pins.size > 0) this.#copyToPins(ordinal)
    this.#list = undefined
    this.#journal.record(ordinal, this.#entries.at(ordinal))
    if (at === undefined) this.#occupy(ordinal, entry.key)
    this.#entries.set(ordinal, entry)
    for (const index of this.indexes.all) index.set(ordinal, entry)
    return ordinal
  }

  /** Replaces an entry by one with the same object. Only its version changes, which no index contains. */
  touch(ordinal: Ordinal, entry: Entry<T>): void {
    if (ordinal < 0) {
      this.setAt(ordinal, entry)
      return
    }
    if (this.#pins.size > 0) this.#copyToPins(ordinal)
    this.#journal.record(ordinal, this.#entries.at(ordinal))
    this.#entries.set(ordinal, entry)
  }

  delete(key: string): Entry<T> | undefined {
    const ordinal = this.ordinalOf(key)
    const entry = ordinal === undefined ? undefined : this.entryAt(ordinal)
    if (ordinal === undefined || entry === undefined) return undefined
    if (this.kept !== undefined) {
      this.kept.changes++
      if (ordinal < 0) {
        this.#overwrite(ordinal, this.kept)
        return entry
      }
    }
    if (this.#pins.size > 0) this.#copyToPins(ordinal)
    this.#list = undefined
    this.#journal.record(ordinal, entry)
    if (this.#pins.size > 0) this.#pins.newest?.keepKey(key, ordinal)
    for (const index of this.indexes.all) index.delete(ordinal)
    this.#entries.set(ordinal, undefined)
    this.#ordinals.delete(key, ordinal)
    this.#free.push(ordinal)
    return entry
  }

  clear(): void {
    if (this.#pins.size > 0) this.#copyAllToPins()
    this.#list = undefined
    if (this.kept !== undefined) this.#dropKept(this.kept)
    this.#ordinals.clear()
    this.#entries.clear()
    this.#free.length = 0
    this.indexes.rebuild()
  }

  /** An index that throws is not added. Between the steps the store may be read, and not be written. */
  addIndex(index: StoreIndex<T>): Steps {
    return this.indexes.add(index, this.kept)
  }

  begin(): void {
    this.#journal.begin()
  }

  commit(): void {
    this.#journal.commit()
  }

  rollback(): void {
    const hasWritten = this.#journal.rollback((ordinal, before) => this.#restore(ordinal, before))
    if (!hasWritten) return
    if (this.kept !== undefined) this.kept.changes++
    this.#list = undefined
    this.indexes.rebuild()
  }

  /** Returns the current state, readable while the store changes. An entry is copied only when it is overwritten. */
  pin(): Pin<T> {
    const close = (layer: PinLayer<T>): void => {
      const { older } = layer
      if (this.#pins.close(layer) && older !== undefined)
        for (const index of this.indexes.all) index.merge?.(layer, older)
      this.#dropUnusedKept()
    }
    return new Pin<T>(this, this.#pins, close, this.kept?.list ?? this.#list)
  }

  /** The layer in which indexes record the values that they change. Undefined if no pin needs them. */
  get recordingLayer(): PinLayer<T> | undefined {
    return this.indexes.isFilling ? undefined : this.#pins.newest
  }

  get pinCount(): number {
    return this.#pins.size
  }

  get freeCapacity(): number {
    return this.#maxObjects - this.size
  }

  overflowError(): SourceError {
    const message = `there are more than ${this.#maxObjects} objects, the most that one store holds`
    return new SourceError(message, { code: 'PROTOCOL', phase: 'apply' })
  }

  #nextOrdinal(): Ordinal {
    if (this.freeCapacity <= 0) throw this.overflowError()
    return this.#free.at(-1) ?? this.#entries.length
  }

  #occupy(ordinal: Ordinal, key: string): void {
    this.#ordinals.add(key, ordinal)
    if (ordinal === this.#entries.length) this.#entries.set(ordinal, undefined)
    else this.#free.pop()
  }

  /** Takes an entry of packed content out of the store. It has no ordinal then. */
  #overwrite(ordinal: Ordinal, kept: KeptBase<T>): undefined {
    const layer = this.#pins.size > 0 ? this.#pins.written() : undefined
    if (kept.overwrite(ordinal, layer)) this.#journal.record(ordinal, undefined)
  }

  /** Undoes one write. Called for the last write first, so that `#free` is the same stack as before that write. */
  #restore(ordinal: Ordinal, before: Entry<T> | undefined): void {
    if (ordinal < 0) {
      this.kept?.restore(ordinal)
      return
    }
    const current = this.#entries.at(ordinal)
    if (before !== undefined && current === undefined) {
      this.#free.pop()
      this.#ordinals.add(before.key, ordinal)
    } else if (before === undefined && current !== undefined) {
      this.#ordinals.delete(current.key, ordinal)
      this.#free.push(ordinal)
    }
    this.#entries.set(ordinal, before)
  }

  #copyToPins(ordinal: Ordinal): void {
    this.#pins.keep(ordinal, this.#entries.at(ordinal))
  }

  /** Free ordinals count too: later pins of the smaller table do not keep what is written at them. */
  #copyAllToPins(): void {
    for (let ordinal = 0; ordinal < this.#entries.length; ordinal++) this.#copyToPins(ordinal)
    for (let ordinal = 0; ordinal < this.#entries.length; ordinal++) {
      const entry = this.#entries.at(ordinal)
      if (entry === undefined) continue
      this.#pins.newest?.keepKey(entry.key, ordinal)
      for (const index of this.indexes.all) index.delete(ordinal)
    }
  }
}

export class StoreIndexes<T> {
  readonly #entries: EntryTable<T>
  readonly all: StoreIndex<T>[] = []
  /** Whether entries are added that are in the store already. */
  isFilling = false
  /** Whether an index threw while the indexes were rebuilt. Then no index can be read until a rebuild succeeds. */
  #areDamaged = false

  constructor(entries: EntryTable<T>) {
    this.#entries = entries
  }

  /** Adds packed content to all indexes. Without arguments they have none any more. */
  setBase(kept?: KeptBase<T>, values?: ReadonlyMap<StoreIndex<T>, PackedIndex>): void {
    for (const index of this.all) {
      const packed = values?.get(index)
      index.setBase?.(kept && packed && indexBaseOf(packed, kept))
    }
  }

  fill(ordinal: Ordinal, entry: Entry<T>): void {
    this.isFilling = true
    try {
      for (const index of this.all) index.set(ordinal, entry)
    } finally {
      this.isFilling = false
    }
  }

  /** The first read prepares the index. */
  *add(index: StoreIndex<T>, kept: KeptBase<T> | undefined): Steps {
    if (kept !== undefined) index.setBase?.(indexBaseOf(yield* this.packedValuesOf(index, kept), kept))
    yield* this.#filling(fill(index, this.#entries))
    this.all.push(index)
  }

  packedValuesOf(index: StoreIndex<T>, kept: KeptBase<T>): Generator<void, PackedIndex> {
    return this.#filling(packedValuesOf(index, kept))
  }

  /** Pins are not affected: their values are recorded already, or the same as the new ones. */
  *#filling<R>(steps: Generator<void, R>): Generator<void, R> {
    this.isFilling = true
    try {
      return yield* steps
    } finally {
      this.isFilling = false
    }
  }

  *prepare(): Steps {
    for (const index of this.all) if (index.prepare !== undefined) yield* index.prepare()
  }

  /** Rebuilds all indexes from the entries. On an error, returns it; the indexes are damaged then. */
  rebuild(): unknown {
    try {
      this.#areDamaged = true
      for (const index of this.all) {
        index.clear()
        finish(this.#filling(fill(index, this.#entries)))
      }
      this.#areDamaged = false
      return undefined
    } catch (error) {
      return error
    }
  }

  /** @throws SourceError UNAVAILABLE when the indexes are damaged, and one more attempt to rebuild them fails. */
  assertIntact(): void {
    if (!this.#areDamaged) return
    const thrown = this.rebuild()
    if (!this.#areDamaged) return
    const message = `the indexes were damaged by an error and could not be rebuilt: ${messageOf(thrown)}`
    throw new SourceError(message, { code: 'UNAVAILABLE', phase: 'apply', cause: thrown })
  }
}

function* fill<T>(index: StoreIndex<T>, entries: EntryTable<T>): Steps {
  for (let ordinal = 0; ordinal < entries.length; ordinal++) {
    const entry = entries.at(ordinal)
    if (entry === undefined) continue
    index.set(ordinal, entry)
    yield
  }
}
