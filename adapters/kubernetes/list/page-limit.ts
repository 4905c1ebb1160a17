/** Halvings after which a page holds one object, whatever it began with. */
const MAX_HALVINGS = 20
/** After this many whole pages in a row a larger one is tried. */
const SUCCESSES_BEFORE_GROWTH = 8

/**
 * How many objects one request asks for. An API server ends an answer after 60 s: over a slow line a page of large objects would break off
 * each time. From the second break on, each one halves the number; whole pages double it again.
 */
export class PageLimit {
  #halvings = 0
  #hasFailed = false
  #successes = 0

  of(limit: number | undefined): number | undefined {
    return limit === undefined ? undefined : Math.max(1, Math.floor(limit / 2 ** this.#halvings))
  }

  recordFailure(): void {
    if (this.#hasFailed) this.#halvings = Math.min(this.#halvings + 1, MAX_HALVINGS)
    this.#hasFailed = true
    this.#successes = 0
  }

  recordSuccess(): void {
    if (++this.#successes < SUCCESSES_BEFORE_GROWTH) return
    this.#successes = 0
    this.#hasFailed = false
    this.#halvings = Math.max(0, this.#halvings - 1)
  }
}
