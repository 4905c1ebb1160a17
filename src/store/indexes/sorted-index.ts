import type { Entry } from '../../contract/source.js'
import { checkOptions, isAny, isBoolean, isCount } from '../../util/validate-options.js'
import type { Pin } from '../pin.js'
import { pairsOf, type Store } from '../store.js'
import type { Ordinal, StoreIndex } from '../store-index.js'
import type { Compound, Ordered, Range } from './index-types.js'
import { compareScalars, copyScalar, isScalar, type Scalar } from './scalar.js'

/** How many elements a chunk holds before it is split in two. */
const CHUNK = 512

type Tuple = readonly Scalar[]

/** The elements of a range: those not `isBefore`, up to the first that is not `isWithin`. Both only ever turn once along the order. */
interface Span {
  isBefore(value: Tuple): boolean
  isWithin(value: Tuple): boolean
}

interface Chunk {
  readonly values: Tuple[]
  readonly ordinals: Ordinal[]
}

interface Position {
  readonly chunk: number
  readonly at: number
}

/**
 * Objects in the order of a tuple of scalars, then of their keys; an ordered index is one with a single component.
 * Two levels of sorted chunks, built by the first question (one sort) and kept in order from then on.
 */
export class SortedIndex<T> implements StoreIndex<T> {
  readonly #store: Store<T>
  readonly #of: (entry: Entry<T>) => Tuple | undefined
  readonly #values: (Tuple | undefined)[] = []
  #chunks: Chunk[] | undefined

  constructor(store: Store<T>, of: (entry: Entry<T>) => Tuple | undefined) {
    this.#store = store
    this.#of = of
  }

