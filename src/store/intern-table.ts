/** The number of places that a value with a given hash can have. */
export const WAYS = 4

/**
 * Values by their hashes, for lookups of equal ones. A value that was not found takes no place from one that was, until
 * that one was not found for a while. The table grows, up to a greatest size, if values that were found have to give up
 * their places. So values that occur once, however many, do not displace those that occur often.
 */
export class InternTable<V> {
  readonly #maxSlots: number
  readonly #isGone: (value: V) => boolean
  #values: (V | undefined)[]
  #hashes: Int32Array
  /** 1 for a value that was found since another one last wanted its place. */
  #isFound: Uint8Array
  /** How often values that were found gave up their places, since the table has its size. */
  #losses = 0

  /** Sizes are powers of two. `isGone` returns whether nothing can find a value any more. */
  constructor(slots: number, maxSlots: number, isGone: (value: V) => boolean = () => false) {
    this.#maxSlots = maxSlots
    this.#isGone = isGone
    this.#values = new Array(slots)
    this.#hashes = new Int32Array(slots)
    this.#isFound = new Uint8Array(slots)
  }

  /** The first of the places for a hash. The others follow. */
  placeOf(hash: number): number {
    return ((hash ^ (hash >>> 15)) & (this.#values.length / WAYS - 1)) * WAYS
  }

  hashAt(slot: number): number {
    return this.#hashes[slot] ?? 0
  }

  valueAt(slot: number): V | undefined {
    return this.#values[slot]
  }

  /** Records that the value was found. */
  found(slot: number): void {
    this.#isFound[slot] = 1
  }

  add(hash: number, value: V): void {
    const slot = this.#freeSlot(this.placeOf(hash))
    this.#set(slot, value, hash, 0)
    if (this.#losses > this.#values.length / 8 && this.#values.length < this.#maxSlots) this.#grow()
  }

  /** An empty place, or that of a value that was not found since another one wanted its place. */
  #freeSlot(first: number): number {
    const last = first + WAYS - 1
    let free: number | undefined
    for (let slot = first; slot <= last; slot++) {
      if (this.#values[slot] === undefined) return slot
      if (this.#isFound[slot] === 0) free ??= slot
    }
    if (free !== undefined) {
      // The last place has the newest value, which gives up its place last.
      for (let slot = free; slot < last; slot++)
        this.#set(slot, this.#values[slot + 1], this.hashAt(slot + 1), this.#isFound[slot + 1] ?? 0)
      return last
    }
    for (let slot = first; slot <= last; slot++) {
      const value = this.#values[slot]
      if (value === undefined || this.#isGone(value)) return slot
      this.#isFound[slot] = 0
    }
    this.#losses++
    return first
  }

  #set(slot: number, value: V | undefined, hash: number, isFound: number): void {
    this.#values[slot] = value
    this.#hashes[slot] = hash
    this.#isFound[slot] = isFound
  }

  #grow(): void {
    const [values, hashes, isFound] = [this.#values, this.#hashes, this.#isFound]
    const slots = values.length * 2
    this.#values = new Array(slots)
    this.#hashes = new Int32Array(slots)
    this.#isFound = new Uint8Array(slots)
    this.#losses = 0
    for (let from = 0; from < values.length; from++) {
      const value = values[from]
      if (value === undefined) continue
      const hash = hashes[from] ?? 0
      // The values of the old places are divided among two groups of places, so that each group has room.
      let to = this.placeOf(hash)
      while (this.#values[to] !== undefined) to++
      this.#set(to, value, hash, isFound[from] ?? 0)
    }
  }
}
