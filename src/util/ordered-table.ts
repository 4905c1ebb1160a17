import { HashTable } from './hash-table.js'

/** A Map of this many keys grows no more. A larger one would stop the process for longer than 10 ms when it grows. */
const SEGMENT_KEYS = 65_536

/** Values in the order of a Map. It has several Maps, so that no addition moves all entries of a large table. */
export class OrderedTable<V> {
  readonly #segmentKeys: number
  readonly #first = new Map<string, V>()
  /** The segments after the first one by number, in order, without an empty one. */
  #later: Map<number, Map<string, V>> | undefined
  /** The numbers of the segments of their keys. */
  #numbers: HashTable | undefined
  #last = 0
  #order: Iterator<string, undefined> | undefined

  constructor(segmentKeys: number = SEGMENT_KEYS) {
    this.#segmentKeys = segmentKeys
  }

  get size(): number {
    return this.#first.size + (this.#numbers?.size ?? 0)
  }

  get(key: string): V | undefined {
    return this.#first.get(key) ?? this.#laterWith(key)?.get(key)
  }

  set(key: string, value: V): void {
    const hasSpace = this.#later === undefined && this.#first.size < this.#segmentKeys
    const segment = hasSpace || this.#first.has(key) ? this.#first : this.#laterWith(key)
    if (segment === undefined) this.#add(key, value)
    else segment.set(key, value)
  }

  delete(key: string): void {
    if (this.#first.delete(key)) return
    const number = this.#numbers?.get(key)
    if (number === undefined) return
    this.#numbers?.delete(key, number)
    const segment = this.#later?.get(number)
    segment?.delete(key)
    if (segment?.size === 0) this.#later?.delete(number)
    if (this.#later?.size !== 0) return
    this.#later = undefined
    this.#numbers = undefined
  }

  #laterWith(key: string): Map<string, V> | undefined {
    const number = this.#numbers?.get(key)
    return number === undefined ? undefined : this.#later?.get(number)
  }

  #add(key: string, value: V): void {
    const later = this.#later ?? new Map<number, Map<string, V>>()
    this.#later = later
    this.#numbers ??= new HashTable((number, each) => later.get(number)?.has(each) === true)
    let last = later.get(this.#last)
    if (last === undefined || last.size >= this.#segmentKeys) {
      last = new Map()
      later.set(++this.#last, last)
    }
    last.set(key, value)
    this.#numbers.add(key, this.#last)
  }

  /** An iteration includes keys that are added meanwhile, and no keys that are deleted before it reaches them. */
  *[Symbol.iterator](): Generator<[key: string, value: V], undefined> {
    yield* this.#first
    for (const segment of this.#later?.values() ?? []) yield* segment
  }

  /** Returns the first key, which the caller deletes. A new iterator each time would skip all deleted places again. */
  firstKey(): string | undefined {
    const next = this.#order?.next()
    if (next?.done === false) return next.value
    // Keys may have been added since.
    this.#order = this.keys()
    return this.#order.next().value
  }

  *keys(): Generator<string, undefined> {
    for (const [key] of this) yield key
  }

  *values(): Generator<V, undefined> {
    for (const [, value] of this) yield value
  }
}