  set(ordinal: Ordinal, entry: Entry<T>): void {
    const value = this.#of(entry)
    const old = this.#values[ordinal]
    while (this.#values.length <= ordinal) this.#values.push(undefined)
    if (old !== undefined && value !== undefined && compareTuples(old, value) === 0) return
    if (old !== undefined) this.#remove(old, ordinal)
    this.#values[ordinal] = value
    if (value !== undefined) this.#insert(value, ordinal, entry.key)
  }

  delete(ordinal: Ordinal): void {
    const old = this.#values[ordinal]
    if (old === undefined) return
    this.#remove(old, ordinal)
    this.#values[ordinal] = undefined
  }

  valueAt(ordinal: Ordinal): Tuple | undefined {
    return this.#values[ordinal]
  }

  includes(remembered: unknown, value: Tuple): boolean {
    return remembered !== undefined && compareHead(remembered as Tuple, value) === 0
  }

  clear(): void {
    this.#values.length = 0
    this.#chunks = undefined
  }

  /** The entries whose tuple begins with `value`. */
  entriesWith(value: Tuple, pin?: Pin<T>): readonly Entry<T>[] {
    return this.#select(equalTo(value), {}, pin)
  }

  /** What users call for an index with one component. */
  ordered<V extends Scalar>(pin?: Pin<T>): Ordered<T, V> {
    const entriesIn = (range: Range<V> & { readonly prefix?: string } = {}): readonly Entry<T>[] => {
      checkRange('an ordered index', range, { prefix: isAny })
      return this.#select(spanOf([], range), range, pin)
    }
    return Object.assign((range?: Range<V> & { readonly prefix?: string }) => objectsOf(entriesIn(range)), {
      entriesIn: (range?: Range<V>) => pairsOf(entriesIn(range)),
      entries: (value: V) => pairsOf(this.entriesWith([value], pin)),
      count: (value: V) => this.#count(equalTo([value]), pin),
      values: () => this.#distinct(pin).map(([value]) => copyScalar(value as V)),
    })
  }

  /** What users call for an index with several components. */
  compound<V extends readonly Scalar[]>(pin?: Pin<T>): Compound<T, V> {
    const objects = (prefix: Partial<V>, range: Range<V[number]> = {}): readonly T[] => {
      if (!Array.isArray(prefix) || !prefix.every(isScalar)) {
        throw new TypeError('a compound index: the prefix must be an array of scalars')
      }
      checkRange('a compound index', range, {})
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
    const wanted = pin === undefined ? undefined : (ordinal: Ordinal) => pin.isUnchanged(ordinal)
    for (const ordinal of this.#walk(span, reverse)) {
      if (live.length >= limit) break
      const entry = wanted === undefined || wanted(ordinal) ? this.#store.entryAt(ordinal) : undefined
      if (entry !== undefined) live.push(entry)
    }
    return pin === undefined ? live : this.#withOverwritten(live, span, reverse, limit, pin)
  }

  /** Adds what a snapshot kept of entries that have been overwritten since, each in its place. */
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
    return (ordinal === undefined ? undefined : this.#values[ordinal]) ?? []
  }

  *#walk(span: Span, reverse: boolean): Iterable<Ordinal> {
    if (!this.#store.isVisible) return
    const chunks = this.#build()
    const from = this.#partition(chunks, (value) => span.isBefore(value))
    const to = this.#partition(chunks, (value) => span.isBefore(value) || span.isWithin(value))
    const step = reverse ? -1 : 1
    const [first, last] = reverse ? [to, from] : [from, to]
    for (let c = first.chunk; reverse ? c >= last.chunk : c <= last.chunk; c += step) {
      const { ordinals } = chunks[c] ?? { ordinals: [] }
      const start = c === from.chunk ? from.at : 0
      const end = c === to.chunk ? to.at : ordinals.length
      for (let i = reverse ? end - 1 : start; reverse ? i >= start : i < end; i += step) {
        const ordinal = ordinals[i]
        if (ordinal !== undefined) yield ordinal
      }
    }
  }

  #count(span: Span, pin: Pin<T> | undefined): number {
    this.#store.assertIndexed()
    if (pin !== undefined) return this.#select(span, {}, pin).length
    if (!this.#store.isVisible) return 0
    const chunks = this.#build()
    const from = this.#partition(chunks, (value) => span.isBefore(value))
    const to = this.#partition(chunks, (value) => span.isBefore(value) || span.isWithin(value))
    let count = to.at - from.at
    for (let c = from.chunk; c < to.chunk; c++) count += chunks[c]?.ordinals.length ?? 0
    return count
  }

  #distinct(pin: Pin<T> | undefined): Tuple[] {
    this.#store.assertIndexed()
    const values: Tuple[] = []
    const add = (value: Tuple | undefined): void => {
      const last = values.at(-1)
      if (value !== undefined && (last === undefined || compareTuples(last, value) !== 0)) values.push(value)
    }
    if (pin === undefined) for (const ordinal of this.#walk(everything, false)) add(this.#values[ordinal])
    else {
      const kept = new Map<Entry<T>, Tuple>()
      for (const { entry, values: then } of pin.overwritten()) kept.set(entry, then.get(this) as Tuple)
      for (const entry of this.#select(everything, {}, pin)) add(kept.get(entry) ?? this.#valueOf(entry))
    }
    return values
  }

  /** The chunks, sorted; made by the first question. */
  #build(): Chunk[] {
    if (this.#chunks !== undefined) return this.#chunks
    const all: { readonly value: Tuple; readonly ordinal: Ordinal; readonly key: string }[] = []
    this.#values.forEach((value, ordinal) => {
      if (value !== undefined) all.push({ value, ordinal, key: this.#keyAt(ordinal) })
    })
    all.sort((a, b) => compareTuples(a.value, b.value) || compareKeys(a.key, b.key))
    const chunks: Chunk[] = []
    for (let at = 0; at < all.length; at += CHUNK / 2) {
      const part = all.slice(at, at + CHUNK / 2)
      chunks.push({ values: part.map(({ value }) => value), ordinals: part.map(({ ordinal }) => ordinal) })
    }
    this.#chunks = chunks
    return chunks
  }

  #insert(value: Tuple, ordinal: Ordinal, key: string): void {
    const chunks = this.#chunks
    if (chunks === undefined) return
    const { chunk: c, at } = this.#find(chunks, value, key)
    const chunk = chunks[c]
    if (chunk === undefined) {
      chunks.push({ values: [value], ordinals: [ordinal] })
      return
    }
    chunk.values.splice(at, 0, value)
    chunk.ordinals.splice(at, 0, ordinal)
    if (chunk.ordinals.length <= CHUNK) return
    const half = chunk.ordinals.length >> 1
    chunks.splice(c + 1, 0, { values: chunk.values.splice(half), ordinals: chunk.ordinals.splice(half) })
  }

  #remove(value: Tuple, ordinal: Ordinal): void {
    const chunks = this.#chunks
    if (chunks === undefined) return
    const { chunk: c, at } = this.#find(chunks, value, this.#keyAt(ordinal))
    const chunk = chunks[c]
    if (chunk?.ordinals[at] !== ordinal) throw new Error('a sorted index lost an element')
    chunk.values.splice(at, 1)
    chunk.ordinals.splice(at, 1)
    if (chunk.ordinals.length === 0) chunks.splice(c, 1)
  }

  /** Where (value, key) stands, or would stand. The last chunk takes what is greater than all. */
  #find(chunks: readonly Chunk[], value: Tuple, key: string): Position {
    const isLess = (chunk: Chunk, at: number): boolean => {
      const order = compareTuples(chunk.values[at] ?? [], value)
      return order < 0 || (order === 0 && compareKeys(this.#keyAt(chunk.ordinals[at] ?? -1), key) < 0)
    }
    const found = firstWhere(chunks.length, (c) => !isLess(chunks[c] as Chunk, (chunks[c]?.ordinals.length ?? 1) - 1))
    const c = Math.min(found, Math.max(chunks.length - 1, 0))
    const chunk = chunks[c]
    return { chunk: c, at: chunk === undefined ? 0 : firstWhere(chunk.ordinals.length, (at) => !isLess(chunk, at)) }
  }

  /** The first position whose value does not satisfy `holds`, which holds for a head of the order. */
  #partition(chunks: readonly Chunk[], holds: (value: Tuple) => boolean): Position {
    const found = firstWhere(chunks.length, (c) => !holds(chunks[c]?.values.at(-1) ?? []))
    const c = Math.min(found, Math.max(chunks.length - 1, 0))
    const values = chunks[c]?.values ?? []
    return { chunk: c, at: firstWhere(values.length, (at) => !holds(values[at] ?? [])) }
  }

  #keyAt(ordinal: Ordinal): string {
    return this.#store.entryAt(ordinal)?.key ?? ''
  }
}

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
    if (each === undefined) return isBounded // A tuple that ends here stands first, and is in no range.
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

