/** After this number of halvings a page holds one object, whatever the limit was. */
const MAX_HALVINGS = 20
/** After this number of complete pages in a row a larger one is tried. */
const SUCCESSES_BEFORE_GROWTH = 8

/**
 * The number of objects that one request returns. An API server ends a response after 60 s, so that pages of large
 * objects always break off over a slow line. From the second failure on, each failure halves the number; complete pages
 * double it again.
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
