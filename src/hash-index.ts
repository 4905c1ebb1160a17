import type { Equal } from './index-types.js'
import { type Scalar, ScalarMap, sameScalar } from './scalar.js'
import type { Entry } from './source.js'
import type { Ordinal, Pin, Store, StoreIndex } from './store.js'

/** All objects with one index value, beside their ordinals. */
interface Bucket<T> {
  readonly value: Scalar
  readonly ordinals: Ordinal[]
  objects: T[]
  /** Whether `objects` was handed out: then it is frozen, and the next write makes a copy first. */
  isShared: boolean
}

/**
 * What equal and multi-value indexes have in common: buckets from which an element is removed by moving the last one
 * into its place. A read hands out the bucket's own array; a write after it copies.
 */
abstract class HashIndex<T> implements StoreIndex<T> {
  readonly store: Store<T>
  readonly #buckets = new ScalarMap<Bucket<T>>()

  constructor(store: Store<T>) {
    this.store = store
  }

  abstract set(ordinal: Ordinal, entry: Entry<T>): void
  abstract delete(ordinal: Ordinal): void
  abstract valueAt(ordinal: Ordinal): unknown
  abstract includes(remembered: unknown, value: Scalar): boolean
  /** The element at `ordinal` is now at `position` of `bucket`. */
  protected abstract moved(ordinal: Ordinal, bucket: Bucket<T>, position: number): void

  clear(): void {
    this.#buckets.clear()
  }

  protected bucketOf(value: Scalar): Bucket<T> {
    let bucket = this.#buckets.get(value)
    if (bucket === undefined) {
      bucket = { value, ordinals: [], objects: [], isShared: false }
      this.#buckets.set(value, bucket)
    }
    return bucket
  }

  protected add(bucket: Bucket<T>, ordinal: Ordinal, object: T): number {
    own(bucket)
    bucket.objects.push(object)
    return bucket.ordinals.push(ordinal) - 1
  }

  protected replace(bucket: Bucket<T>, position: number, object: T): void {
    if (bucket.objects[position] === object) return
    own(bucket)
    bucket.objects[position] = object
  }

  protected remove(bucket: Bucket<T>, position: number): void {
    const last = bucket.ordinals.length - 1
    const ordinal = bucket.ordinals[last]
    if (ordinal === undefined) return
    if (last === 0) {
      this.#buckets.delete(bucket.value)
      return
    }
    own(bucket)
    bucket.ordinals.pop()
    const object = bucket.objects.pop() as T
    if (position === last) return
    bucket.ordinals[position] = ordinal
    bucket.objects[position] = object
    this.moved(ordinal, bucket, position)
  }

  /** What users call. */
  accessor<V extends Scalar>(): Equal<T, V> {
    const objects = (value: V): readonly T[] => {
      const bucket = this.#visible(value)
      return bucket === undefined ? [] : share(bucket)
    }
    return Object.assign(objects, {
      entries: (value: V) => this.#entries(value),
      count: (value: V) => this.#visible(value)?.ordinals.length ?? 0,
      values: () => (this.store.isVisible ? Array.from(this.#buckets.values(), (bucket) => bucket.value as V) : []),
    })
  }

  /** The same over the store as it was when `pin` was taken. */
  accessorAt<V extends Scalar>(pin: Pin<T>): Equal<T, V> {
    const entries = (value: V): readonly Entry<T>[] => {
      const found: Entry<T>[] = []
      for (const ordinal of this.#buckets.get(value)?.ordinals ?? []) {
        const entry = pin.isUnchanged(ordinal) ? this.store.entryAt(ordinal) : undefined
        if (entry !== undefined) found.push(entry)
      }
      for (const { entry, values } of pin.overwritten()) if (this.includes(values.get(this), value)) found.push(entry)
      return found
    }
    const values = (): V[] => {
      const seen = new ScalarMap<V>()
      for (const { value, ordinals } of this.#buckets.values()) {
        if (ordinals.some((ordinal) => pin.isUnchanged(ordinal))) seen.set(value, value as V)
      }
      for (const pinned of pin.overwritten()) {
        for (const value of [pinned.values.get(this)].flat() as (V | undefined)[]) {
          if (value !== undefined) seen.set(value, value)
        }
      }
      return [...seen.values()]
    }
    const objects = (value: V): readonly T[] => Object.freeze(entries(value).map((entry) => entry.object))
    return Object.assign(objects, { entries, values, count: (value: V) => entries(value).length })
  }

  #entries(value: Scalar): readonly Entry<T>[] {
    const found: Entry<T>[] = []
    for (const ordinal of this.#visible(value)?.ordinals ?? []) {
      const entry = this.store.entryAt(ordinal)
      if (entry !== undefined) found.push(entry)
    }
    return found
  }

  #visible(value: Scalar): Bucket<T> | undefined {
    return this.store.isVisible ? this.#buckets.get(value) : undefined
  }
}