function checkRange(call: string, range: object, more: Readonly<Record<string, typeof isAny>>): void {
  const isBound = (value: unknown): string | undefined => (isScalar(value) ? undefined : 'must be a scalar')
  checkOptions(call, range, {
    gt: isBound,
    gte: isBound,
    lt: isBound,
    lte: isBound,
    ...Object.fromEntries(Object.keys(more).map((name) => [name, isPrefix])),
    reverse: isBoolean,
    limit: isCount,
  })
}

function isPrefix(value: unknown): string | undefined {
  return typeof value === 'string' ? undefined : 'must be a string'
}

function compareTuples(a: Tuple, b: Tuple): number {
  return (a.length <= b.length ? -compareHead(b, a) : compareHead(a, b)) || a.length - b.length
}

/** Compares as many components as `head` has; a tuple that ends before stands before. */
function compareHead(value: Tuple, head: Tuple): number {
  for (let i = 0; i < head.length; i++) {
    const each = value[i]
    const order = each === undefined ? -1 : compareScalars(each, head[i] as Scalar)
    if (order !== 0) return order
  }
  return 0
}

function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The least i in [0, length) for which `holds`, or `length`; `holds` turns from false to true at most once. */
function firstWhere(length: number, holds: (i: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

function objectsOf<T>(entries: readonly Entry<T>[]): readonly T[] {
  return entries.map((entry) => entry.object)
}
