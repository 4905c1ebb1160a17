/** A new iterator for each first key of a map or set would skip the places of all removed keys again. */
export class KeyOrder {
  readonly #of: { keys(): Iterator<string, unknown> }
  #keys: Iterator<string, unknown>

  constructor(of: { keys(): Iterator<string, unknown> }) {
    this.#of = of
    this.#keys = of.keys()
  }

  /** Returns the first key; undefined if there is none. The caller removes it. */
  next(): string | undefined {
    let next = this.#keys.next()
    if (next.done === true) {
      // Keys may have been added since.
      this.#keys = this.#of.keys()
      next = this.#keys.next()
    }
    return next.done === true ? undefined : next.value
  }
}
