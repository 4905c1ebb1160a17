import { HashTable } from '../util/hash-table.js'
import type { Ordinal } from './ordinals.js'

/**
 * A table with this many keys keeps hashes. A smaller one is a Map, which finds a string that was looked up before
 * faster. A Map has no hashes: it reads most of its keys again to find that one is absent, and all when it grows.
 */
const HASHED_FROM = 65_536
/** How many keys an addition moves from the Map to the table of hashes. */
const MOVED_PER_ADD = 16

/** The ordinals of keys, without an order. A large table does not keep its keys: `isAt` compares them. */
export class OrdinalTable {
  readonly #isAt: (ordinal: Ordinal, key: string) => boolean
  readonly #hashedFrom: number
  size = 0
  /** All keys of a small table; those of a large one until the last one was moved to `#large`. */
  #small: Map<string, Ordinal> | undefined = new Map()
  /** The entries of `#small` that are not in `#large` yet. */
  #left: Iterator<readonly [string, Ordinal]> | undefined
  #large: HashTable | undefined

  constructor(isAt: (ordinal: Ordinal, key: string) => boolean, hashedFrom: number = HASHED_FROM) {
    this.#isAt = isAt
    this.#hashedFrom = hashedFrom
  }

  get(key: string): Ordinal | undefined {
    return this.#large?.get(key) ?? this.#small?.get(key)
  }

  add(key: string, ordinal: Ordinal): void {
    if (++this.size >= this.#hashedFrom && this.#large === undefined) {
      this.#large = new HashTable(this.#isAt, this.#hashedFrom)
      this.#left = this.#small?.entries()
    }
    if (this.#large === undefined) this.#small?.set(key, ordinal)
    else {
      this.#large.add(key, ordinal)
      if (this.#left !== undefined) this.#move(this.#left, this.#large)
    }
  }

  delete(key: string, ordinal: Ordinal): void {
    const wasSmall = this.#small?.delete(key) === true
    const wasLarge = this.#large?.delete(key, ordinal) === true
    if (wasSmall || wasLarge) this.size--
  }

  clear(): void {
    this.size = 0
    this.#small = new Map()
    this.#left = undefined
    this.#large = undefined
  }

  /** Moves a few keys. To remove them from the Map would shrink that, which takes as long as growth. */
  #move(left: Iterator<readonly [string, Ordinal]>, large: HashTable): void {
    for (let count = 0; count < MOVED_PER_ADD; count++) {
      const next = left.next()
      if (next.done === true) {
        this.#small = undefined
        this.#left = undefined
        return
      }
      large.add(next.value[0], next.value[1])
    }
  }
}
