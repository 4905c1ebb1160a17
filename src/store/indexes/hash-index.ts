import type { Entry } from '../../contract/source.js'
import type { Pin } from '../pin.js'
import { pairsOf, type Store } from '../store.js'
import type { Ordinal, StoreIndex } from '../store-index.js'
import type { Equal } from './index-types.js'
import { Int32List } from './int32-list.js'
import { copyScalar, type Scalar, ScalarMap, sameScalar } from './scalar.js'

/** All objects with one index value. */
interface Bucket<T> {
  readonly id: number
  readonly value: Scalar
  readonly ordinals: Ordinal[]
  /** The objects in the same order: created at the first read, and maintained while there are reads. */
  objects: T[] | undefined
  /** The copy of `objects` that readers share, until the next write. */
  shared: readonly T[] | undefined
  /** The number of writes since the last read. */
  writes: number
}

/** After this many writes for each object without a read, the objects of a bucket are released. */
const FORGET_AFTER = 8

/**
 * The base of equal and multi-value indexes: buckets of ordinals. An ordinal is removed by moving the last one of the
 * bucket into its position.
 */
abstract class HashIndex<T> implements StoreIndex<T> {
  readonly store: Store<T>
  readonly #byValue = new ScalarMap<Bucket<T>>()
  /** By id. No bucket has id 0. */
  readonly #buckets: (Bucket<T> | undefined)[] = [undefined]
  readonly #freeIds: number[] = []

  constructor(store: Store<T>) {
    this.store = store
  }

  abstract set(ordinal: Ordinal, entry: Entry<T>): void
  abstract delete(ordinal: Ordinal): void
  abstract valueAt(ordinal: Ordinal): unknown
  abstract includes(remembered: unknown, value: Scalar): boolean
  /** Called after the element `ordinal` was moved to `position` of `bucket`. */
  protected abstract moved(ordinal: Ordinal, bucket: Bucket<T>, position: number): void

  clear(): void {
    this.#byValue.clear()
    this.#buckets.length = 1
    this.#freeIds.length = 0
  }

  protected bucketWith(id: number): Bucket<T> | undefined {
    return this.#buckets[id]
  }

  protected bucketOf(value: Scalar): Bucket<T> {
    const found = this.#byValue.get(value)
    if (found !== undefined) return found
    const id = this.#freeIds.pop() ?? this.#buckets.length
    const bucket: Bucket<T> = { id, value, ordinals: [], objects: undefined, shared: undefined, writes: 0 }
    this.#byValue.set(value, bucket)
    this.#buckets[id] = bucket
    return bucket
  }

  protected add(bucket: Bucket<T>, ordinal: Ordinal, object: T): number {
    objectsToWrite(bucket)?.push(object)
    return bucket.ordinals.push(ordinal) - 1
  }

  protected replace(bucket: Bucket<T>, position: number, object: T): void {
    const objects = objectsToWrite(bucket)
    if (objects !== undefined) objects[position] = object
  }

  protected remove(bucket: Bucket<T>, position: number): void {
    const { ordinals } = bucket
    const last = ordinals.length - 1
    const ordinal = ordinals[last]
    if (ordinal === undefined) return
    if (last === 0) {
      this.#byValue.delete(bucket.value)
      this.#buckets[bucket.id] = undefined
      this.#freeIds.push(bucket.id)
      return
    }
    const objects = objectsToWrite(bucket)
    const object = objects?.pop() as T
    ordinals.pop()
    if (position === last) return
    ordinals[position] = ordinal
    if (objects !== undefined) objects[position] = object
    this.moved(ordinal, bucket, position)
  }

