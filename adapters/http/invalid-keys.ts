/** The keys whose newest state is invalid, as the frames of a feed say. */
export class InvalidKeys {
  readonly #keys = new Set<string>()

  has(key: string): boolean {
    return this.#keys.has(key)
  }

  [Symbol.iterator](): Iterator<string> {
    return this.#keys.values()
  }

  /** A frame has another state of the key, with which followers do not take it as invalid any more. */
  replaced(key: string): void {
    this.#keys.delete(key)
  }

  /** Takes the invalid objects of the mirror. Returns the keys that differ. */
  take(invalid: ReadonlyMap<string, unknown>): readonly string[] {
    const differing: string[] = []
    for (const key of this.#keys) if (!invalid.has(key)) differing.push(key)
    for (const key of differing) this.#keys.delete(key)
    for (const key of invalid.keys()) {
      if (this.#keys.has(key)) continue
      this.#keys.add(key)
      differing.push(key)
    }
    return differing
  }
}
