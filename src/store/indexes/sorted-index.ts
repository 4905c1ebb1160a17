import { OptionError } from '../../contract/errors.js'
import type { Entry } from '../../contract/source.js'
import type { Steps } from '../../util/steps.js'
import { checkOptions, isBoolean, isCount, isString } from '../../util/validate-options.js'
import type { CapturedOrder, Layer, Ordinal } from '../ordinals.js'
import type { Pin } from '../pin.js'
import { entriesAt, pairsOf, type Store } from '../store.js'
import type { Compound, IndexRange, Ordered } from './index-types.js'
import { MovedTuples, Moves, type OrdinalTuple } from './moves.js'
import type { Run, SlotOrder } from './order/slot-order.js'
import {
  compareElements,
  compareHead,
  compareTuples,
  type Keyed,
  SortedTuples,
  type Span,
  type Tuple,
} from './order/sorted-tuples.js'
import { compareScalars, copyScalar, isScalar, isScalars, kindOf, type Scalar, TYPES, typeOf } from './scalar.js'
import type { HashBase, OrderBase, StoreIndex } from './store-index.js'

/** Entries in the order of their tuples, then of their keys. An ordered index has tuples with one component. */
export class SortedIndex<T> implements StoreIndex<T> {
  readonly valueFor: (entry: Entry<T>) => Tuple | undefined
  readonly #store: Store<T>
  readonly #nameOf: () => string
  readonly #tuples = new SortedTuples((chunk) => this.#objects.changed(chunk))
  readonly #objects: ChunkObjects<T>
  readonly #moves = new Moves<Keyed, MovedTuples>(() => new MovedTuples())
  /** The packed entries below those of the store. */
  #base: OrderBase | undefined

  constructor(store: Store<T>, of: (entry: Entry<T>) => Tuple | undefined, nameOf?: () => string) {
    this.#store = store
    this.#nameOf = nameOf ?? (() => 'an index')
    this.valueFor = of
    this.#objects = new ChunkObjects(this.#tuples.order, (ordinal) => store.entryAt(ordinal)?.object as T)
  }

  set(ordinal: Ordinal, entry: Entry<T>): void {
    const tuple = this.valueFor(entry)
    if (tuple === undefined) this.delete(ordinal)
    else if (this.#tuples.equals(ordinal, tuple)) this.#objects.changed(this.#tuples.order.chunkOf(ordinal))
    else {
      this.#recordMove(ordinal)
      this.#tuples.set(ordinal, tuple, entry.key)
    }
  }

  delete(ordinal: Ordinal): void {
    this.#recordMove(ordinal)
    this.#tuples.delete(ordinal)
  }

  merge(closed: Layer, older: Layer): void {
    this.#moves.merge(closed, older)
  }

  setBase(base?: HashBase<T> | OrderBase): void {
    this.#base = base?.kind === 'sorted' ? base : undefined
  }

  valueAt(ordinal: Ordinal): Tuple | undefined {
    if (ordinal < 0) {
      const entry = this.#store.entryAt(ordinal)
      return entry && this.valueFor(entry)
    }
    return this.#tuples.has(ordinal) ? this.#tuples.tupleAt(ordinal) : undefined
  }

  /** It is fast if the index is prepared. */
  capture(): CapturedOrder | undefined {
    return this.#base === undefined ? { kind: 'sorted', ...this.#tuples.capture() } : undefined
  }

  prepare(): Steps {
    return this.#tuples.prepare()
  }

  includes(remembered: unknown, value: Tuple): boolean {
    return isScalars(remembered) && compareHead(remembered, value) === 0
  }

  clear(): void {
    this.#tuples.clear()
    this.#objects.clear()
  }

  buckets(): Iterable<readonly [value: Tuple, count: number]> | undefined {
    return this.#tuples.isSorted ? this.#runs() : undefined
  }

  *#runs(): Generator<readonly [value: Tuple, count: number]> {
    let value: Tuple | undefined
    let count = 0
    for (const { tuple } of this.#elements(everything, false, Infinity)) {
      if (value !== undefined && compareTuples(value, tuple) === 0) count++
      else {
        if (value !== undefined) yield [value, count]
        value = tuple
        count = 1
      }
    }
    if (value !== undefined) yield [value, count]
  }

  /** Returns the ordinals whose tuple starts with `value`, in the state that readers see. */
  ordinalsWith(value: Tuple): readonly Ordinal[] {
    return this.#ordinals(equalTo(value), {}, this.#store.heldPin)
  }

