import { firstIndex } from '../../util/binary-search.js'
import { SharedSteps } from '../../util/shared-steps.js'
import { finish, type Steps } from '../../util/steps.js'
import { grown } from './int32-list.js'
import type { Scalar } from './scalar.js'
import { SlotRanks } from './slot-ranks.js'
import { compareComponents, SlotSort, STEP } from './slot-sort.js'

/** A chunk with this many elements is split in two. */
const CHUNK = 256
/** The elements of a chunk after a sort, so that writes do not split all chunks at once. */
const FILLED = 192

export type Tuple = readonly Scalar[]

/** A small integer that identifies a tuple: the ordinal of its entry in an index. */
type Slot = number

/** A tuple with the key of its entry. */
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

interface Position {
  readonly chunk: number
  readonly at: number
}

/**
 * Tuples by slot, in the order of the tuples, then of their keys. They are sorted at the first read, and stay sorted
 * from then on. The order is a list of chunks of slots, so that one write moves a part of one chunk only.
 */
export class SortedTuples {
  /** By slot. A slot without a key has no tuple. */
  readonly #keys: (string | undefined)[] = []
  /** Each component of all tuples by slot: an array of numbers has no pointers. Shorter tuples end with undefined. */
  readonly #columns: (Scalar | undefined)[][] = []
  /** Whether all tuples are in the order. If not, none is. */
  #isSorted = false
  #writes = 0
  /** Two saves, for example, may prepare the index at the same time. */
  readonly #sorting = new SharedSteps(() => this.#sortInSteps())
  readonly #ranks = new SlotRanks()
  /** Whether all slots that are in the order have ranks. */
  #isRanked = false
  /** The ids of all chunks, in order. */
  readonly #chunks: number[] = []
  /** The first slot of each chunk, in the same order: a search for a chunk would wait for memory at each chunk. */
  readonly #firsts: Slot[] = []
  readonly #freeIds: number[] = []
  /** The number of elements of each chunk, by id. */
  readonly #lengths: number[] = []
  /** The slots of each chunk: `CHUNK` places for each id. */
  #slots = new Int32Array(CHUNK)
  /** The id of the chunk of each slot. */
  #chunkOf = new Int32Array(0)

