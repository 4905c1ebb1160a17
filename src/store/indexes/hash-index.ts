import type { Entry } from '../../contract/source.js'
import type { CapturedHash, Layer, Ordinal } from '../ordinals.js'
import type { Pin, StoreReads, TrackedReads } from '../pin.js'
import { pairsOf, type Store } from '../store.js'
import type { Equal } from './index-types.js'
import { Int32List } from './int32-list.js'
import { MovedScalars, Moves } from './moves.js'
import { type OrdinalList, OrdinalLists } from './ordinal-lists.js'
import { copyScalar, isScalar, type Scalar, ScalarMap, sameScalar } from './scalar.js'
import type { HashBase, OrderBase, StoreIndex } from './store-index.js'

/** All objects with one index value. */
export interface Bucket<T> extends OrdinalList {
  readonly id: number
  readonly value: Scalar
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
export abstract class HashIndex<T> implements StoreIndex<T> {
  readonly store: Store<T>
  readonly #byValue: ScalarMap<Bucket<T>>
  /** By id. No bucket has id 0. */
  readonly #buckets: (Bucket<T> | undefined)[] = [undefined]
  readonly #freeIds: number[] = []
  /** The ordinals of each bucket. */
  readonly #lists = new OrdinalLists()
  readonly #moves = new Moves<Scalar, MovedScalars>(() => new MovedScalars())
  /** The packed entries below those of the store. */
  #base: HashBase<T> | undefined

  constructor(store: Store<T>, nameOf?: () => string) {
    this.store = store
    this.#byValue = new ScalarMap(nameOf)
  }

  abstract set(ordinal: Ordinal, entry: Entry<T>): void
  abstract delete(ordinal: Ordinal): void
  abstract valueFor(entry: Entry<T>): unknown
  protected abstract captured(): CapturedHash
  protected abstract ownValueAt(ordinal: Ordinal): unknown
  protected abstract valuesOf(ordinal: Ordinal): readonly Scalar[]
  abstract includes(remembered: unknown, value: Scalar): boolean
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
    return this.#base === undefined ? this.captured() : undefined
  }

  valueAt(ordinal: Ordinal): unknown {
    return ordinal < 0 ? this.#packedValueAt(ordinal) : this.ownValueAt(ordinal)
  }

