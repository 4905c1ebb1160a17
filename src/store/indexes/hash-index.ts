import type { Entry } from '../../contract/source.js'
import type { CapturedHash, Layer, Ordinal } from '../ordinals.js'
import type { Pin } from '../pin.js'
import { entriesAt, pairsOf, type Store } from '../store.js'
import type { Equal } from './index-types.js'
import { Int32List } from './int32-list.js'
import { MovedScalars, Moves } from './moves.js'
import { type OrdinalList, OrdinalLists } from './ordinal-lists.js'
import { copyScalar, isScalar, type Scalar, ScalarMap, sameScalar, scalarsOf } from './scalar.js'
import type { HashBase, OrderBase, StoreIndex } from './store-index.js'

export interface Bucket<T> extends OrdinalList {
  readonly id: number
  readonly value: Scalar
  /** The objects in the same order: created at the first read, and maintained while there are reads. */
  objects: T[] | undefined
  /** The copy of `objects` that readers share, until the next write. */
  shared: readonly T[] | undefined
  writes: number
}

/** After this many writes for each object without a read, the objects of a bucket are released. */
const FORGET_AFTER = 8

/** Buckets of ordinals. An ordinal is removed by moving the last one of the bucket into its position. */
export abstract class HashIndex<T, Value = unknown> implements StoreIndex<T> {
  readonly store: Store<T>
  readonly valueFor: (entry: Entry<T>) => Value
  readonly #byValue: ScalarMap<Bucket<T>>
  /** By id. No bucket has id 0. */
  readonly #buckets: (Bucket<T> | undefined)[] = [undefined]
  readonly #freeIds: number[] = []
  readonly #lists = new OrdinalLists()
  readonly #moves = new Moves<Scalar, MovedScalars>(() => new MovedScalars())
  /** The packed entries below those of the store. */
  #base: HashBase<T> | undefined

  constructor(store: Store<T>, of: (entry: Entry<T>) => Value, nameOf?: () => string) {
    this.store = store
    this.valueFor = of
    this.#byValue = new ScalarMap(nameOf)
  }

  abstract set(ordinal: Ordinal, entry: Entry<T>): void
  abstract delete(ordinal: Ordinal): void
  protected abstract captured(): CapturedHash['each']
  protected abstract ownValueAt(ordinal: Ordinal): Value
  /** Called after the element `ordinal` was moved to `position` of `bucket`. */
  protected abstract moved(ordinal: Ordinal, bucket: Bucket<T>, position: number): void

  clear(): void {
    this.#byValue.clear()
    this.#buckets.length = 1
    this.#freeIds.length = 0
    this.#lists.clear()
  }

  setBase(base?: HashBase<T> | OrderBase): void {
    this.#base = base?.kind === 'hash' ? base : undefined
  }

