/** How large an answer may become, in bytes, as far as can be guessed from those before. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024
/** How much more is asked for after an answer that was small enough. */
const GROWTH = 4

/**
 * How many to ask for at once. Redis counts items, not bytes: so many large ones make an answer that holds up the server
 * and both ends, so the size is learned from what has come.
 */
export class Portion {
  readonly #most: number
  /** One, while nobody knows how large they are: a few of 10 MB would not come in time over a slow line. */
  #size = 1

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#size
  }

  /** So many came, with so many bytes. */
  learn(items: number, bytes: number): void {
    if (items === 0) return
    const fits = Math.floor(MAX_ANSWER_BYTES / Math.max(1, bytes / items))
    this.#size = Math.max(1, Math.min(fits, this.#most, this.#size * GROWTH))
  }
}
