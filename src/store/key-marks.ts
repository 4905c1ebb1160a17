import type { Ordinal } from './store-index.js'

/**
 * A set of keys. A key that the store has is marked by its ordinal, which needs a byte and no hash. An ordinal may be used
 * again, so the set does not hold for keys that are written after they were added.
 */
export class KeyMarks {
  readonly #ordinals: Uint8Array
  /** Keys without an ordinal, or with one that did not exist when the set was made. */
  readonly #others = new Set<string>()

  /** `limit`: one more than the greatest ordinal. */
  constructor(limit: number) {
    this.#ordinals = new Uint8Array(limit)
  }

  add(key: string, ordinal: Ordinal | undefined): void {
    if (ordinal !== undefined && ordinal < this.#ordinals.length) this.#ordinals[ordinal] = 1
    else this.#others.add(key)
  }

  delete(key: string, ordinal: Ordinal | undefined): void {
    if (ordinal !== undefined && ordinal < this.#ordinals.length) this.#ordinals[ordinal] = 0
    else this.#others.delete(key)
  }

  hasOrdinal(ordinal: Ordinal): boolean {
    return this.#ordinals[ordinal] === 1
  }

  /** Whether it has a key without an ordinal. */
  hasOther(key: string): boolean {
    return this.#others.has(key)
  }
}
