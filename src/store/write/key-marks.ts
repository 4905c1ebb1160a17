import type { Ordinal } from '../ordinals.js'

/** Keys, of which stored ones are marked by their ordinals. It does not hold for keys that are written later. */
export class KeyMarks {
  readonly #ordinals: Uint8Array
  readonly #start: Ordinal
  /** Keys without an ordinal, or with one that did not exist when the set was made. */
  readonly #others = new Set<string>()

  constructor(limit: number, start: Ordinal = 0) {
    this.#ordinals = new Uint8Array(limit - start)
    this.#start = start
  }

  add(key: string, ordinal: Ordinal | undefined): void {
    const at = this.#placeOf(ordinal)
    if (at !== undefined) this.#ordinals[at] = 1
    else this.#others.add(key)
  }

  delete(key: string, ordinal: Ordinal | undefined): void {
    const at = this.#placeOf(ordinal)
    if (at !== undefined) this.#ordinals[at] = 0
    else this.#others.delete(key)
  }

  hasOrdinal(ordinal: Ordinal): boolean {
    return this.#ordinals[ordinal - this.#start] === 1
  }

  hasOther(key: string): boolean {
    return this.#others.has(key)
  }

  #placeOf(ordinal: Ordinal | undefined): number | undefined {
    const at = ordinal === undefined ? -1 : ordinal - this.#start
    return at >= 0 && at < this.#ordinals.length ? at : undefined
  }
}