  capture(): CapturedHash | undefined {
    if (this.#base !== undefined) return undefined
    return { kind: 'hash', values: this.#buckets.map((bucket) => bucket?.value), each: this.captured() }
  }

  valueAt(ordinal: Ordinal): Value | undefined {
    if (ordinal >= 0) return this.ownValueAt(ordinal)
    const entry = this.store.entryAt(ordinal)
    return entry && this.valueFor(entry)
  }

  includes(remembered: unknown, value: Scalar): boolean {
    if (isScalar(remembered)) return sameScalar(remembered, value)
    return scalarsOf(remembered).some((each) => sameScalar(each, value))
  }

  get valueCount(): number | undefined {
    return this.#base === undefined ? this.#byValue.size : undefined
  }

  *buckets(): Generator<readonly [value: Scalar, count: number]> {
    if (this.#base === undefined) {
      for (const { value, length } of this.#byValue.values()) yield [value, length]
    } else for (const value of this.#values(undefined)) yield [value, this.#count(value, undefined)]
  }

  protected bucketWith(id: number): Bucket<T> | undefined {
    return this.#buckets[id]
  }

  protected bucketOf(value: Scalar): Bucket<T> {
    const found = this.#byValue.get(value)
    if (found !== undefined) return found
    const id = this.#freeIds.pop() ?? this.#buckets.length
    const bucket = { id, value, last: 0, length: 0, objects: undefined, shared: undefined, writes: 0 }
    this.#byValue.set(value, bucket)
    this.#buckets[id] = bucket
    return bucket
  }

  protected add(bucket: Bucket<T>, ordinal: Ordinal, object: T): number {
    objectsToWrite(bucket)?.push(object)
    return this.#lists.push(bucket, ordinal)
  }

  protected replace(bucket: Bucket<T>, position: number, object: T): void {
    const objects = objectsToWrite(bucket)
    if (objects !== undefined) objects[this.#lists.countBefore(position)] = object
  }

  protected remove(bucket: Bucket<T>, position: number): void {
    const objects = objectsToWrite(bucket)
    const object = objects?.pop() as T
    const { last } = bucket
    const ordinal = this.#lists.get(last)
    this.#lists.pop(bucket)
    if (bucket.length === 0) {
      this.#byValue.delete(bucket.value)
      this.#buckets[bucket.id] = undefined
      this.#freeIds.push(bucket.id)
      return
    }
    if (position === last) return
    this.#lists.set(position, ordinal)
    if (objects !== undefined) objects[this.#lists.countBefore(position)] = object
    this.moved(ordinal, bucket, position)
  }

  /** Returns the public function of the index, over the store or over a pin. */
  accessor<V extends Scalar>(of?: Pin<T>): Equal<T, V> {
    const tracked = (): Equal<T, V> | undefined =>
      of === undefined ? (this.store.tracked?.accessorOf(this) as Equal<T, V> | undefined) : undefined
    const entriesWith = (value: V): readonly Entry<T>[] => {
      const pin = of ?? this.store.heldPin
      return entriesAt(this.#ordinals(value, pin), pin ?? this.store)
    }
    const objects = (value: V): readonly T[] => {
      const recorded = tracked()
      if (recorded !== undefined) return recorded(value)
      if (of !== undefined || this.store.heldPin !== undefined) return entriesWith(value).map((entry) => entry.object)
      if (this.#base !== undefined)
        return this.#base.shared(value, () => this.store.freezeShared(entriesWith(value).map((entry) => entry.object)))
      const bucket = this.#bucketNow(value)
      return bucket === undefined ? [] : this.#objectsOf(bucket)
    }
    return Object.assign(objects, {
      entries: (value: V) => tracked()?.entries(value) ?? pairsOf(entriesWith(value)),
      count: (value: V) => tracked()?.count(value) ?? this.#count(value, of ?? this.store.heldPin),
      values: () => tracked()?.values() ?? (this.#values(of ?? this.store.heldPin) as V[]),
    })
  }

  ordinalsWith(value: Scalar): readonly Ordinal[] {
    return this.#ordinals(value, this.store.heldPin)
  }

  /** Returns the ordinals that have a value now, or had it when a pin was created. */
  #ordinals(value: Scalar, pin: Pin<T> | undefined): readonly Ordinal[] {
    const bucket = this.#bucketNow(value)
    const layer = pin?.layer
    const packed = pin?.hasBase === false ? [] : (this.#base?.ordinalsWith(value, layer) ?? [])
    // A pin of packed content alone does not see what the store is filled with.
    if (pin?.ordinalLimit === 0) return packed
    let ordinals = bucket === undefined ? [] : this.#lists.ordinalsOf(bucket)
    if (layer !== undefined) {
      ordinals = ordinals.filter((each) => !this.#moves.isMoved(layer, each))
      for (const records of this.#moves.since(layer)) records.collect(value, layer.id, ordinals)
    }
    return packed.length === 0 ? ordinals : [...packed, ...ordinals]
  }

  #count(value: Scalar, pin: Pin<T> | undefined): number {
    if (pin !== undefined || this.#base !== undefined) return this.#ordinals(value, pin).length
    return this.#bucketNow(value)?.length ?? 0
  }

  /** Returns the values that objects have now, or had when a pin was created. */
  #values(pin: Pin<T> | undefined): Scalar[] {
    this.store.indexes.assertIntact()
    if (pin === undefined && this.#base === undefined)
      return Array.from(this.#byValue.values(), ({ value }) => copyScalar(value))
    const layer = pin?.layer
    const seen = new ScalarMap<Scalar>()
    const add = (value: Scalar): void => void seen.set(value, copyScalar(value))
    if (pin?.hasBase !== false) for (const value of this.#base?.values(layer) ?? []) add(value)
    if (pin?.ordinalLimit === 0) return [...seen.values()]
    for (const bucket of this.#byValue.values()) {
      const isIn = (ordinal: Ordinal): boolean => layer === undefined || !this.#moves.isMoved(layer, ordinal)
      if (this.#lists.some(bucket, isIn)) add(bucket.value)
    }
    if (layer === undefined) return [...seen.values()]
    for (const records of this.#moves.since(layer)) for (const value of records.values(layer.id)) add(value)
    return [...seen.values()]
  }

  merge(closed: Layer, older: Layer): void {
    this.#moves.merge(closed, older)
  }

  protected recordMove(ordinal: Ordinal): void {
    const layer = this.store.recordingLayer
    if (layer !== undefined) this.#moves.record(layer, ordinal, scalarsOf(this.ownValueAt(ordinal)))
  }

  #bucketNow(value: Scalar): Bucket<T> | undefined {
    this.store.indexes.assertIntact()
    return this.#byValue.get(value)
  }

  #objectsOf(bucket: Bucket<T>): readonly T[] {
    bucket.writes = 0
    bucket.objects ??= this.#lists.ordinalsOf(bucket).map((ordinal) => this.store.entryAt(ordinal)?.object as T)
    bucket.shared ??= this.store.freezeShared(bucket.objects.slice())
    return bucket.shared
  }
}

export class EqualIndex<T> extends HashIndex<T, Scalar | undefined> {
  /** Two numbers for each ordinal, next to each other in memory: the id of its bucket, and its position there. */
  readonly #places = new Int32List()

  set(ordinal: Ordinal, entry: Entry<T>): void {
    const value = this.valueFor(entry)
    const old = this.#bucketAt(ordinal)
    if (old !== undefined && value !== undefined && sameScalar(old.value, value)) {
      if (old.objects !== undefined) this.replace(old, this.#positionAt(ordinal), entry.object)
      return
    }
    this.recordMove(ordinal)
    if (old !== undefined) this.remove(old, this.#positionAt(ordinal))
    if (value === undefined) {
      this.#places.set(2 * ordinal, 0)
      return
    }
    const bucket = this.bucketOf(value)
    this.#places.set(2 * ordinal, bucket.id)
    this.#places.set(2 * ordinal + 1, this.add(bucket, ordinal, entry.object))
  }

  delete(ordinal: Ordinal): void {
    this.recordMove(ordinal)
    const bucket = this.#bucketAt(ordinal)
    if (bucket !== undefined) this.remove(bucket, this.#positionAt(ordinal))
    this.#places.set(2 * ordinal, 0)
  }

  protected ownValueAt(ordinal: Ordinal): Scalar | undefined {
    return this.#bucketAt(ordinal)?.value
  }

  #bucketAt(ordinal: Ordinal): Bucket<T> | undefined {
    return this.bucketWith(this.#places.get(2 * ordinal))
  }

  #positionAt(ordinal: Ordinal): number {
    return this.#places.get(2 * ordinal + 1)
  }

  protected captured(): CapturedHash['each'] {
    const places = this.#places.copy()
    return (ordinal, visit) => {
      const id = places[2 * ordinal] ?? 0
      if (id !== 0) visit(id)
    }
  }

  override clear(): void {
    super.clear()
    this.#places.clear()
  }

  protected moved(ordinal: Ordinal, _bucket: Bucket<T>, position: number): void {
    this.#places.set(2 * ordinal + 1, position)
  }
}

/** Returns the maintained objects of a bucket before a write, or undefined if they are not maintained. */
function objectsToWrite<T>(bucket: Bucket<T>): T[] | undefined {
  if (bucket.objects === undefined) return undefined
  bucket.shared = undefined
  if (++bucket.writes > FORGET_AFTER * bucket.length) bucket.objects = undefined
  return bucket.objects
}
