import { finish, type Steps } from '../../../util/steps.js'
import { kindOf, type Scalar, STRING } from '../scalar.js'
import { type Place, type Slot, SlotOrder } from './slot-order.js'
import { type Column, compareComponents, type KnownRanks, SlotSort, STEP } from './slot-sort.js'

export type Tuple = readonly Scalar[]

export interface Keyed {
  readonly tuple: Tuple
  readonly key: string
}

/** The elements from the first that is not `isBefore`, up to the first that is not `isWithin`. */
export interface Span {
  /** True for a head of the order, false for the rest. */
  isBefore(value: Tuple): boolean
  /** For values that are not `isBefore`: true for a head of the order, false for the rest. */
  isWithin(value: Tuple): boolean
}

/** Tuples, then keys, in order: sorted at the first read, and sorted from then on. A slot is an ordinal. */
export class SortedTuples {
  /** By slot. A slot without a key has no tuple. */
  readonly #keys: (string | undefined)[] = []
  /** Each component of all tuples by slot: an array of numbers has no pointers. Shorter tuples end with undefined. */
  readonly #columns: (Scalar | undefined)[][] = []
  /** Whether all tuples are in the order. If not, none is. */
  isSorted = false
  #writes = 0
  /** Two saves, for example, may prepare the index at the same time. */
  #sorting: { readonly writes: number; readonly steps: Steps } | undefined
  #ranks = new SlotRanks()
  /** Whether all slots that are in the order have ranks. */
  #isRanked = false
  readonly order: SlotOrder

