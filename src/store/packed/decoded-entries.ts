import type { Entry } from '../../contract/source.js'
import type { Ordinal } from '../ordinals.js'

/** The number of parts of the table: a power of two. A small part grows, and is swept, fast. */
const PARTS = 256
/** A part is swept for the first time when it has this number of entries. */
const SWEPT_FROM = 32

interface Decoded<T> {
  entry: WeakRef<Entry<T>>
  readonly object: WeakRef<object>
}

/** The decoded entries that are still in use: a table that refers to them weakly. */
export class DecodedEntries<T> {
  readonly #parts: (Map<Ordinal, Decoded<T>> | undefined)[] = new Array(PARTS).fill(undefined)
  readonly #sweepAt = new Uint32Array(PARTS).fill(SWEPT_FROM)

  /** Whether the entry at an ordinal, or its object, may still be in use. */
  has(ordinal: Ordinal): boolean {
    return this.#decodedAt(ordinal) !== undefined
  }

  get(ordinal: Ordinal): Entry<T> | undefined {
    return this.#decodedAt(ordinal)?.entry.deref()
  }

  /** Adds an entry that was decoded. Returns it with the object that was decoded before, if that is still in use. */
  add(ordinal: Ordinal, entry: Entry<T>): Entry<T> {
    // Primitive values have no identity.
    if (typeof entry.object !== 'object' || entry.object === null) return entry
    const known = this.#decodedAt(ordinal)
    const object = known?.object.deref() as T | undefined
    if (known !== undefined && object !== undefined) {
      const same = { ...entry, object }
      known.entry = new WeakRef(same)
      return same
    }
    this.#partFor(ordinal).set(ordinal, { entry: new WeakRef(entry), object: new WeakRef(entry.object) })
    return entry
  }

  #decodedAt(ordinal: Ordinal): Decoded<T> | undefined {
    return this.#parts[ordinal & (PARTS - 1)]?.get(ordinal)
  }

  /** If the part has doubled, entries of objects without a reference are removed. */
  #partFor(ordinal: Ordinal): Map<Ordinal, Decoded<T>> {
    const number = ordinal & (PARTS - 1)
    const part = this.#parts[number] ?? new Map<Ordinal, Decoded<T>>()
    this.#parts[number] = part
    if (part.size < (this.#sweepAt[number] ?? 0)) return part
    for (const [each, { object }] of part) if (object.deref() === undefined) part.delete(each)
    this.#sweepAt[number] = Math.max(SWEPT_FROM, part.size * 2)
    return part
  }
}
