import { SourceError } from '../contract/errors.js'
import type { Entry } from '../contract/source.js'
import type { Ordinal, StoreIndex } from './store-index.js'

/** An entry that was overwritten while a pin was open, with its index values at that time. */
export interface Pinned<T> {
  readonly entry: Entry<T>
  readonly values: ReadonlyMap<StoreIndex<T>, unknown>
}

/** The store that a pin reads for all entries that have not been overwritten. */
export interface PinnedStore<T> {
  readonly size: number
  readonly ordinalLimit: number
  ordinalOf(key: string): Ordinal | undefined
  entryAt(ordinal: Ordinal): Entry<T> | undefined
  freezeShared(objects: readonly T[]): readonly T[]
}

/**
 * A store as it was when the pin was created. It copies entries only when they are overwritten: by ordinal, so that a
 * scan of the table returns each object exactly once, and by key. It copies no entries of later keys, so its memory is
 * bounded by the size of the store at its creation.
 */
export class Pin<T> {
  readonly #store: PinnedStore<T>
  readonly #close: (pin: Pin<T>) => void
  readonly #byOrdinal = new Map<Ordinal, Pinned<T> | undefined>()
  readonly #byKey = new Map<string, Entry<T>>()
  readonly #limit: number
  readonly size: number
  #isClosed = false

  constructor(store: PinnedStore<T>, close: (pin: Pin<T>) => void) {
    this.#store = store
    this.#close = close
    this.#limit = store.ordinalLimit
    this.size = store.size
  }

  /** Releases the copied entries. Every later read throws a SourceError with code STOPPED. */
  close(): void {
    this.#isClosed = true
    this.#byOrdinal.clear()
    this.#byKey.clear()
    this.#close(this)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** One more than the greatest ordinal at the creation of the pin. */
  get ordinalLimit(): number {
    return this.#limit
  }

  entryOf(key: string): Entry<T> | undefined {
    this.#assertOpen()
    const kept = this.#byKey.get(key)
    if (kept !== undefined) return kept
    const ordinal = this.#store.ordinalOf(key)
    // If the ordinal was written and the key was not, the key is newer than the pin.
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
    return this.#store.freezeShared(this.entries().map((entry) => entry.object))
  }

  /** Whether the store still holds the pinned entry at `ordinal`. */
  isUnchanged(ordinal: Ordinal): boolean {
    this.#assertOpen()
    return ordinal < this.#limit && !this.#byOrdinal.has(ordinal)
  }

  /** Returns the pinned entries that the store has overwritten since. */
  *overwritten(): Iterable<Pinned<T>> {
    this.#assertOpen()
    for (const pinned of this.#byOrdinal.values()) if (pinned !== undefined) yield pinned
  }

  /** @internal Called by the store before it overwrites `ordinal`. */
  keep(ordinal: Ordinal, pinned: Pinned<T> | undefined): void {
    this.#byOrdinal.set(ordinal, pinned)
    if (pinned !== undefined) this.#byKey.set(pinned.entry.key, pinned.entry)
  }

  /** @internal The number of ordinals and keys that are kept. */
  get held(): number {
    return this.#byOrdinal.size + this.#byKey.size
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new SourceError('the snapshot was disposed', { code: 'STOPPED' })
  }
}