  constructor(changed: (chunk: number) => void = () => {}) {
    this.order = new SlotOrder((each, slot) => this.#isAfter(each, slot), changed)
  }

  has(slot: Slot): boolean {
    return this.#keys[slot] !== undefined
  }

  keyAt(slot: Slot): string {
    return this.#keys[slot] ?? ''
  }

  tupleAt(slot: Slot): Tuple {
    const tuple: Scalar[] = []
    for (const column of this.#columns) {
      const component = column[slot]
      if (component === undefined) break
      tuple.push(component)
    }
    return tuple
  }

  compareTo(slot: Slot, { tuple, key }: Keyed): number {
    const width = Math.max(tuple.length, this.#columns.length)
    for (let k = 0; k < width; k++) {
      const order = compareComponents(this.#columns[k]?.[slot], tuple[k])
      if (order !== 0) return order
    }
    return compareKeys(this.keyAt(slot), key)
  }

  equals(slot: Slot, tuple: Tuple): boolean {
    if (!this.has(slot) || tuple.length > this.#columns.length) return false
    for (let k = 0; k < this.#columns.length; k++) {
      if (compareComponents(this.#columns[k]?.[slot], tuple[k]) !== 0) return false
    }
    return true
  }

  set(slot: Slot, tuple: Tuple, key: string): void {
    this.delete(slot)
    while (this.#keys.length < slot) this.#keys.push(undefined)
    const width = Math.max(tuple.length, this.#columns.length)
    for (let k = 0; k < width; k++) this.#columnAt(k, slot)[slot] = tuple[k]
    this.#keys[slot] = key
    this.#writes++
    if (!this.isSorted) return
    if (this.#isRanked) this.#ranks.set(slot, this.#columns, this.#keys)
    else finish(this.#rankAll())
    this.#isRanked = true
    this.order.insert(slot)
  }

  delete(slot: Slot): void {
    if (!this.has(slot)) return
    this.#writes++
    if (this.isSorted) this.order.remove(slot)
    this.#keys[slot] = undefined
    for (const column of this.#columns) column[slot] = 0
  }

  clear(): void {
    this.#keys.length = 0
    this.#columns.length = 0
    this.order.clear()
    this.#ranks = new SlotRanks()
    this.#writes++
    this.isSorted = false
  }

  /** Returns the slots in order, and the components by slot. Later writes do not change them. */
  capture(): { readonly order: Int32Array; readonly columns: readonly (readonly (Scalar | undefined)[])[] } {
    this.sort()
    return { order: this.order.copy(), columns: this.#columns.map((column) => column.slice()) }
  }

  /** Reads are allowed between the steps. After a write the rest is one step. */
  *prepare(): Steps {
    if (this.isSorted) return
    const writes = this.#writes
    for (const steps = this.#sortingNow(); steps.next().done !== true; ) {
      yield
      if (this.isSorted || this.#writes !== writes) break
    }
    this.sort()
  }

  sort(): void {
    if (!this.isSorted) finish(this.#sortingNow())
  }

  /** Returns the steps of the sort that are left, or all of them after a write. */
  #sortingNow(): Steps {
    if (this.#sorting?.writes !== this.#writes) this.#sorting = { writes: this.#writes, steps: this.#sortOnce() }
    return this.#sorting.steps
  }

  *#sortOnce(): Steps {
    try {
      yield* this.#sortAll()
    } finally {
      this.#sorting = undefined
    }
  }

  *#sortAll(): Steps {
    let count = 0
    const present = new Int32Array(this.#keys.length)
    for (let slot = 0; slot < present.length; slot++) {
      if (this.has(slot)) present[count++] = slot
      if (slot % STEP === 0) yield
    }
    // Few tuples are ranked by the first write, if there is one: records of a pin are only read.
    if (present.length > STEP) yield* this.#rankAll()
    this.#isRanked = present.length > STEP
    const slots = present.subarray(0, count)
    const known = this.#isRanked && this.#columns.length > 0 ? this.#ranks : undefined
    yield* new SlotSort(slots, [...this.#columns, this.#keys], known).steps()
    yield* this.order.fill(slots, this.#keys.length)
    this.isSorted = true
  }

  #rankAll(): Steps {
    this.#ranks = new SlotRanks()
    return this.#ranks.setAll(this.#columns, this.#keys)
  }

  walk(span: Span, reverse: boolean): () => Slot {
    return this.order.walk(...this.boundsOf(span), reverse)
  }

  /** Returns a column that can be written at `slot`. */
  #columnAt(k: number, slot: Slot): (Scalar | undefined)[] {
    let column = this.#columns[k]
    if (column === undefined) {
      column = this.#keys.map((key) => (key === undefined ? 0 : undefined))
      this.#columns[k] = column
      if (this.#keys.length <= STEP) this.#isRanked = false
      else if (k === 1) this.#ranks.hasSecond = false
    }
    while (column.length < slot) column.push(0)
    return column
  }

  #isAfter(each: Slot, slot: Slot): boolean {
    const ranked = this.#ranks.compare(each, slot)
    if (ranked !== 0) return ranked > 0
    for (let k = this.#ranks.isFirstExact(slot) ? 1 : 0; k < this.#columns.length; k++) {
      const order = compareComponents(this.#columns[k]?.[each], this.#columns[k]?.[slot])
      if (order !== 0) return order > 0
    }
    return this.keyAt(each) > this.keyAt(slot)
  }

  boundsOf(span: Span): readonly [from: Place, to: Place] {
    return [
      this.order.placeOf((slot) => !span.isBefore(this.tupleAt(slot))),
      this.order.placeOf((slot) => {
        const tuple = this.tupleAt(slot)
        return !span.isBefore(tuple) && !span.isWithin(tuple)
      }),
    ]
  }
}

export function compareTuples(a: Tuple, b: Tuple): number {
  return (a.length <= b.length ? -compareHead(b, a) : compareHead(a, b)) || a.length - b.length
}

/** Compares only the first components, as many as `head` has. A shorter tuple comes before. */
export function compareHead(value: Tuple, head: Tuple): number {
  for (let i = 0; i < head.length; i++) {
    const order = compareComponents(value[i], head[i])
    if (order !== 0) return order
  }
  return 0
}

export function compareElements(a: Keyed, b: Keyed): number {
  return compareTuples(a.tuple, b.tuple) || compareKeys(a.key, b.key)
}

export function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** The number of characters in a rank. Each is a number up to `OTHERS`: 0 is the end, the greatest is not ASCII. */
const WIDTH = 7
const OTHERS = 129
/** One slot in this many is read for the common prefix. */
const SAMPLE = 16

/**
 * Two numbers of each slot, for the first two components of its tuple and key: to compare these, a search would wait
 * for memory several times at each slot. A greater number is a greater component; equal numbers decide nothing.
 */
class SlotRanks implements KnownRanks {
  /** False when the second component is no longer the key. */
  hasSecond = true
  #ranks = new Float64Array(0)
  readonly #first = new Ranking()
  readonly #second = new Ranking()

  rankAt(slot: number, column: number): number {
    return this.#ranks[2 * slot + column] ?? 0
  }

  /** Sets the ranks of all slots that have a key, a few at each step. */
  *setAll(columns: readonly Column[], keys: Column): Steps {
    const [first, second = keys] = columns
    this.#ranks = new Float64Array(2 * keys.length)
    // The common prefix of few strings is not used: later strings often begin with another one.
    for (let slot = 0; slot < keys.length && keys.length > STEP; slot += SAMPLE) {
      if (slot % STEP === 0) yield
      if (keys[slot] === undefined) continue
      this.#first.sample(first?.[slot])
      this.#second.sample(second[slot])
    }
    for (let slot = 0; slot < keys.length; slot++) {
      if (keys[slot] !== undefined) this.set(slot, columns, keys)
      if (slot % STEP === 0) yield
    }
  }

  set(slot: number, columns: readonly Column[], keys: Column): void {
    const at = 2 * slot
    if (at + 1 >= this.#ranks.length) {
      const larger = new Float64Array(Math.max(Math.ceil(at * 1.25), 64))
      larger.set(this.#ranks)
      this.#ranks = larger
    }
    this.#ranks[at] = this.#first.rankOf(columns[0]?.[slot])
    this.#ranks[at + 1] = this.#second.rankOf((columns[1] ?? keys)[slot])
  }

  isExact(rank: number, column: number): boolean {
    return (column === 0 ? this.#first : this.#second).isExact(rank)
  }

  /** Whether slots that `compare` cannot tell from `slot` have the same first component. */
  isFirstExact(slot: number): boolean {
    return this.isExact(this.rankAt(slot, 0), 0)
  }

  /** Compares two slots. Returns 0 if the ranks do not decide. */
  compare(a: number, b: number): number {
    const ranks = this.#ranks
    const first = ranks[2 * b] ?? 0
    const one = ranks[2 * a] ?? 0
    if (one !== first) return one < first ? -1 : 1
    if (!this.hasSecond || !this.isExact(first, 0)) return 0
    const second = ranks[2 * b + 1] ?? 0
    const two = ranks[2 * a + 1] ?? 0
    return two === second ? 0 : two < second ? -1 : 1
  }
}

class Ranking {
  /** The kind of most values: others are below or above all of them. */
  #kind: number | undefined
  /** The strings begin with it. Others are below or above all that do. */
  #prefix: string | undefined

  sample(value: Scalar | undefined): void {
    this.#kind ??= kindOf(value)
    if (typeof value !== 'string' || this.#prefix === '') return
    this.#prefix ??= value
    while (!value.startsWith(this.#prefix)) this.#prefix = this.#prefix.slice(0, -1)
  }

  rankOf(value: Scalar | undefined): number {
    const kind = kindOf(value)
    this.#kind ??= kind
    if (kind !== this.#kind) return kind < this.#kind ? -Infinity : Infinity
    if (typeof value === 'string') return this.#rankOfText(value, this.#prefix ?? '')
    return Number(value) || 0
  }

  isExact(rank: number): boolean {
    return Math.abs(rank) <= Number.MAX_SAFE_INTEGER && (this.#kind !== STRING || rank % 2 === 0)
  }

  /** Returns an even number if the characters in the rank are the whole string after the prefix. */
  #rankOfText(text: string, prefix: string): number {
    if (prefix !== '' && !text.startsWith(prefix)) return text < prefix ? -Infinity : Infinity
    const end = prefix.length + WIDTH
    const last = Math.min(text.length, end)
    let rank = 0
    let isAscii = true
    let at = prefix.length
    for (; at < last && isAscii; at++) {
      const unit = Math.min(text.charCodeAt(at) + 1, OTHERS)
      isAscii = unit < OTHERS
      rank = rank * (OTHERS + 1) + unit
    }
    for (; at < end; at++) rank *= OTHERS + 1
    return 2 * rank + (isAscii && text.length <= end ? 0 : 1)
  }
}
