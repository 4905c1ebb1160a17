/** Tells one thing after the other, each to everybody, in the same order, also of what happens while somebody is told. */
export class News {
  readonly #pending: (() => void)[] = []
  #isTelling = false

  /** Calls each when its turn has come: at once, or where it is called inside of another, after that. */
  tell(all: Iterable<() => void>): void {
    this.#pending.push(...all)
    if (this.#isTelling) return
    this.#isTelling = true
    try {
      for (let next = this.#pending.shift(); next !== undefined; next = this.#pending.shift()) next()
    } finally {
      this.#isTelling = false
    }
  }
}