  get isSorted(): boolean {
    return this.#isSorted
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

  /** Compares the tuple and the key of a slot with others. */
  compareTo(slot: Slot, { tuple, key }: Keyed): number {
    const width = Math.max(tuple.length, this.#columns.length)
    for (let k = 0; k < width; k++) {
      const order = compareComponents(this.#columns[k]?.[slot], tuple[k])
      if (order !== 0) return order
    }
    return compareKeys(this.keyAt(slot), key)
  }

  /** Returns whether the tuple of a slot equals `tuple`. */
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
    if (!this.#isSorted) return
    if (this.#isRanked) this.#ranks.set(slot, this.#columns, this.#keys)
    else finish(this.#ranks.setAll(this.#columns, this.#keys))
    this.#isRanked = true
    this.#insert(slot)
  }

  delete(slot: Slot): void {
    if (!this.has(slot)) return
    this.#writes++
    if (this.#isSorted) this.#remove(slot)
    this.#keys[slot] = undefined
    for (const column of this.#columns) column[slot] = 0
  }

  clear(): void {
    this.#keys.length = 0
    this.#columns.length = 0
    this.#clearOrder()
    this.#ranks.clear()
    this.#writes++
    this.#isSorted = false
  }

  /** Returns the slots in order, and the components by slot. Later writes do not change them. */
  capture(): { readonly order: Int32Array; readonly columns: readonly (readonly (Scalar | undefined)[])[] } {
    this.sort()
    const order = new Int32Array(this.#chunks.reduce((sum, id) => sum + (this.#lengths[id] ?? 0), 0))
    let at = 0
    for (const id of this.#chunks) {
      const length = this.#lengths[id] ?? 0
      order.set(this.#slots.subarray(id * CHUNK, id * CHUNK + length), at)
      at += length
    }
    return { order, columns: this.#columns.map((column) => column.slice()) }
  }

  /**
   * Puts all tuples in order, a few at each step. Reads are allowed between the steps. After a write the rest is one
   * step.
   */
  *prepare(): Steps {
    if (this.isSorted) return
    const writes = this.#writes
    for (const steps = this.#sorting.at(this.#writes); steps.next().done !== true; ) {
      yield
      if (this.isSorted || this.#writes !== writes) break
    }
    this.sort()
  }

  /** Puts all tuples in order now. */
  sort(): void {
    if (!this.isSorted) finish(this.#sorting.at(this.#writes))
  }

  *#sortInSteps(): Steps {
    let count = 0
    const present = new Int32Array(this.#keys.length)
    for (let slot = 0; slot < present.length; slot++) {
      if (this.has(slot)) present[count++] = slot
      if (slot % STEP === 0) yield
    }
    // Few tuples are ranked by the first write, if there is one: records of a pin are only read.
    if (present.length > STEP) yield* this.#ranks.setAll(this.#columns, this.#keys)
    this.#isRanked = present.length > STEP
    const slots = present.subarray(0, count)
    const known = this.#isRanked && this.#columns.length > 0 ? this.#ranks : undefined
    yield* new SlotSort(slots, [...this.#columns, this.#keys], known).steps()
    this.#clearOrder()
    this.#slots = new Int32Array(Math.ceil(count / FILLED + 1) * CHUNK)
    this.#chunkOf = new Int32Array(this.#keys.length)
    for (let from = 0; from < count; from += FILLED) {
      this.#fill(this.#addChunk(this.#chunks.length), slots.subarray(from, from + FILLED))
      if (this.#chunks.length % (STEP / CHUNK) === 0) yield
    }
    this.#isSorted = true
  }

  /**
   * Returns a function that returns the next slot of the span at each call, and -1 at its end. Writes make it invalid.
   */
  walk(span: Span, reverse: boolean): () => Slot {
    const [from, to] = this.#bounds(span)
    let { chunk, at } = reverse ? to : from
    const forward = (): Slot => {
      while (chunk < to.chunk && at >= this.#lengthOf(chunk)) {
        chunk++
        at = 0
      }
      const end = chunk === to.chunk ? to.at : this.#lengthOf(chunk)
      return chunk <= to.chunk && at < end ? this.#slotAt(chunk, at++) : -1
    }
    const backward = (): Slot => {
      while (chunk > from.chunk && at === 0) at = this.#lengthOf(--chunk)
      const start = chunk === from.chunk ? from.at : 0
      return chunk >= from.chunk && at > start ? this.#slotAt(chunk, --at) : -1
    }
    return reverse ? backward : forward
  }

  /** Returns the first `limit` slots of the span. */
  slotsIn(span: Span, reverse: boolean, limit: number): readonly Slot[] {
    if (reverse) {
      const found: Slot[] = []
      const next = this.walk(span, true)
      for (let slot = next(); slot >= 0 && found.length < limit; slot = next()) found.push(slot)
      return found
    }
    const [from, to] = this.#bounds(span)
    const found: Slot[] = []
    for (let chunk = from.chunk; chunk <= to.chunk && found.length < limit; chunk++) {
      const start = (this.#chunks[chunk] ?? 0) * CHUNK
      const first = start + (chunk === from.chunk ? from.at : 0)
      const end = Math.min(start + (chunk === to.chunk ? to.at : this.#lengthOf(chunk)), first + limit - found.length)
      for (let i = first; i < end; i++) found.push(this.#slots[i] ?? 0)
    }
    return found
  }

  countIn(span: Span): number {
    const [from, to] = this.#bounds(span)
    let count = to.at - from.at
    for (let chunk = from.chunk; chunk < to.chunk; chunk++) count += this.#lengthOf(chunk)
    return count
  }

  /** Returns a column that can be written at `slot`. */
  #columnAt(k: number, slot: Slot): (Scalar | undefined)[] {
    let column = this.#columns[k]
    if (column === undefined) {
      column = this.#keys.map((key) => (key === undefined ? 0 : undefined))
      this.#columns[k] = column
      if (this.#keys.length <= STEP) this.#isRanked = false
      else if (k === 1) this.#ranks.dropSecond()
    }
    while (column.length < slot) column.push(0)
    return column
  }

  /** Returns a function that returns whether another slot comes after `slot`. */
  #isAfter(slot: Slot): (each: Slot) => boolean {
    const compareRanks = this.#ranks.comparer(slot)
    const columns = this.#columns
    const from = this.#ranks.isFirstExact(slot) ? 1 : 0
    const key = this.keyAt(slot)
    return (each) => {
      const ranked = compareRanks(each)
      if (ranked !== 0) return ranked > 0
      for (let k = from; k < columns.length; k++) {
        const order = compareComponents(columns[k]?.[each], columns[k]?.[slot])
        if (order !== 0) return order > 0
      }
      return this.keyAt(each) > key
    }
  }

  #insert(slot: Slot): void {
    const isAfter = this.#isAfter(slot)
    const last = this.#chunks.length - 1
    const end = this.#lengthOf(last)
    // Objects often arrive in the order of the index.
    if (last < 0 || !isAfter(this.#slotAt(last, end - 1))) {
      if (last >= 0 && end < CHUNK) this.#place(slot, last, end)
      else this.#place(slot, this.#addChunk(last + 1), 0)
      return
    }
    const after = firstIndex(this.#chunks.length, (c) => isAfter(this.#firsts[c] ?? 0))
    const chunk = after === 0 ? 0 : after - 1
    const length = this.#lengthOf(chunk)
    const at = firstIndex(length, (i) => isAfter(this.#slotAt(chunk, i)))
    if (length === CHUNK) this.#split(chunk)
    if (length < CHUNK || at <= CHUNK / 2) this.#place(slot, chunk, at)
    else this.#place(slot, chunk + 1, at - CHUNK / 2)
  }

  /** Inserts a slot at a position of a chunk that is not full. */
  #place(slot: Slot, chunk: number, at: number): void {
    const id = this.#chunks[chunk] ?? 0
    const length = this.#lengths[id] ?? 0
    const start = id * CHUNK
    this.#slots.copyWithin(start + at + 1, start + at, start + length)
    this.#slots[start + at] = slot
    if (at === 0) this.#firsts[chunk] = slot
    this.#lengths[id] = length + 1
    this.#chunkOf = grown(this.#chunkOf, slot + 1)
    this.#chunkOf[slot] = id
  }

  #split(chunk: number): void {
    const start = (this.#chunks[chunk] ?? 0) * CHUNK
    const upper = this.#slots.slice(start + CHUNK / 2, start + CHUNK)
    this.#lengths[this.#chunks[chunk] ?? 0] = CHUNK / 2
    this.#fill(this.#addChunk(chunk + 1), upper)
  }

  /** Adds an empty chunk, and returns its position. */
  #addChunk(chunk: number): number {
    const id = this.#freeIds.pop() ?? this.#lengths.length
    this.#slots = grown(this.#slots, (id + 1) * CHUNK)
    this.#lengths[id] = 0
    this.#chunks.splice(chunk, 0, id)
    this.#firsts.splice(chunk, 0, 0)
    return chunk
  }

  /** Fills an empty chunk. */
  #fill(chunk: number, slots: Int32Array): void {
    const id = this.#chunks[chunk] ?? 0
    this.#slots.set(slots, id * CHUNK)
    this.#lengths[id] = slots.length
    this.#firsts[chunk] = slots[0] ?? 0
    for (const slot of slots) this.#chunkOf[slot] = id
  }

  #remove(slot: Slot): void {
    const id = this.#chunkOf[slot] ?? 0
    const start = id * CHUNK
    const length = this.#lengths[id] ?? 0
    const at = this.#slots.indexOf(slot, start)
    if (at < 0 || at >= start + length) throw new Error('a sorted index lost an element')
    this.#slots.copyWithin(at, at + 1, start + length)
    this.#lengths[id] = length - 1
    if (at > start) return
    const chunk = this.#chunks.indexOf(id)
    this.#firsts[chunk] = this.#slots[start] ?? 0
    if (length > 1) return
    this.#firsts.splice(chunk, 1)
    this.#chunks.splice(chunk, 1)
    this.#freeIds.push(id)
  }

  #clearOrder(): void {
    this.#chunks.length = 0
    this.#firsts.length = 0
    this.#freeIds.length = 0
    this.#lengths.length = 0
    this.#slots = new Int32Array(CHUNK)
    this.#chunkOf = new Int32Array(0)
  }

  #lengthOf(chunk: number): number {
    return this.#lengths[this.#chunks[chunk] ?? -1] ?? 0
  }

  #slotAt(chunk: number, at: number): Slot {
    return this.#slots[(this.#chunks[chunk] ?? 0) * CHUNK + at] ?? 0
  }

  #bounds(span: Span): readonly [from: Position, to: Position] {
    return [
      this.#partition((value) => span.isBefore(value)),
      this.#partition((value) => span.isBefore(value) || span.isWithin(value)),
    ]
  }

  /** Returns the first position whose tuple does not satisfy `holds`, which is true for a head of the order. */
  #partition(holds: (value: Tuple) => boolean): Position {
    const isPast = (slot: Slot): boolean => !holds(this.tupleAt(slot))
    const past = firstIndex(this.#chunks.length, (chunk) => isPast(this.#firsts[chunk] ?? 0))
    const chunk = Math.max(past - 1, 0)
    return { chunk, at: firstIndex(this.#lengthOf(chunk), (at) => isPast(this.#slotAt(chunk, at))) }
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