/** One value an object. */
export class EqualIndex<T> extends HashIndex<T> {
  readonly #of: (entry: Entry<T>) => Scalar | undefined
  readonly #buckets: (Bucket<T> | undefined)[] = []
  readonly #positions: number[] = []

  constructor(store: Store<T>, of: (entry: Entry<T>) => Scalar | undefined) {
    super(store)
    this.#of = of
  }

  set(ordinal: Ordinal, entry: Entry<T>): void {
    const value = this.#of(entry)
    const old = this.#buckets[ordinal]
    if (old !== undefined) {
      if (value !== undefined && sameScalar(old.value, value)) {
        this.replace(old, this.#positions[ordinal] ?? 0, entry.object)
        return
      }
      this.remove(old, this.#positions[ordinal] ?? 0)
    }
    if (value === undefined) {
      this.#place(ordinal, undefined, 0)
      return
    }
    const bucket = this.bucketOf(value)
    this.#place(ordinal, bucket, this.add(bucket, ordinal, entry.object))
  }

  delete(ordinal: Ordinal): void {
    const bucket = this.#buckets[ordinal]
    if (bucket !== undefined) this.remove(bucket, this.#positions[ordinal] ?? 0)
    this.#place(ordinal, undefined, 0)
  }

  valueAt(ordinal: Ordinal): Scalar | undefined {
    return this.#buckets[ordinal]?.value
  }

  includes(remembered: unknown, value: Scalar): boolean {
    return remembered !== undefined && sameScalar(remembered as Scalar, value)
  }

  override clear(): void {
    super.clear()
    this.#buckets.length = 0
    this.#positions.length = 0
  }

  protected moved(ordinal: Ordinal, _bucket: Bucket<T>, position: number): void {
    this.#positions[ordinal] = position
  }

  #place(ordinal: Ordinal, bucket: Bucket<T> | undefined, position: number): void {
    fill(this.#buckets, ordinal, undefined)
    fill(this.#positions, ordinal, 0)
    this.#buckets[ordinal] = bucket
    this.#positions[ordinal] = position
  }
}

/** Where one object stands in one bucket. */
interface Place<T> {
  readonly bucket: Bucket<T>
  position: number
}

/** Any number of values an object. */
export class MultiIndex<T> extends HashIndex<T> {
  readonly #of: (entry: Entry<T>) => readonly Scalar[]
  readonly #places: (Place<T>[] | undefined)[] = []

  constructor(store: Store<T>, of: (entry: Entry<T>) => readonly Scalar[]) {
    super(store)
    this.#of = of
  }

  set(ordinal: Ordinal, entry: Entry<T>): void {
    const values = this.#of(entry)
    const old = this.#places[ordinal] ?? []
    if (old.length === values.length && old.every(({ bucket }, at) => sameScalar(bucket.value, values[at]))) {
      for (const { bucket, position } of old) this.replace(bucket, position, entry.object)
      return
    }
    this.#removeFrom(old)
    const places = values.map((value) => {
      const bucket = this.bucketOf(value)
      return { bucket, position: this.add(bucket, ordinal, entry.object) }
    })
    fill(this.#places, ordinal, undefined)
    this.#places[ordinal] = places
  }

  delete(ordinal: Ordinal): void {
    this.#removeFrom(this.#places[ordinal] ?? [])
    this.#places[ordinal] = undefined
  }

  valueAt(ordinal: Ordinal): readonly Scalar[] {
    return this.#places[ordinal]?.map(({ bucket }) => bucket.value) ?? []
  }

  includes(remembered: unknown, value: Scalar): boolean {
    return remembered !== undefined && (remembered as readonly Scalar[]).some((each) => sameScalar(each, value))
  }

  override clear(): void {
    super.clear()
    this.#places.length = 0
  }

  protected moved(ordinal: Ordinal, bucket: Bucket<T>, position: number): void {
    const place = this.#places[ordinal]?.find((each) => each.bucket === bucket)
    if (place !== undefined) place.position = position
  }

  #removeFrom(places: readonly Place<T>[]): void {
    for (const { bucket, position } of places) this.remove(bucket, position)
  }
}

function own<T>(bucket: Bucket<T>): void {
  if (!bucket.isShared) return
  bucket.objects = bucket.objects.slice()
  bucket.isShared = false
}

function share<T>(bucket: Bucket<T>): readonly T[] {
  if (!bucket.isShared) {
    Object.freeze(bucket.objects)
    bucket.isShared = true
  }
  return bucket.objects
}

/** Keeps an array dense: V8 makes one with holes slower. */
function fill<V>(array: V[], upTo: number, value: V): void {
  while (array.length <= upTo) array.push(value)
}
