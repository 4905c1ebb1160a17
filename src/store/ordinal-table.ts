import { systemRandom } from '../contract/random.js'
import type { Ordinal } from './ordinals.js'

/**
 * A table with this many keys keeps hashes. A smaller one is a Map, which finds a string that was looked up before
 * faster. A Map has no hashes: it reads most of its keys again to find that one is absent, and all when it grows.
 */
const HASHED_FROM = 65_536
/** The number of parts of a table with hashes. The first bits of a hash are the number of its part. */
const PART_BITS = 8
const PARTS = 2 ** PART_BITS
/** The least number of places of a part: a power of two. */
const LEAST_PLACES = 16
/** How many keys an addition moves from the Map to the parts. */
const MOVED_PER_ADD = 16

/** They differ between processes: with known multipliers, keys can be chosen that have equal hashes for any seed. */
const SEED = randomBits()
const FIRST = randomBits() | 1
const SECOND = randomBits() | 1

/**
 * The ordinals of keys, without an order. A large table does not keep its keys, but reads them with `keyAt`. No step
 * moves all ordinals of a large table: each of its parts grows by itself.
 */
export class OrdinalTable {
  readonly #keyAt: (ordinal: Ordinal) => string | undefined
  readonly #hashedFrom: number
  #size = 0
  /** All keys of a small table; those of a large one until their last one was moved to its part. */
  #small: Map<string, Ordinal> | undefined = new Map()
  /** The entries of `#small` that are not in their parts yet. */
  #left: Iterator<readonly [string, Ordinal]> | undefined
  #parts: readonly Part[] | undefined

  constructor(keyAt: (ordinal: Ordinal) => string | undefined, hashedFrom: number = HASHED_FROM) {
    this.#keyAt = keyAt
    this.#hashedFrom = hashedFrom
  }

  get size(): number {
    return this.#size
  }

  get(key: string): Ordinal | undefined {
    const parts = this.#parts
    if (parts === undefined) return this.#small?.get(key)
    const hash = hashOf(key)
    const { places } = partOf(parts, hash)
    const last = places.length - 2
    for (let at = (hash << 1) & last; ; at = (at + 2) & last) {
      const ordinal = (places[at] ?? 0) - 1
      if (ordinal < 0) return this.#small?.get(key)
      if (places[at + 1] === hash && this.#keyAt(ordinal) === key) return ordinal
    }
  }

  /** Adds a key that the table does not have. */
  add(key: string, ordinal: Ordinal): void {
    if (++this.#size >= this.#hashedFrom && this.#parts === undefined) this.#beginToMove()
    if (this.#parts === undefined) this.#small?.set(key, ordinal)
    else {
      addTo(this.#parts, key, ordinal)
      if (this.#left !== undefined) this.#move(this.#left, this.#parts)
    }
  }

  /** Deletes a key that has this ordinal. */
  delete(key: string, ordinal: Ordinal): void {
    let isDeleted = this.#small?.delete(key) === true
    if (this.#parts !== undefined) {
      const hash = hashOf(key)
      if (partOf(this.#parts, hash).delete(hash, ordinal)) isDeleted = true
    }
    if (isDeleted) this.#size--
  }

  clear(): void {
    this.#size = 0
    this.#small = new Map()
    this.#left = undefined
    this.#parts = undefined
  }

  #beginToMove(): void {
    let places = LEAST_PLACES
    while (places * PARTS < 2 * this.#hashedFrom) places *= 2
    this.#parts = Array.from({ length: PARTS }, () => new Part(places))
    this.#left = this.#small?.entries()
  }

  /** Moves a few keys. To remove them from the Map would shrink that, which takes as long as growth. */
  #move(left: Iterator<readonly [string, Ordinal]>, parts: readonly Part[]): void {
    for (let count = 0; count < MOVED_PER_ADD; count++) {
      const next = left.next()
      if (next.done === true) {
        this.#small = undefined
        this.#left = undefined
        return
      }
      addTo(parts, next.value[0], next.value[1])
    }
  }
}

function partOf(parts: readonly Part[], hash: number): Part {
  return parts[hash >>> (32 - PART_BITS)] as Part
}

function addTo(parts: readonly Part[], key: string, ordinal: Ordinal): void {
  const hash = hashOf(key)
  partOf(parts, hash).add(hash, ordinal)
}

/** A hash table with linear probing, outside of the heap: the garbage collector does not copy or scan it. */
class Part {
  /** Two numbers for each place: the ordinal + 1, or 0 if it is empty, and the hash. */
  places: Int32Array<ArrayBuffer>
  #used = 0

  constructor(places: number) {
    this.places = new Int32Array(2 * places)
  }

  add(hash: number, ordinal: Ordinal): void {
    // Three quarters of the places are used at most.
    if (8 * this.#used >= 3 * this.places.length) this.#grow()
    this.#put(hash, ordinal)
    this.#used++
  }

  #put(hash: number, ordinal: Ordinal): void {
    const { places } = this
    const last = places.length - 2
    let at = (hash << 1) & last
    while (places[at] !== 0) at = (at + 2) & last
    places[at] = ordinal + 1
    places[at + 1] = hash
  }

  /** Returns whether the ordinal was there. */
  delete(hash: number, ordinal: Ordinal): boolean {
    const { places } = this
    const last = places.length - 2
    let at = (hash << 1) & last
    while (places[at] !== ordinal + 1) {
      if (places[at] === 0) return false
      at = (at + 2) & last
    }
    // A search ends at an empty place. So an ordinal behind it moves there if its own place is not in between.
    for (let next = (at + 2) & last; places[next] !== 0; next = (next + 2) & last) {
      const own = ((places[next + 1] ?? 0) << 1) & last
      if (((next - own) & last) < ((next - at) & last)) continue
      places[at] = places[next] ?? 0
      places[at + 1] = places[next + 1] ?? 0
      at = next
    }
    places[at] = 0
    this.#used--
    return true
  }

  #grow(): void {
    const old = this.places
    this.places = new Int32Array(2 * old.length)
    for (let at = 0; at < old.length; at += 2) {
      const used = old[at] ?? 0
      if (used !== 0) this.#put(old[at + 1] ?? 0, used - 1)
    }
  }
}

/** Two code units at a time. */
function hashOf(key: string): number {
  const { length } = key
  const even = length - (length & 1)
  let hash = SEED ^ length
  for (let at = 0; at < even; at += 2) hash = mixed(hash, key.charCodeAt(at) | (key.charCodeAt(at + 1) << 16))
  if (even < length) hash = mixed(hash, key.charCodeAt(even))
  return hash ^ (hash >>> 16)
}

/** After one multiplication a difference in the first bit is still there only, and the next block could remove it. */
function mixed(hash: number, block: number): number {
  const product = Math.imul(hash ^ block, FIRST)
  return Math.imul(product ^ (product >>> 15), SECOND)
}

function randomBits(): number {
  return Math.trunc(systemRandom.next() * 0x1_0000_0000) | 0
}