  /** Returns the public function of the index. */
  accessor<V extends Scalar>(): Equal<T, V> {
    const objects = (value: V): readonly T[] => {
      const bucket = this.#visible(value)
      return bucket === undefined ? [] : this.#objectsOf(bucket)
    }
    return Object.assign(objects, {
      entries: (value: V) => pairsOf(this.entriesWith(value)),
      count: (value: V) => this.#visible(value)?.ordinals.length ?? 0,
      values: () => (this.#isReadable ? Array.from(this.#byValue.values(), ({ value }) => copyScalar(value) as V) : []),
    })
  }

  /** Returns the public function of the index over a pin. */
  accessorAt<V extends Scalar>(pin: Pin<T>): Equal<T, V> {
    const found = (value: V): readonly Entry<T>[] => {
      this.store.assertIndexed()
      const entries: Entry<T>[] = []
      for (const ordinal of this.#byValue.get(value)?.ordinals ?? []) {
        const entry = pin.isUnchanged(ordinal) ? this.store.entryAt(ordinal) : undefined
        if (entry !== undefined) entries.push(entry)
      }
      for (const { entry, values } of pin.overwritten()) if (this.includes(values.get(this), value)) entries.push(entry)
      return entries
    }
    const values = (): V[] => {
      this.store.assertIndexed()
      const seen = new ScalarMap<V>()
      for (const { value, ordinals } of this.#byValue.values()) {
        if (ordinals.some((ordinal) => pin.isUnchanged(ordinal))) seen.set(value, copyScalar(value) as V)
      }
      for (const pinned of pin.overwritten()) {
        for (const value of [pinned.values.get(this)].flat() as (V | undefined)[]) {
          if (value !== undefined) seen.set(value, copyScalar(value))
        }
      }
      return [...seen.values()]
    }
    const objects = (value: V): readonly T[] => found(value).map((entry) => entry.object)
    const entries = (value: V): ReturnType<Equal<T, V>['entries']> => pairsOf(found(value))
    return Object.assign(objects, { entries, values, count: (value: V) => found(value).length })
  }

  entriesWith(value: Scalar): readonly Entry<T>[] {
    const found: Entry<T>[] = []
    for (const ordinal of this.#visible(value)?.ordinals ?? []) {
      const entry = this.store.entryAt(ordinal)
      if (entry !== undefined) found.push(entry)
    }
    return found
  }

  #visible(value: Scalar): Bucket<T> | undefined {
    return this.#isReadable ? this.#byValue.get(value) : undefined
  }

  get #isReadable(): boolean {
    this.store.assertIndexed()
    return this.store.isVisible
  }

  #objectsOf(bucket: Bucket<T>): readonly T[] {
    bucket.writes = 0
    bucket.objects ??= bucket.ordinals.map((ordinal) => this.store.entryAt(ordinal)?.object as T)
    bucket.shared ??= this.store.freezeShared(bucket.objects.slice())
    return bucket.shared
  }
}

/** An index with at most one value for each object. */
export class EqualIndex<T> extends HashIndex<T> {
  readonly #of: (entry: Entry<T>) => Scalar | undefined
  /** The id of the bucket of each ordinal, and its position there. */
  readonly #bucketIds = new Int32List()
  readonly #positions = new Int32List()

  constructor(store: Store<T>, of: (entry: Entry<T>) => Scalar | undefined) {
    super(store)
    this.#of = of
  }

  set(ordinal: Ordinal, entry: Entry<T>): void {
    const value = this.#of(entry)
    const old = this.bucketWith(this.#bucketIds.get(ordinal))
    if (old !== undefined) {
      if (value !== undefined && sameScalar(old.value, value)) {
        this.replace(old, this.#positions.get(ordinal), entry.object)
        return
      }
      this.remove(old, this.#positions.get(ordinal))
    }
    if (value === undefined) {
      this.#bucketIds.set(ordinal, 0)
      return
    }
    const bucket = this.bucketOf(value)
    this.#bucketIds.set(ordinal, bucket.id)
    this.#positions.set(ordinal, this.add(bucket, ordinal, entry.object))
  }

  delete(ordinal: Ordinal): void {
    const bucket = this.bucketWith(this.#bucketIds.get(ordinal))
    if (bucket !== undefined) this.remove(bucket, this.#positions.get(ordinal))
    this.#bucketIds.set(ordinal, 0)
  }

  valueAt(ordinal: Ordinal): Scalar | undefined {
    return this.bucketWith(this.#bucketIds.get(ordinal))?.value
  }

  includes(remembered: unknown, value: Scalar): boolean {
    return remembered !== undefined && sameScalar(remembered as Scalar, value)
  }

  override clear(): void {
    super.clear()
    this.#bucketIds.clear()
    this.#positions.clear()
  }

  protected moved(ordinal: Ordinal, _bucket: Bucket<T>, position: number): void {
    this.#positions.set(ordinal, position)
  }
}

/** The position of one object in one bucket. */
interface Place<T> {
  readonly bucket: Bucket<T>
  position: number
}

/** An index with any number of values for each object. */
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

/** Returns the maintained objects of a bucket before a write, or undefined if they are not maintained. */
function objectsToWrite<T>(bucket: Bucket<T>): T[] | undefined {
  if (bucket.objects === undefined) return undefined
  bucket.shared = undefined
  if (++bucket.writes > FORGET_AFTER * bucket.ordinals.length) bucket.objects = undefined
  return bucket.objects
}

/** Keeps an array dense: V8 reads an array with holes more slowly. */
function fill<V>(array: V[], upTo: number, value: V): void {
  while (array.length <= upTo) array.push(value)
}
