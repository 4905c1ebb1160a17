import { messageOf, SourceError } from '../contract/errors.js'
import type { Entry } from '../contract/source.js'
import { Journal, type Undoable } from './undo-journal.js'

/** The most keys that one store holds: a JavaScript Map ends at 2^24. */
export const MAX_OBJECTS = 16_000_000

/** @internal How an informer is asked how many pins its store has: those of snapshots, and of replays. */
export const pinsOf: unique symbol = Symbol.for('listwatch.pinsOf')

/** A small dense number for each key that is present; freed and used again when the key goes. */
export type Ordinal = number

/** What an index is told, always before the store forgets the entry. */
export interface StoreIndex<T> {
  /** The entry at `ordinal` is new or has changed. */
  set(ordinal: Ordinal, entry: Entry<T>): void
  delete(ordinal: Ordinal): void
  /** The index value remembered for the entry at `ordinal`. */
  valueAt(ordinal: Ordinal): unknown
  clear(): void
}

/** The entry that an ordinal held when a snapshot was taken, with its index values of that time. */
export interface Pinned<T> {
  readonly entry: Entry<T>
  readonly values: ReadonlyMap<StoreIndex<T>, unknown>
}

/** What `entries()` of a view and of an index yields. */
export function pairsOf<T>(entries: readonly Entry<T>[]): IteratorObject<[key: string, object: T], undefined> {
  return entries.values().map(({ key, object }) => [key, object])
}

/**
 * Key → entry, with indexes kept in step. It holds entries as they come, in a table by ordinal; indexes refer to
 * ordinals, so that an update moves nothing. One writer, no awaits. A step that throws is undone: entries by what the step
 * has overwritten, indexes by building them again, because the one that threw may be in any state.
 */
export class Store<T> implements Undoable {
  readonly #ordinals = new Map<string, Ordinal>()
  /** Invariant: `#entries[o]` is present exactly when some key maps to `o`; otherwise `o` is in `#free`. */
  readonly #entries: (Entry<T> | undefined)[] = []
  readonly #free: Ordinal[] = []
  readonly #indexes: StoreIndex<T>[] = []
  readonly #pins = new Set<Pin<T>>()
  readonly #maxObjects: number
  readonly #freezesResults: boolean
  readonly #journal = new Journal<Ordinal, Entry<T> | undefined>()
  #list: readonly T[] | undefined
  /** Whether an index threw while all of them were built again: none can be read until that succeeds. */
  #areIndexesDamaged = false
  /** False while the first list fills the store: until it is whole there is nothing to see. Readers heed it, the writer does not. */
  isVisible = true

  constructor(maxObjects: number = MAX_OBJECTS, freezesResults = true) {
    this.#maxObjects = maxObjects
    this.#freezesResults = freezesResults
  }

  /**
   * Objects that several readers will share. Frozen only where mistakes are looked for: to walk a frozen array takes ten
   * times as long.
   */
  handOut(objects: readonly T[]): readonly T[] {
    return this.#freezesResults ? Object.freeze(objects) : objects
  }

  get size(): number {
    return this.#ordinals.size
  }

  /** One more than the greatest ordinal ever used. */
  get ordinalLimit(): number {
    return this.#entries.length
  }

  ordinalOf(key: string): Ordinal | undefined {
    return this.#ordinals.get(key)
  }

  entryAt(ordinal: Ordinal): Entry<T> | undefined {
    return this.#entries[ordinal]
  }

  entryOf(key: string): Entry<T> | undefined {
    const ordinal = this.#ordinals.get(key)
    return ordinal === undefined ? undefined : this.#entries[ordinal]
  }

