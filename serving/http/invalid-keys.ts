import { CountingMap } from '../../src/util/counting-map.js'

/** The keys whose newest state is invalid, as the frames of a feed say. */
export class InvalidKeys {
  readonly #keys = new Set<string>()
  /** The map that `take` compared last, if nothing but its changes can differ from the keys. */
  #compared: { readonly invalid: ReadonlyMap<string, unknown>; readonly changes: number } | undefined

  has(key: string): boolean {
    return this.#keys.has(key)
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#keys.values()
  }

  /** A frame has another state of the key, with which followers do not take it as invalid any more. */
  replaced(key: string): void {
    if (this.#keys.delete(key)) this.#compared = undefined
  }

  /** Takes the invalid objects of the mirror. Returns the keys that differ. */
  take(invalid: ReadonlyMap<string, unknown>): readonly string[] {
    if (this.#isUnchanged(invalid)) return []
    const differing: string[] = []
    for (const key of this.#keys) if (!invalid.has(key)) differing.push(key)
    for (const key of differing) this.#keys.delete(key)
    for (const key of invalid.keys()) {
      if (this.#keys.has(key)) continue
      this.#keys.add(key)
      differing.push(key)
    }
    this.#compared = invalid instanceof CountingMap ? { invalid, changes: invalid.changes } : undefined
    return differing
  }

  /** Frames are frequent, and the map of a mirror may have many keys that stay invalid. */
  #isUnchanged(invalid: ReadonlyMap<string, unknown>): boolean {
    const compared = this.#compared
    return invalid instanceof CountingMap && compared?.invalid === invalid && compared.changes === invalid.changes
  }
}
