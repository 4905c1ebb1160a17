/** Halvings after which a page holds one object, whatever it began with. */
const MAX_HALVINGS = 20
/** After this many whole pages in a row a larger one is tried. */
const WHOLE_PAGES = 8

/**
 * How many objects one request asks for. An API server ends an answer after 60 s: over a slow line a page of large objects would break off
 * each time. From the second break on, each one halves the number; whole pages double it again.
 */
export class PageLimit {
  #halvings = 0
  #hasBrokenOff = false
  #whole = 0

  of(limit: number | undefined): number | undefined {
    return limit === undefined ? undefined : Math.max(1, Math.floor(limit / 2 ** this.#halvings))
  }

  brokeOff(): void {
    if (this.#hasBrokenOff) this.#halvings = Math.min(this.#halvings + 1, MAX_HALVINGS)
    this.#hasBrokenOff = true
    this.#whole = 0
  }

  came(): void {
    if (++this.#whole < WHOLE_PAGES) return
    this.#whole = 0
    this.#hasBrokenOff = false
    this.#halvings = Math.max(0, this.#halvings - 1)
  }
}
