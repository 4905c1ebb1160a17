/**
 * Keeps apart what may call the user's functions and what they may ask for: while something whole is being done, whatever else would
 * change what it works on waits until it is over.
 */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #held = 0
  #isGoingOn = false

  /** Does something whole, perhaps in the middle of something that is. */
  hold<V>(act: () => V): V {
    this.#held++
    try {
      return act()
    } finally {
      this.#held--
      this.#goOn()
    }
  }

  /** Does it now, or where that is too soon, as soon as it can be done; in the order in which it was asked for. */
  whenFree(act: () => void): void {
    this.#waiting.push(act)
    this.#goOn()
  }

  #goOn(): void {
    if (this.#held > 0 || this.#isGoingOn) return
    this.#isGoingOn = true
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) next()
    } finally {
      this.#isGoingOn = false
    }
  }
}
