import type { Entry } from '../contract/source.js'
import type { Ordinal } from './ordinals.js'

/** Without versions and uids it keeps only keys and objects, in 16 bytes instead of 48. */
export class EntryTable<T> {
  /** By ordinal. Empty if the table makes entries. */
  readonly whole: (Entry<T> | undefined)[] = []
  /** By ordinal, if the table makes entries. */
  readonly #keys: (string | undefined)[] = []
  readonly #objects: T[] | undefined

  constructor(hasVersions: boolean) {
    this.#objects = hasVersions ? undefined : []
  }

  /** One more than the greatest ordinal that was ever set. */
  get length(): number {
    return this.#objects === undefined ? this.whole.length : this.#keys.length
  }

  at(ordinal: Ordinal): Entry<T> | undefined {
    if (this.#objects === undefined) return this.whole[ordinal]
    const key = this.#keys[ordinal]
    return key === undefined ? undefined : { key, object: this.#objects[ordinal] as T }
  }

  keyAt(ordinal: Ordinal): string | undefined {
    return this.#objects === undefined ? this.whole[ordinal]?.key : this.#keys[ordinal]
  }

  set(ordinal: Ordinal, entry: Entry<T> | undefined): void {
    if (this.#objects === undefined) {
      this.whole[ordinal] = entry
      return
    }
    this.#keys[ordinal] = entry?.key
    this.#objects[ordinal] = entry?.object as T
  }

  clear(): void {
    this.whole.length = 0
    this.#keys.length = 0
    if (this.#objects !== undefined) this.#objects.length = 0
  }

  all(): Entry<T>[] {
    const entries: Entry<T>[] = []
    for (let ordinal = 0; ordinal < this.length; ordinal++) {
      const entry = this.at(ordinal)
      if (entry !== undefined) entries.push(entry)
    }
    return entries
  }
}