  keys(): string[] {
    return [...this.#ordinals.keys()]
  }

  entries(): Entry<T>[] {
    return this.#entries.filter((entry) => entry !== undefined)
  }

  /** All objects: made once and handed out until something changes. */
  list(): readonly T[] {
    this.#list ??= this.handOut(this.entries().map((entry) => entry.object))
    return this.#list
  }

  /** Adds or replaces. Refuses the object that would make the store overflow. */
  set(entry: Entry<T>, at: Ordinal | undefined = this.#ordinals.get(entry.key)): Ordinal {
    const ordinal = at ?? this.#nextOrdinal()
    if (this.#pins.size > 0) this.#keepForPins(ordinal)
    this.#list = undefined
    this.#journal.note(ordinal, this.#entries[ordinal])
    if (at === undefined) this.#take(ordinal, entry.key)
    this.#entries[ordinal] = entry
    for (const index of this.#indexes) index.set(ordinal, entry)
    return ordinal
  }

  /** Replaces an entry by one that has the same object: only its version moved on, which no index sees. */
  touch(ordinal: Ordinal, entry: Entry<T>): void {
    if (this.#pins.size > 0) this.#keepForPins(ordinal)
    this.#journal.note(ordinal, this.#entries[ordinal])
    this.#entries[ordinal] = entry
  }

  delete(key: string): Entry<T> | undefined {
    const ordinal = this.#ordinals.get(key)
    const entry = ordinal === undefined ? undefined : this.#entries[ordinal]
    if (ordinal === undefined || entry === undefined) return undefined
    if (this.#pins.size > 0) this.#keepForPins(ordinal)
    this.#list = undefined
    this.#journal.note(ordinal, entry)
    for (const index of this.#indexes) index.delete(ordinal)
    this.#entries[ordinal] = undefined
    this.#ordinals.delete(key)
    this.#free.push(ordinal)
    return entry
  }

  clear(): void {
    if (this.#pins.size > 0) for (const ordinal of this.#ordinals.values()) this.#keepForPins(ordinal)
    this.#list = undefined
    this.#ordinals.clear()
    this.#entries.length = 0
    this.#free.length = 0
    this.#rebuildIndexes()
  }

  /** An index that throws while it is filled is not added. */
  addIndex(index: StoreIndex<T>): void {
    this.#fill(index)
    this.#indexes.push(index)
  }

  begin(): void {
    this.#journal.begin()
  }

  end(): void {
    this.#journal.end()
  }

  undo(): void {
    const hasWritten = this.#journal.undo((ordinal, before) => this.#restore(ordinal, before))
    if (!hasWritten) return
    this.#list = undefined
    this.#rebuildIndexes()
  }

  /** Throws if indexes cannot be read, after one more attempt to build them. */
  assertIndexed(): void {
    if (!this.#areIndexesDamaged) return
    const thrown = this.#rebuildIndexes()
    if (!this.#areIndexesDamaged) return
    const message = `the indexes were damaged by an error and could not be built again: ${messageOf(thrown)}`
    throw new SourceError(message, { code: 'UNAVAILABLE', phase: 'apply', cause: thrown })
  }

  /** The store as it is now, kept readable while it changes. Costs nothing now, and a note for each of its keys that is written later. */
  pin(): Pin<T> {
    const pin = new Pin<T>(this, (closed) => this.#pins.delete(closed))
    this.#pins.add(pin)
    return pin
  }

  get pins(): number {
    return this.#pins.size
  }

  /** How many more objects fit. */
  get room(): number {
    return this.#maxObjects - this.#ordinals.size
  }

  overflow(): SourceError {
    const message = `there are more than ${this.#maxObjects} objects, the most that one store holds`
    return new SourceError(message, { code: 'PROTOCOL', phase: 'apply' })
  }

  #nextOrdinal(): Ordinal {
    if (this.room <= 0) throw this.overflow()
    return this.#free.at(-1) ?? this.#entries.length
  }

  #take(ordinal: Ordinal, key: string): void {
    this.#ordinals.set(key, ordinal)
    if (ordinal === this.#entries.length) this.#entries.push(undefined)
    else this.#free.pop()
  }

  /** Takes back the last write that is not taken back yet, so that `#free` is the stack that it was then. */
  #restore(ordinal: Ordinal, before: Entry<T> | undefined): void {
    const current = this.#entries[ordinal]
    if (before !== undefined && current === undefined) {
      this.#free.pop()
      this.#ordinals.set(before.key, ordinal)
    } else if (before === undefined && current !== undefined) {
      this.#ordinals.delete(current.key)
      this.#free.push(ordinal)
    }
    this.#entries[ordinal] = before
  }

  /** Builds all indexes from the entries. Returns what was thrown; then the indexes stay damaged. */
  #rebuildIndexes(): unknown {
    try {
      this.#areIndexesDamaged = true
      for (const index of this.#indexes) {
        index.clear()
        this.#fill(index)
      }
      this.#areIndexesDamaged = false
      return undefined
    } catch (error) {
      return error
    }
  }

  #fill(index: StoreIndex<T>): void {
    this.#entries.forEach((entry, ordinal) => {
      if (entry !== undefined) index.set(ordinal, entry)
    })
  }

  #keepForPins(ordinal: Ordinal): void {
    let kept: Pinned<T> | undefined
    for (const pin of this.#pins) {
      if (!pin.isUnchanged(ordinal)) continue
      kept ??= this.#pinned(ordinal)
      pin.keep(ordinal, kept)
    }
  }

  #pinned(ordinal: Ordinal): Pinned<T> | undefined {
    const entry = this.#entries[ordinal]
    if (entry === undefined) return undefined
    const values = new Map<StoreIndex<T>, unknown>()
    for (const index of this.#indexes) values.set(index, index.valueAt(ordinal))
    return { entry, values }
  }
}

/**
 * The store as it was at one moment. It keeps what is overwritten afterwards: by ordinal, so that a walk over the table
 * meets every object exactly once however long it takes, and by key. It keeps nothing of keys that came later, however many
 * come and go: what it holds is bounded by what there was.
 */
export class Pin<T> {
  readonly #store: Store<T>
  readonly #close: (pin: Pin<T>) => void
  readonly #byOrdinal = new Map<Ordinal, Pinned<T> | undefined>()
  readonly #byKey = new Map<string, Entry<T>>()
  readonly #limit: number
  readonly size: number
  #isClosed = false

  constructor(store: Store<T>, close: (pin: Pin<T>) => void) {
    this.#store = store
    this.#close = close
    this.#limit = store.ordinalLimit
    this.size = store.size
  }

  /** Forgets what was kept; every later read throws. */
  close(): void {
    this.#isClosed = true
    this.#byOrdinal.clear()
    this.#byKey.clear()
    this.#close(this)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** One more than the greatest ordinal there was. */
  get ordinalLimit(): number {
    return this.#limit
  }

  entryOf(key: string): Entry<T> | undefined {
    this.#assertOpen()
    const kept = this.#byKey.get(key)
    if (kept !== undefined) return kept
    const ordinal = this.#store.ordinalOf(key)
    // Where the place was written, and not this key, it came later.
    return ordinal !== undefined && this.isUnchanged(ordinal) ? this.#store.entryAt(ordinal) : undefined
  }

  entryAt(ordinal: Ordinal): Entry<T> | undefined {
    this.#assertOpen()
    if (ordinal >= this.#limit) return undefined
    return this.#byOrdinal.has(ordinal) ? this.#byOrdinal.get(ordinal)?.entry : this.#store.entryAt(ordinal)
  }

  entries(): Entry<T>[] {
    this.#assertOpen()
    const entries: Entry<T>[] = []
    for (let ordinal = 0; ordinal < this.#limit; ordinal++) {
      const entry = this.entryAt(ordinal)
      if (entry !== undefined) entries.push(entry)
    }
    return entries
  }

  list(): readonly T[] {
    return this.#store.handOut(this.entries().map((entry) => entry.object))
  }

  /** Whether the live entry at `ordinal` is the one of then. */
  isUnchanged(ordinal: Ordinal): boolean {
    this.#assertOpen()
    return ordinal < this.#limit && !this.#byOrdinal.has(ordinal)
  }

  /** What has been overwritten since, as it was. */
  *overwritten(): Iterable<Pinned<T>> {
    this.#assertOpen()
    for (const pinned of this.#byOrdinal.values()) if (pinned !== undefined) yield pinned
  }

  /** @internal */
  keep(ordinal: Ordinal, pinned: Pinned<T> | undefined): void {
    this.#byOrdinal.set(ordinal, pinned)
    if (pinned !== undefined) this.#byKey.set(pinned.entry.key, pinned.entry)
  }

  /** @internal How many places and keys something is kept of. */
  get held(): number {
    return this.#byOrdinal.size + this.#byKey.size
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SourceError('the snapshot was disposed', { code: 'STOPPED' })
  }
}
