import { KeyTable } from './key-table.js'

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
    for (const segment of this.#later?.segments ?? []) yield* segment
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
  readonly segments: Set<Map<string, V>> = new Set()
  readonly #segmentKeys: number
  readonly #segmentOf = new KeyTable<Map<string, V>>()
  #last: Map<string, V> | undefined

  constructor(segmentKeys: number) {
    this.#segmentKeys = segmentKeys
  }

  get size(): number {
    return this.#segmentOf.size
  }

  get(key: string): V | undefined {
    return this.#segmentOf.get(key)?.get(key)
  }

  set(key: string, value: V): void {
    let segment = this.#segmentOf.get(key)
    if (segment === undefined) {
      segment = this.#segmentWithSpace()
      this.#segmentOf.add(key, segment)
    }
    segment.set(key, value)
  }

  delete(key: string): void {
    const segment = this.#segmentOf.get(key)
    if (segment === undefined) return
    this.#segmentOf.delete(key)
    segment.delete(key)
    if (segment.size > 0) return
    this.segments.delete(segment)
    if (segment === this.#last) this.#last = undefined
  }

  #segmentWithSpace(): Map<string, V> {
    if (this.#last !== undefined && this.#last.size < this.#segmentKeys) return this.#last
    this.#last = new Map()
    this.segments.add(this.#last)
    return this.#last
  }
}
