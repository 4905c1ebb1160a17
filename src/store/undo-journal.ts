/** Data of a store whose writes in a transaction can be undone. */
export interface Undoable {
  begin(): void
  commit(): void
  /** Ends the transaction, and undoes its writes. Never throws. */
  rollback(): void
}

/** The arrays of an empty journal. Nothing is added to them. */
const NONE: never[] = []

/** The number of writes in a part of a journal. An array that grows copies all its elements in one step. */
const PART = 4_096

/** The overwritten values of a transaction, in the order of its writes. Outside of one it records nothing. */
export class UndoJournal<P, B> {
  /** The parts before the last one. All are full. */
  readonly #full: { readonly places: P[]; readonly before: B[] }[] = []
  #places: P[] = NONE
  #before: B[] = NONE
  isOpen = false

  begin(): void {
    this.isOpen = true
  }

  record(place: P, before: B): void {
    if (!this.isOpen) return
    if (this.#places.length === PART) this.#full.push({ places: this.#places, before: this.#before })
    if (this.#places.length % PART === 0) {
      this.#places = [place]
      this.#before = [before]
    } else {
      this.#places.push(place)
      this.#before.push(before)
    }
  }

  commit(): void {
    this.isOpen = false
    if (this.#places.length === 0) return
    // Not `length = 0`, which takes longer than a small write.
    this.#places = NONE
    this.#before = NONE
    if (this.#full.length > 0) this.#full.length = 0
  }

  /** Ends the transaction, and calls `restore` for each write, the last one first. Returns whether there was any. */
  rollback(restore: (place: P, before: B) => void): boolean {
    const hasWritten = this.#places.length > 0
    for (const { places, before } of [...this.#full, { places: this.#places, before: this.#before }].reverse())
      for (let i = places.length - 1; i >= 0; i--) restore(places[i] as P, before[i] as B)
    this.commit()
    return hasWritten
  }
}

const ABSENT: unique symbol = Symbol('absent')

/** The entries of a Map as they were when it was pinned. */
export interface PinnedMap<K, V> extends Iterable<readonly [K, V]> {
  readonly size: number
  /** From now on the Map does not keep its overwritten entries for this. */
  close(): void
}

export class UndoableMap<K, V> extends Map<K, V> implements Undoable {
  readonly #journal = new UndoJournal<K, V | typeof ABSENT>()
  /** The overwritten entries of each pin. Most maps are never pinned. */
  #pins: Set<Map<K, V | typeof ABSENT>> | undefined

  begin(): void {
    this.#journal.begin()
  }

  commit(): void {
    this.#journal.commit()
  }

  rollback(): void {
    this.#journal.rollback((key, before) => {
      if (before === ABSENT) super.delete(key)
      else super.set(key, before)
    })
  }

  override set(key: K, value: V): this {
    this.#record(key)
    return super.set(key, value)
  }

  override delete(key: K): boolean {
    this.#record(key)
    return super.delete(key)
  }

  override clear(): void {
    for (const key of this.keys()) this.#record(key)
    super.clear()
  }

  /** Returns the entries now. It costs time only for the entries that are overwritten until it is closed. */
  pin(): PinnedMap<K, V> {
    const before = new Map<K, V | typeof ABSENT>()
    const { size } = this
    this.#pins ??= new Set()
    this.#pins.add(before)
    return {
      size,
      close: () => void this.#pins?.delete(before),
      [Symbol.iterator]: () => this.#entriesBefore(before),
    }
  }

  *#entriesBefore(before: ReadonlyMap<K, V | typeof ABSENT>): Generator<readonly [K, V]> {
    /** An entry that is overwritten after it was yielded must not be yielded again. */
    const yielded = new Set<K>()
    for (const entry of this) {
      if (before.has(entry[0])) continue
      yielded.add(entry[0])
      yield entry
    }
    for (const [key, value] of before) if (value !== ABSENT && !yielded.has(key)) yield [key, value]
  }

  #record(key: K): void {
    for (const before of this.#pins ?? [])
      if (!before.has(key)) before.set(key, this.has(key) ? (this.get(key) as V) : ABSENT)
    if (this.#journal.isOpen) this.#journal.record(key, this.has(key) ? (this.get(key) as V) : ABSENT)
  }
}