  /** Returns the public function of an index with one component, over the store or over a pin. */
  ordered<V extends Scalar>(pin?: Pin<T>): Ordered<T, V> {
    const tracked = (): Ordered<T, V> | undefined =>
      pin === undefined ? (this.#store.tracked?.accessorOf(this) as Ordered<T, V> | undefined) : undefined
    const entriesIn = (range: IndexRange<V> & { readonly prefix?: string } = {}): readonly Entry<T>[] => {
      this.#checkRange(range, PREFIX_RANGE, [], pin)
      return this.#select(spanOf([], range), range, pin)
    }
    const objects = (range: IndexRange<V> & { readonly prefix?: V & string } = {}): readonly T[] => {
      const recorded = tracked()
      if (recorded !== undefined) return recorded(range)
      this.#checkRange(range, PREFIX_RANGE, [], pin)
      return this.#selectObjects(spanOf([], range), range, pin)
    }
    return Object.assign(objects, {
      entriesIn: (range?: IndexRange<V>) => tracked()?.entriesIn(range) ?? pairsOf(entriesIn(range)),
      entries: (value: V) => tracked()?.entries(value) ?? pairsOf(this.#select(equalTo([value]), {}, pin)),
      count: (value: V) => tracked()?.count(value) ?? this.#count(equalTo([value]), pin),
      values: () => tracked()?.values() ?? this.#distinct(pin).map(([value]) => copyScalar(value as V)),
    })
  }

  /** Returns the public function of an index with several components, over the store or over a pin. */
  compound<V extends readonly Scalar[]>(pin?: Pin<T>): Compound<T, V> {
    const prefixOf = (prefix: unknown): Tuple => {
      if (isScalars(prefix)) return prefix
      const got = Array.isArray(prefix) ? `[${prefix.map(typeOf).join(', ')}]` : typeOf(prefix)
      throw new TypeError(`${this.#nameOf()}: the prefix must be an array of scalars, such as ['acme'], got ${got}`)
    }
    const tracked = (): Compound<T, V> | undefined =>
      pin === undefined ? (this.#store.tracked?.accessorOf(this) as Compound<T, V> | undefined) : undefined
    const objects = (of: unknown, range: IndexRange<Scalar> = {}): readonly T[] => {
      const prefix = prefixOf(of)
      const recorded = tracked()
      if (recorded !== undefined) return (recorded as ReadsOfPrefix<T>)(prefix, range)
      this.#checkRange(range, RANGE, prefix, pin)
      return this.#selectObjects(spanOf(prefix, range), range, pin)
    }
    return Object.assign(objects, {
      entries: (of: Partial<V>) => tracked()?.entries(of) ?? pairsOf(this.#select(equalTo(prefixOf(of)), {}, pin)),
      count: (of: Partial<V>) => tracked()?.count(of) ?? this.#count(equalTo(prefixOf(of)), pin),
      values: () =>
        tracked()?.values() ?? (this.#distinct(pin).map((value) => value.map(copyScalar)) as unknown as V[]),
    }) as Compound<T, V>
  }

  lastIn(head: Tuple, range: SortedRange): Keyed | undefined {
    let last: Keyed | undefined
    for (const each of this.#elements(spanOf(head, range), range.reverse ?? false, range.limit ?? Infinity)) last = each
    return last
  }

  /** A bound of another type than all values would select everything or nothing. */
  #checkRange(range: IndexRange<Scalar>, checks: typeof RANGE, head: Tuple, pin: Pin<T> | undefined): void {
    checkOptions(this.#nameOf, range, checks)
    this.#store.indexes.assertIntact()
    for (const [option, bound] of Object.entries(range)) {
      const kind = kindOf(bound)
      const type = TYPES.get(kind)
      if (option === 'reverse' || option === 'limit' || type === undefined || this.#hasKind(head, kind, pin)) continue
      const others = [...TYPES].filter(([each]) => this.#hasKind(head, each, pin)).map(([, name]) => name)
      if (others.length === 0) continue
      const what = `option "${option}" is a ${type}, but the values have the type ${others.join(' or ')}`
      throw new OptionError(`${this.#nameOf()}: ${what}`, { option })
    }
  }

  /** Whether a value of this kind follows `head` in a tuple. */
  #hasKind(head: Tuple, kind: number, pin: Pin<T> | undefined = this.#store.heldPin): boolean {
    const orderOf = (each: Tuple): number => compareHead(each, head) || kindOf(each[head.length]) - kind
    const span = { isBefore: (each: Tuple) => orderOf(each) < 0, isWithin: (each: Tuple) => orderOf(each) === 0 }
    if (pin !== undefined || this.#base !== undefined) {
      for (const _ of this.#elements(span, false, 1, pin)) return true
      return false
    }
    return this.#walk(span, false)() >= 0
  }

  #selectObjects(span: Span, range: IndexRange<unknown>, pin: Pin<T> | undefined = this.#store.heldPin): readonly T[] {
    if (pin !== undefined || this.#base !== undefined)
      return this.#select(span, range, pin).map((entry) => entry.object)
    this.#store.indexes.assertIntact()
    const { reverse = false, limit = Infinity } = range
    return this.#objects.read(this.#runsIn(span, reverse, limit), reverse)
  }

  #select(span: Span, range: IndexRange<unknown>, pin: Pin<T> | undefined = this.#store.heldPin): readonly Entry<T>[] {
    return entriesAt(this.#ordinals(span, range, pin), pin ?? this.#store)
  }

  #ordinals(
    span: Span,
    { reverse = false, limit = Infinity }: IndexRange<unknown>,
    pin: Pin<T> | undefined,
  ): readonly Ordinal[] {
    this.#store.indexes.assertIntact()
    if (pin === undefined && this.#base === undefined)
      return this.#tuples.order.slotsOf(this.#runsIn(span, reverse, limit), reverse)
    return Array.from(this.#elements(span, reverse, limit, pin), ({ ordinal }) => ordinal)
  }

  /** Returns the elements of the store or of a pin in order, those of the base included. */
  #elements(span: Span, reverse: boolean, limit: number, pin?: Pin<T>): Iterable<OrdinalTuple> {
    const own = pin === undefined ? this.#own(span, reverse, limit) : this.#pinned(pin, span, reverse, limit)
    if (this.#base === undefined || pin?.hasBase === false) return own
    return this.#base.merged(own, { span, reverse, limit }, pin?.layer)
  }

  *#own(span: Span, reverse: boolean, limit: number): Iterable<OrdinalTuple> {
    const next = this.#walk(span, reverse)
    let left = limit
    for (let ordinal = next(); ordinal >= 0 && left > 0; ordinal = next(), left--)
      yield { ordinal, tuple: this.#tuples.tupleAt(ordinal), key: this.#tuples.keyAt(ordinal) }
  }

  /** Merges elements that have not moved since with the recorded values of others, up to the limit. */
  *#pinned(pin: Pin<T>, span: Span, reverse: boolean, limit: number): Iterable<OrdinalTuple> {
    const { layer } = pin
    // A pin of packed content alone does not see what the store is filled with.
    if (pin.ordinalLimit === 0) return
    const sign = reverse ? -1 : 1
    const moved = [...this.#moves.since(layer)].flatMap((records) => records.in(span, reverse, limit, layer.id))
    moved.sort((a, b) => sign * compareElements(a, b))
    this.#tuples.sort()
    const next = this.#tuples.walk(span, reverse)
    let ordinal = next()
    let at = 0
    for (let left = limit; left > 0; ) {
      const before = moved[at]
      if (before !== undefined && (ordinal < 0 || sign * this.#tuples.compareTo(ordinal, before) > 0)) {
        yield before
        at++
        left--
      } else if (ordinal < 0) return
      else {
        if (!this.#moves.isMoved(layer, ordinal)) {
          yield { ordinal, tuple: this.#tuples.tupleAt(ordinal), key: this.#tuples.keyAt(ordinal) }
          left--
        }
        ordinal = next()
      }
    }
  }

  #recordMove(ordinal: Ordinal): void {
    const layer = this.#store.recordingLayer
    if (layer === undefined) return
    const tuples = this.#tuples
    const was = tuples.has(ordinal) ? [{ tuple: tuples.tupleAt(ordinal), key: tuples.keyAt(ordinal) }] : []
    this.#moves.record(layer, ordinal, was)
  }

  #runsIn(span: Span, reverse: boolean, limit: number): readonly Run[] {
    this.#tuples.sort()
    return this.#tuples.order.runs(...this.#tuples.boundsOf(span), reverse, limit)
  }

  #walk(span: Span, reverse: boolean): () => Ordinal {
    this.#tuples.sort()
    return this.#tuples.walk(span, reverse)
  }

  #count(span: Span, pin: Pin<T> | undefined = this.#store.heldPin): number {
    this.#store.indexes.assertIntact()
    if (pin !== undefined) return [...this.#elements(span, false, Infinity, pin)].length
    this.#tuples.sort()
    return this.#tuples.order.count(...this.#tuples.boundsOf(span)) + (this.#base?.count(span) ?? 0)
  }

  #distinct(pin: Pin<T> | undefined = this.#store.heldPin): Tuple[] {
    this.#store.indexes.assertIntact()
    const values: Tuple[] = []
    const add = (value: Tuple): void => {
      const last = values.at(-1)
      if (last === undefined || compareTuples(last, value) !== 0) values.push(value)
    }
    if (pin !== undefined || this.#base !== undefined)
      for (const { tuple } of this.#elements(everything, false, Infinity, pin)) add(tuple)
    else {
      const next = this.#walk(everything, false)
      for (let ordinal = next(); ordinal >= 0; ordinal = next()) add(this.#tuples.tupleAt(ordinal))
    }
    return values
  }
}

type ReadsOfPrefix<T> = (prefix: Tuple, range: IndexRange<Scalar>) => readonly T[]

const isBound = (value: unknown): string | undefined => {
  if (!isScalar(value)) return 'must be a scalar'
  return value instanceof Date && Number.isNaN(value.getTime()) ? 'must be a valid Date' : undefined
}
const RANGE = { gt: isBound, gte: isBound, lt: isBound, lte: isBound, reverse: isBoolean, limit: isCount }
const PREFIX_RANGE = { ...RANGE, prefix: isString }

const everything: Span = { isBefore: () => false, isWithin: () => true }

function equalTo(value: Tuple): Span {
  return {
    isBefore: (each) => compareHead(each, value) < 0,
    isWithin: (each) => compareHead(each, value) === 0,
  }
}

/** A range of the component after the head of a read. `prefix` is for strings. */
export type SortedRange = IndexRange<Scalar> & { readonly prefix?: string | undefined }

export function spanOf(head: Tuple, range: SortedRange): Span {
  const { gt, gte, lt, lte, prefix } = range
  const at = head.length
  const isBounded = [gt, gte, lt, lte, prefix].some((bound) => bound !== undefined)
  const isBefore = (each: Scalar | undefined): boolean => {
    if (each === undefined) return isBounded // A tuple that ends here comes first, outside every range.
    if (gt !== undefined && compareScalars(each, gt) <= 0) return true
    if (gte !== undefined && compareScalars(each, gte) < 0) return true
    return prefix !== undefined && compareScalars(each, prefix) < 0
  }
  const isWithin = (each: Scalar | undefined): boolean => {
    if (each === undefined) return true
    if (lt !== undefined && compareScalars(each, lt) >= 0) return false
    if (lte !== undefined && compareScalars(each, lte) > 0) return false
    return prefix === undefined || (typeof each === 'string' && each.startsWith(prefix))
  }
  return {
    isBefore: (each) => {
      const order = compareHead(each, head)
      return order < 0 || (order === 0 && isBefore(each[at]))
    },
    isWithin: (each) => compareHead(each, head) === 0 && isWithin(each[at]),
  }
}

/** The reads of a chunk since its last change, and its objects. */
interface Chunk<T> {
  /** The number of elements that ranges have read. */
  reads: number
  /** Its objects in order, if ranges have read as many elements as it has. */
  objects: readonly T[] | undefined
}

/** Objects next to each other in memory, so that a range that is read again does not wait for each of them. */
class ChunkObjects<T> {
  readonly #order: SlotOrder
  readonly #objectAt: (slot: number) => T
  readonly #chunks = new Map<number, Chunk<T>>()

  constructor(order: SlotOrder, objectAt: (slot: number) => T) {
    this.#order = order
    this.#objectAt = objectAt
  }

  read(runs: readonly Run[], reverse: boolean): readonly T[] {
    const found: T[] = []
    for (const run of runs) {
      const objects = this.#objectsOf(run)
      const { from, to } = run
      if (objects === undefined)
        for (const slot of this.#order.slotsOf([run], reverse)) found.push(this.#objectAt(slot))
      else if (reverse) for (let at = to - 1; at >= from; at--) found.push(objects[at] as T)
      else for (let at = from; at < to; at++) found.push(objects[at] as T)
    }
    return found
  }

  /** Called when the elements of a chunk change, or an object of it. */
  changed(id: number): void {
    if (this.#chunks.size > 0) this.#chunks.delete(id)
  }

  clear(): void {
    this.#chunks.clear()
  }

  #objectsOf({ id, from, to }: Run): readonly T[] | undefined {
    let chunk = this.#chunks.get(id)
    if (chunk === undefined) {
      chunk = { reads: 0, objects: undefined }
      this.#chunks.set(id, chunk)
    }
    if (chunk.objects !== undefined) return chunk.objects
    const length = this.#order.lengthOf(id)
    chunk.reads += to - from
    // Before that, most reads of a chunk that changes often would read the rest of it in vain.
    if (chunk.reads < length) return undefined
    const objects = new Array<T>(length)
    for (let at = 0; at < length; at++) objects[at] = this.#objectAt(this.#order.slotAt(id, at))
    chunk.objects = objects
    return objects
  }
}
