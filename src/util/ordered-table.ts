import { HashTable } from './hash-table.js'

/** A Map of this many keys grows no more. A larger one would stop the process for longer than 10 ms when it grows. */
const SEGMENT_KEYS = 65_536

/**
 * Values by key, in the order in which their keys were added, as a Map has them. A large table has several Maps: an
 * addition to it does not move all entries, as the growth of a large Map does.
 */
export class OrderedTable<V> {
  readonly #segmentKeys: number
  readonly #first = new Map<string, V>()
  /** The entries after the first segment. */
  #later: LaterSegments<V> | undefined

  constructor(segmentKeys: number = SEGMENT_KEYS) {
    this.#segmentKeys = segmentKeys
  }

  get size(): number {
    return this.#first.size + (this.#later?.size ?? 0)
  }

  get(key: string): V | undefined {
    return this.#first.get(key) ?? this.#later?.get(key)
  }

  /** Adds a key at the end, or replaces its value in its place. */
  set(key: string, value: V): void {
    const hasSpace = this.#later === undefined && this.#first.size < this.#segmentKeys
    if (hasSpace || this.#first.has(key)) this.#first.set(key, value)
    else {
      this.#later ??= new LaterSegments(this.#segmentKeys)
      this.#later.set(key, value)
    }
  }

  delete(key: string): void {
    if (this.#first.delete(key) || this.#later === undefined) return
    this.#later.delete(key)
    if (this.#later.size === 0) this.#later = undefined
  }

  /**
   * Keys that are added during the iteration are included. Keys that are deleted before the iteration reaches them are
   * not.
   */
  *entries(): Generator<[key: string, value: V], undefined> {
    yield* this.#first
    for (const segment of this.#later?.segments.values() ?? []) yield* segment
  }

  [Symbol.iterator](): Generator<[key: string, value: V], undefined> {
    return this.entries()
  }

  *keys(): Generator<string, undefined> {
    for (const [key] of this.entries()) yield key
  }

  *values(): Generator<V, undefined> {
    for (const [, value] of this.entries()) yield value
  }
}

/** Segments without an empty one, in order. A key is added to the last one. */
class LaterSegments<V> {
  /** By number. */
  readonly segments: Map<number, Map<string, V>> = new Map()
  readonly #segmentKeys: number
  /** The number of the segment of each key. */
  readonly #numbers = new HashTable((number, key) => this.segments.get(number)?.has(key) === true)
  #last = 0

  constructor(segmentKeys: number) {
    this.#segmentKeys = segmentKeys
  }

  get size(): number {
    return this.#numbers.size
  }

  get(key: string): V | undefined {
    const number = this.#numbers.get(key)
    return number === undefined ? undefined : this.segments.get(number)?.get(key)
  }

  set(key: string, value: V): void {
    const number = this.#numbers.get(key)
    const segment = number === undefined ? undefined : this.segments.get(number)
    if (segment !== undefined) segment.set(key, value)
    else {
      this.#segmentWithSpace().set(key, value)
      this.#numbers.add(key, this.#last)
    }
  }

  delete(key: string): void {
    const number = this.#numbers.get(key)
    if (number === undefined) return
    this.#numbers.delete(key, number)
    const segment = this.segments.get(number)
    segment?.delete(key)
    if (segment?.size === 0) this.segments.delete(number)
  }

  #segmentWithSpace(): Map<string, V> {
    const last = this.segments.get(this.#last)
    if (last !== undefined && last.size < this.#segmentKeys) return last
    const segment = new Map<string, V>()
    this.segments.set(++this.#last, segment)
    return segment
  }
}
