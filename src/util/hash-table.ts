import { systemRandom } from '../contract/random.js'

/** The number of parts. The first bits of a hash are the number of its part. */
const PART_BITS = 8
const PARTS = 2 ** PART_BITS
/** The least number of places of a part: a power of two. */
const LEAST_PLACES = 16

/** They differ between processes: with known multipliers, keys can be chosen that have equal hashes for any seed. */
const SEED = randomBits()
const FIRST = randomBits() | 1
const SECOND = randomBits() | 1

/** Numbers by key, which several keys may share. `isAt` compares keys: it has none. Each part grows by itself. */
export class HashTable {
  readonly #isAt: (number: number, key: string) => boolean
  readonly #parts: readonly Part[]
  size = 0

  constructor(isAt: (number: number, key: string) => boolean, keys = 0) {
    let places = LEAST_PLACES
    while (places * PARTS < 2 * keys) places *= 2
    this.#isAt = isAt
    this.#parts = Array.from({ length: PARTS }, () => new Part(places))
  }

  get(key: string): number | undefined {
    const hash = hashOf(key)
    const { places } = this.#partOf(hash)
    const last = places.length - 2
    for (let at = (hash << 1) & last; ; at = (at + 2) & last) {
      const number = (places[at] ?? 0) - 1
      if (number < 0) return undefined
      if (places[at + 1] === hash && this.#isAt(number, key)) return number
    }
  }

  add(key: string, number: number): void {
    const hash = hashOf(key)
    this.#partOf(hash).add(hash, number)
    this.size++
  }

  /** Deletes a key that has this number. Returns whether the table had it. */
  delete(key: string, number: number): boolean {
    const hash = hashOf(key)
    const isDeleted = this.#partOf(hash).delete(hash, number)
    if (isDeleted) this.size--
    return isDeleted
  }

  #partOf(hash: number): Part {
    return this.#parts[hash >>> (32 - PART_BITS)] as Part
  }
}

/** A hash table with linear probing, outside of the heap: the garbage collector does not copy or scan it. */
class Part {
  /** Two numbers for each place: the number + 1, or 0 if it is empty, and the hash. */
  places: Int32Array<ArrayBuffer>
  #used = 0

  constructor(places: number) {
    this.places = new Int32Array(2 * places)
  }

  add(hash: number, number: number): void {
    // Three quarters of the places are used at most.
    if (8 * this.#used >= 3 * this.places.length) this.#grow()
    this.#put(hash, number)
    this.#used++
  }

  #put(hash: number, number: number): void {
    const { places } = this
    const last = places.length - 2
    let at = (hash << 1) & last
    while (places[at] !== 0) at = (at + 2) & last
    places[at] = number + 1
    places[at + 1] = hash
  }

  delete(hash: number, number: number): boolean {
    const { places } = this
    const last = places.length - 2
    let at = (hash << 1) & last
    while (places[at] !== number + 1 || places[at + 1] !== hash) {
      if (places[at] === 0) return false
      at = (at + 2) & last
    }
    // A search ends at an empty place. So a number behind it moves there if its own place is not in between.
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
