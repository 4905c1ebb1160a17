import type { Ordinal } from './ordinals.js'

/** A table with this many keys is divided into parts: the Map would grow at the next key. Smaller ones are faster undivided. */
const DIVIDED_FROM = 262_144
/** The number of parts: a power of two. */
const PARTS = 256

/**
 * The ordinals of keys. A JavaScript Map that grows moves all its entries at once: a Map of a million keys stops the process
 * for a tenth of a second. So a large table has many Maps, each of which has the keys with equal characters at their end.
 */
export class KeyTable {
  readonly #dividedFrom: number
  #parts: Map<string, Ordinal>[] = [new Map()]
  #size = 0

  constructor(dividedFrom: number = DIVIDED_FROM) {
    this.#dividedFrom = dividedFrom
  }

  get size(): number {
    return this.#size
  }

  get(key: string): Ordinal | undefined {
    return this.#partOf(key).get(key)
  }

  /** Adds a key that the table does not have. */
  add(key: string, ordinal: Ordinal): void {
    if (++this.#size >= this.#dividedFrom && this.#parts.length === 1) this.#divide()
    this.#partOf(key).set(key, ordinal)
  }

  delete(key: string): void {
    if (this.#partOf(key).delete(key)) this.#size--
  }

  clear(): void {
    this.#parts = [new Map()]
    this.#size = 0
  }

  #divide(): void {
    const [all] = this.#parts
    this.#parts = Array.from({ length: PARTS }, () => new Map<string, Ordinal>())
    for (const [key, ordinal] of all ?? []) this.#partOf(key).set(key, ordinal)
  }

  #partOf(key: string): Map<string, Ordinal> {
    const parts = this.#parts
    return (parts.length === 1 ? parts[0] : parts[partOf(key)]) as Map<string, Ordinal>
  }
}

/** Most keys differ in their last characters. Keys that do not are in one part, which has the speed of one Map. */
function partOf(key: string): number {
  const { length } = key
  if (length < 4) return length
  const last = key.charCodeAt(length - 1) + 31 * key.charCodeAt(length - 2) + 961 * key.charCodeAt(length - 3)
  return (last + 17 * key.charCodeAt(length >> 1)) & (PARTS - 1)
}
