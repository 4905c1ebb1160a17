import type { Entry } from '../../contract/source.js'
import { checkOptions, isBoolean, isCount } from '../../util/validate-options.js'
import type { Pin } from '../pin.js'
import { pairsOf, type Store } from '../store.js'
import type { Ordinal, StoreIndex } from '../store-index.js'
import type { Compound, Ordered, Range } from './index-types.js'
import { compareScalars, copyScalar, isScalar, type Scalar } from './scalar.js'
import { compareHead, compareKeys, compareTuples, SortedTuples, type Span, type Tuple } from './sorted-tuples.js'

/**
 * An index of entries in the order of a tuple of scalars, then of their keys. An ordered index has tuples with one
 * component. The order is sorted at the first read, and maintained from then on.
 */
export class SortedIndex<T> implements StoreIndex<T> {
  readonly #store: Store<T>
  readonly #of: (entry: Entry<T>) => Tuple | undefined
  readonly #tuples = new SortedTuples()

  constructor(store: Store<T>, of: (entry: Entry<T>) => Tuple | undefined) {
    this.#store = store
    this.#of = of
  }

  set(ordinal: Ordinal, entry: Entry<T>): void {
    const tuple = this.#of(entry)
    if (tuple === undefined) this.#tuples.delete(ordinal)
    else if (!this.#tuples.equals(ordinal, tuple)) this.#tuples.set(ordinal, tuple, entry.key)
  }

  delete(ordinal: Ordinal): void {
    this.#tuples.delete(ordinal)
  }

  valueAt(ordinal: Ordinal): Tuple | undefined {
    return this.#tuples.has(ordinal) ? this.#tuples.tupleAt(ordinal) : undefined
  }

  prepare(): Iterator<void> {
    return this.#tuples.prepare()
  }

  includes(remembered: unknown, value: Tuple): boolean {
    return remembered !== undefined && compareHead(remembered as Tuple, value) === 0
  }

  clear(): void {
    this.#tuples.clear()
  }

  /** Returns the entries whose tuple starts with `value`. */
  entriesWith(value: Tuple, pin?: Pin<T>): readonly Entry<T>[] {
    return this.#select(equalTo(value), {}, pin)
  }

  /** Returns the public function of an index with one component, over the store or over a pin. */
  ordered<V extends Scalar>(pin?: Pin<T>): Ordered<T, V> {
    const entriesIn = (range: Range<V> & { readonly prefix?: string } = {}): readonly Entry<T>[] => {
      checkOptions('an ordered index', range, PREFIX_RANGE)
      return this.#select(spanOf([], range), range, pin)
    }
    return Object.assign((range?: Range<V> & { readonly prefix?: string }) => objectsOf(entriesIn(range)), {
      entriesIn: (range?: Range<V>) => pairsOf(entriesIn(range)),
      entries: (value: V) => pairsOf(this.entriesWith([value], pin)),
      count: (value: V) => this.#count(equalTo([value]), pin),
      values: () => this.#distinct(pin).map(([value]) => copyScalar(value as V)),
    })
  }

  /** Returns the public function of an index with several components, over the store or over a pin. */
  compound<V extends readonly Scalar[]>(pin?: Pin<T>): Compound<T, V> {
    const objects = (prefix: Partial<V>, range: Range<V[number]> = {}): readonly T[] => {
      if (!Array.isArray(prefix) || !prefix.every(isScalar)) {
        throw new TypeError('a compound index: the prefix must be an array of scalars')
      }
      checkOptions('a compound index', range, RANGE)
      return objectsOf(this.#select(spanOf(prefix as Tuple, range), range, pin))
    }
    return Object.assign(objects, {
      entries: (value: V) => pairsOf(this.entriesWith(value, pin)),
      count: (value: V) => this.#count(equalTo(value), pin),
      values: () => this.#distinct(pin).map((value) => value.map(copyScalar)) as unknown as V[],
    })
  }

  #select(span: Span, { reverse = false, limit = Infinity }: Range<unknown>, pin?: Pin<T>): readonly Entry<T>[] {
    this.#store.assertIndexed()
    const live: Entry<T>[] = []
    const next = this.#walk(span, reverse)
    for (let ordinal = next(); ordinal >= 0 && live.length < limit; ordinal = next()) {
      const entry = pin?.isUnchanged(ordinal) === false ? undefined : this.#store.entryAt(ordinal)
      if (entry !== undefined) live.push(entry)
    }
    return pin === undefined ? live : this.#withOverwritten(live, span, reverse, limit, pin)
  }

  /** Adds the entries that were overwritten since the pin was created, in their order. */
  #withOverwritten(live: Entry<T>[], span: Span, reverse: boolean, limit: number, pin: Pin<T>): readonly Entry<T>[] {
    const all = live.map((entry) => ({ entry, value: this.#valueOf(entry) }))
    for (const { entry, values } of pin.overwritten()) {
      const value = values.get(this) as Tuple | undefined
      if (value !== undefined && !span.isBefore(value) && span.isWithin(value)) all.push({ entry, value })
    }
    const sign = reverse ? -1 : 1
    all.sort((a, b) => sign * (compareTuples(a.value, b.value) || compareKeys(a.entry.key, b.entry.key)))
    return all.slice(0, limit).map(({ entry }) => entry)
  }

  #valueOf(entry: Entry<T>): Tuple {
    const ordinal = this.#store.ordinalOf(entry.key)
    return (ordinal === undefined ? undefined : this.valueAt(ordinal)) ?? []
  }

  #walk(span: Span, reverse: boolean): () => Ordinal {
    if (!this.#store.isVisible) return () => -1
    this.#tuples.sort()
    return this.#tuples.walk(span, reverse)
  }

  #count(span: Span, pin: Pin<T> | undefined): number {
    this.#store.assertIndexed()
    if (pin !== undefined) return this.#select(span, {}, pin).length
    if (!this.#store.isVisible) return 0
    this.#tuples.sort()
    return this.#tuples.countIn(span)
  }

  #distinct(pin: Pin<T> | undefined): Tuple[] {
    this.#store.assertIndexed()
    const values: Tuple[] = []
    const add = (value: Tuple | undefined): void => {
      const last = values.at(-1)
      if (value !== undefined && (last === undefined || compareTuples(last, value) !== 0)) values.push(value)
    }
    if (pin === undefined) {
      const next = this.#walk(everything, false)
      for (let ordinal = next(); ordinal >= 0; ordinal = next()) add(this.#tuples.tupleAt(ordinal))
    } else {
      const kept = new Map<Entry<T>, Tuple>()
      for (const { entry, values: then } of pin.overwritten()) kept.set(entry, then.get(this) as Tuple)
      for (const entry of this.#select(everything, {}, pin)) add(kept.get(entry) ?? this.#valueOf(entry))
    }
    return values
  }
}

const isBound = (value: unknown): string | undefined => (isScalar(value) ? undefined : 'must be a scalar')
const isPrefix = (value: unknown): string | undefined => (typeof value === 'string' ? undefined : 'must be a string')
const RANGE = { gt: isBound, gte: isBound, lt: isBound, lte: isBound, reverse: isBoolean, limit: isCount }
const PREFIX_RANGE = { ...RANGE, prefix: isPrefix }

const everything: Span = { isBefore: () => false, isWithin: () => true }

function equalTo(value: Tuple): Span {
  return {
    isBefore: (each) => compareHead(each, value) < 0,
    isWithin: (each) => compareHead(each, value) === 0,
  }
}

function spanOf(head: Tuple, range: Range<Scalar> & { readonly prefix?: string | undefined }): Span {
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

function objectsOf<T>(entries: readonly Entry<T>[]): readonly T[] {
  return entries.map((entry) => entry.object)
}
