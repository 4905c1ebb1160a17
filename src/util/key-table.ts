/**
 * A table with this many keys is divided into parts: a larger Map stops the process when it grows. A smaller table is
 * faster undivided. A key costs more to move the more keys there are, because they are not in the processor's cache any
 * more.
 */
const DIVIDED_FROM = 65_536
/** The number of parts: a power of two. */
const PARTS = 256
/** How many keys an addition moves to their parts. */
const MOVED_PER_ADD = 16

/**
 * Values by key, without an order. A JavaScript Map that grows moves all its entries at once: a Map of a million keys
 * stops the process for a tenth of a second. So a large table has many Maps, each of which has the keys with equal
 * characters at their end.
 */
export class KeyTable<V> {
  readonly #dividedFrom: number
  #parts: Map<string, V>[] = [new Map()]
  #size = 0
  /** While the table is divided: the undivided keys, some of which are in their parts already, and the others. */
  #undivided: { readonly all: Map<string, V>; readonly left: Iterator<readonly [string, V]> } | undefined

  constructor(dividedFrom: number = DIVIDED_FROM) {
    this.#dividedFrom = dividedFrom
  }

  get size(): number {
    return this.#size
  }

  get(key: string): V | undefined {
    const value = this.#partOf(key).get(key)
    return value === undefined && this.#undivided !== undefined ? this.#undivided.all.get(key) : value
  }

  /** Adds a key that the table does not have. */
  add(key: string, value: V): void {
    if (++this.#size >= this.#dividedFrom && this.#parts.length === 1) this.#beginToDivide()
    this.#partOf(key).set(key, value)
    if (this.#undivided !== undefined) this.#divide()
  }

  delete(key: string): void {
    const wasDivided = this.#partOf(key).delete(key)
    const wasUndivided = this.#undivided?.all.delete(key) === true
    if (wasDivided || wasUndivided) this.#size--
  }

  clear(): void {
    this.#parts = [new Map()]
    this.#undivided = undefined
    this.#size = 0
  }

  #beginToDivide(): void {
    const [all = new Map<string, V>()] = this.#parts
    this.#parts = Array.from({ length: PARTS }, () => new Map<string, V>())
    this.#undivided = { all, left: all.entries() }
  }

  /**
   * Moves a few keys to their parts. To remove them from the undivided Map would shrink that, which takes as long as
   * growth.
   */
  #divide(): void {
    for (let count = 0; count < MOVED_PER_ADD; count++) {
      const next = this.#undivided?.left.next()
      if (next === undefined) return
      if (next.done === true) this.#undivided = undefined
      else this.#partOf(next.value[0]).set(...next.value)
    }
  }

  #partOf(key: string): Map<string, V> {
    const parts = this.#parts
    return (parts.length === 1 ? parts[0] : parts[partOf(key)]) as Map<string, V>
  }
}

/** Most keys differ in their last characters. Keys that do not are in one part, which has the speed of one Map. */
function partOf(key: string): number {
  const { length } = key
  if (length < 4) return length
  const last = key.charCodeAt(length - 1) + 31 * key.charCodeAt(length - 2) + 961 * key.charCodeAt(length - 3)
  return (last + 17 * key.charCodeAt(length >> 1)) & (PARTS - 1)
}
