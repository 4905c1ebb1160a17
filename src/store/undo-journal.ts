/** What a step of the store writes, and can take back if the step throws. */
export interface Undoable {
  /** A step begins: its writes are noted. */
  begin(): void
  /** The step is complete: its writes stay. */
  end(): void
  /** The step threw: everything is as it was before. Never throws. */
  undo(): void
}

/** The values that a step has overwritten, in the order of its writes. It notes nothing outside of a step. */
export class Journal<P, B> {
  readonly #places: P[] = []
  readonly #before: B[] = []
  #isOpen = false

  get isOpen(): boolean {
    return this.#isOpen
  }

  begin(): void {
    this.#isOpen = true
  }

  note(place: P, before: B): void {
    if (!this.#isOpen) return
    this.#places.push(place)
    this.#before.push(before)
  }

  end(): void {
    this.#isOpen = false
    this.#places.length = 0
    this.#before.length = 0
  }

  /** Ends the step, and calls `restore` for each write, the last one first. Returns whether there was any. */
  undo(restore: (place: P, before: B) => void): boolean {
    const hasWritten = this.#places.length > 0
    for (let i = this.#places.length - 1; i >= 0; i--) restore(this.#places[i] as P, this.#before[i] as B)
    this.end()
    return hasWritten
  }
}

const ABSENT: unique symbol = Symbol('absent')

/** A Map whose writes in a step can be undone. */
export class UndoableMap<K, V> extends Map<K, V> implements Undoable {
  readonly #journal = new Journal<K, V | typeof ABSENT>()

  begin(): void {
    this.#journal.begin()
  }

  end(): void {
    this.#journal.end()
  }

  undo(): void {
    this.#journal.undo((key, before) => {
      if (before === ABSENT) super.delete(key)
      else super.set(key, before)
    })
  }

  override set(key: K, value: V): this {
    this.#note(key)
    return super.set(key, value)
  }

  override delete(key: K): boolean {
    this.#note(key)
    return super.delete(key)
  }

  override clear(): void {
    for (const key of this.keys()) this.#note(key)
    super.clear()
  }

  #note(key: K): void {
    if (this.#journal.isOpen) this.#journal.note(key, this.has(key) ? (this.get(key) as V) : ABSENT)
  }
}