  #packedValueAt(ordinal: Ordinal): unknown {
    const entry = this.store.entryAt(ordinal)
    return entry === undefined ? undefined : this.valueFor(entry)
  }

  get valueCount(): number | undefined {
    return this.#base === undefined ? this.#byValue.size : undefined
  }

  *buckets(): Generator<readonly [value: Scalar, count: number]> {
    if (this.#base === undefined) {
      for (const { value, length } of this.#byValue.values()) yield [value, length]
    } else for (const value of this.#currentValues(this.#base)) yield [value, this.#current(value, this.#base).length]
  }

  /** Returns the values of all buckets, by id. */
  protected captureValues(): readonly (Scalar | undefined)[] {
    return this.#buckets.map((bucket) => bucket?.value)
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

  /** Returns the public function of the index. */
  accessor<V extends Scalar>(): Equal<T, V> {
    const objects = (value: V): readonly T[] => {
      if (this.store.held !== undefined) return this.#accessorAtHeld<V>(this.store.held)(value)
      if (this.#base !== undefined) return this.#mergedObjects(value, this.#base)
      const bucket = this.#visible(value)
      return bucket === undefined ? [] : this.#objectsOf(bucket)
    }
    const count = (value: V): number => {
      if (this.store.held !== undefined) return this.#accessorAtHeld<V>(this.store.held).count(value)
      if (this.#base !== undefined) return this.#current(value, this.#base).length
      return this.#visible(value)?.length ?? 0
    }
    const values = (): Iterable<V> => {
      if (this.store.held !== undefined) return this.#accessorAtHeld<V>(this.store.held).values()
      if (this.#base !== undefined) return Array.from(this.#currentValues(this.#base), (value) => value as V)
      return this.#isReadable ? Array.from(this.#byValue.values(), ({ value }) => copyScalar(value) as V) : []
    }
    const entries = (value: V): ReturnType<Equal<T, V>['entries']> => {
      if (this.store.held !== undefined) return this.#accessorAtHeld<V>(this.store.held).entries(value)
      return pairsOf(entriesAt(this.ordinalsWith(value), this.store.readers))
    }
    return Object.assign(objects, { entries, count, values })
  }

  #accessorAtHeld<V extends Scalar>(held: Pin<T> | TrackedReads<T>): Equal<T, V> {
    return 'accessorOf' in held ? (held.accessorOf(this) as Equal<T, V>) : this.accessorAt<V>(held)
  }

  /** Returns the public function of the index over a pin. */
  accessorAt<V extends Scalar>(pin: Pin<T>): Equal<T, V> {
    const found = (value: V): readonly Entry<T>[] => entriesAt(this.#pinned(pin, value), pin)
    const values = (): V[] => {
      this.store.assertIndexed()
      const { layer } = pin
      const seen = new ScalarMap<V>()
      if (pin.hasBase) for (const value of this.#base?.values(layer) ?? []) seen.set(value, value as V)
      if (pin.ordinalLimit === 0) return [...seen.values()]
      for (const bucket of this.#byValue.values()) {
        if (this.#lists.some(bucket, (ordinal) => !this.#moves.isMoved(layer, ordinal)))
          seen.set(bucket.value, copyScalar(bucket.value) as V)
      }
      for (const records of this.#moves.since(layer)) {
        for (const value of records.values(layer.id)) seen.set(value, copyScalar(value) as V)
      }
      return [...seen.values()]
    }
    const objects = (value: V): readonly T[] => found(value).map((entry) => entry.object)
    const entries = (value: V): ReturnType<Equal<T, V>['entries']> => pairsOf(found(value))
    return Object.assign(objects, { entries, values, count: (value: V) => this.#pinned(pin, value).length })
  }

  /** Returns the ordinals that had a value when a pin was created. */
  #pinned(pin: Pin<T>, value: Scalar): readonly Ordinal[] {
    this.store.assertIndexed()
    const { layer } = pin
    const packed = pin.hasBase ? (this.#base?.ordinalsWith(value, layer) ?? []) : []
    // A pin of packed content alone does not see what the store is filled with.
    if (pin.ordinalLimit === 0) return packed
    const ordinals = this.#ordinalsOf(this.#byValue.get(value)).filter((each) => !this.#moves.isMoved(layer, each))
    for (const records of this.#moves.since(layer)) records.collect(value, layer.id, ordinals)
    return packed.length === 0 ? ordinals : [...packed, ...ordinals]
  }

  /** Returns the ordinals that have a value now, those of the base included. */
  #current(value: Scalar, base: HashBase<T>): Ordinal[] {
    return [...base.ordinalsWith(value), ...this.#ordinalsOf(this.#visible(value))]
  }

  #currentValues(base: HashBase<T>): Iterable<Scalar> {
    this.store.assertIndexed()
    const seen = new ScalarMap<Scalar>()
    for (const value of base.values()) seen.set(value, value)
    for (const { value } of this.#byValue.values()) seen.set(value, copyScalar(value))
    return seen.values()
  }

  #mergedObjects(value: Scalar, base: HashBase<T>): readonly T[] {
    return base.shared(value, () => {
      const entries = entriesAt(this.#current(value, base), this.store)
      return this.store.freezeShared(entries.map((entry) => entry.object))
    })
  }

  merge(closed: Layer, older: Layer): void {
    this.#moves.merge(closed, older)
  }

  /** Called before the values of an ordinal change. */
  protected recordMove(ordinal: Ordinal): void {
    const layer = this.store.recordingLayer
    if (layer !== undefined) this.#moves.record(layer, ordinal, this.valuesOf(ordinal))
  }

  /** Returns the ordinals with a value in the state that readers see. */
  ordinalsWith(value: Scalar): readonly Ordinal[] {
    const held = this.store.heldPin
    if (held !== undefined) return this.#pinned(held, value)
    if (this.#base !== undefined) return this.#current(value, this.#base)
    return this.#ordinalsOf(this.#visible(value))
  }

  #ordinalsOf(bucket: Bucket<T> | undefined): Ordinal[] {
    return bucket === undefined ? [] : this.#lists.ordinalsOf(bucket)
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
    bucket.objects ??= this.#lists.ordinalsOf(bucket).map((ordinal) => this.store.entryAt(ordinal)?.object as T)
    bucket.shared ??= this.store.freezeShared(bucket.objects.slice())
    return bucket.shared
  }
}

/** An index with at most one value for each object. */
export class EqualIndex<T> extends HashIndex<T> {
  readonly #of: (entry: Entry<T>) => Scalar | undefined
  /** Two numbers for each ordinal, next to each other in memory: the id of its bucket, and its position there. */
  readonly #places = new Int32List()

  constructor(store: Store<T>, of: (entry: Entry<T>) => Scalar | undefined, nameOf?: () => string) {
    super(store, nameOf)
    this.#of = of
  }

  set(ordinal: Ordinal, entry: Entry<T>): void {
    const value = this.#of(entry)
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

  valueFor(entry: Entry<T>): Scalar | undefined {
    return this.#of(entry)
  }

  protected captured(): CapturedHash {
    const places = this.#places.copy()
    const each = (ordinal: Ordinal, visit: (id: number) => void): void => {
      const id = places[2 * ordinal] ?? 0
      if (id !== 0) visit(id)
    }
    return { kind: 'hash', values: this.captureValues(), each }
  }

  protected valuesOf(ordinal: Ordinal): readonly Scalar[] {
    const value = this.ownValueAt(ordinal)
    return value === undefined ? [] : [value]
  }

  includes(remembered: unknown, value: Scalar): boolean {
    return isScalar(remembered) && sameScalar(remembered, value)
  }

  override clear(): void {
    super.clear()
    this.#places.clear()
  }

  protected moved(ordinal: Ordinal, _bucket: Bucket<T>, position: number): void {
    this.#places.set(2 * ordinal + 1, position)
  }
}

function entriesAt<T>(ordinals: readonly Ordinal[], objects: StoreReads<T>): readonly Entry<T>[] {
  const entries: Entry<T>[] = []
  for (const ordinal of ordinals) {
    const entry = objects.entryAt(ordinal)
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

/** Returns the maintained objects of a bucket before a write, or undefined if they are not maintained. */
function objectsToWrite<T>(bucket: Bucket<T>): T[] | undefined {
  if (bucket.objects === undefined) return undefined
  bucket.shared = undefined
  if (++bucket.writes > FORGET_AFTER * bucket.length) bucket.objects = undefined
  return bucket.objects
}
