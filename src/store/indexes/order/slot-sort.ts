import { BOOLEAN, compareScalars, DATE, ENDED, kindOf, NUMBER, type Scalar, STRING } from '../scalar.js'

/** Values by slot. A tuple that ends before this column has undefined in it. */
export type Column = readonly (Scalar | undefined)[]

/** Ranges up to this length are sorted by insertion. */
const SHORT = 12
export const STEP = 4_096
/** A rank has 7 ASCII characters, or 3 UTF-16 code units, and ends of strings: all of these fit 53 bits. */
const ASCII = { width: 7, base: 129 }
const UTF_16 = { width: 3, base: 65_537 }

/** A part of the slots that is equal in all columns before `column`, and in the first `skip` characters there. */
interface Part {
  readonly low: number
  readonly high: number
  readonly column: number
  readonly skip: number
  /** Whether it was not yet sorted by this column. */
  readonly isNew: boolean
}

/** Numbers of the first two columns by slot: a greater number is a greater value. */
export interface KnownRanks {
  rankAt(slot: number, column: number): number
  /** Whether all values of a column with this rank are equal. */
  isExact(rank: number, column: number): boolean
}

/**
 * Sorts slots by their values in the first column, then in the second, and so on. It compares numbers only: the values,
 * or a few characters of strings packed into a number. So each string is read once instead of once for each comparison.
 */
export class SlotSort {
  readonly #slots: Int32Array
  readonly #columns: readonly Column[]
  readonly #known: KnownRanks | undefined
  readonly #ranks: Float64Array
  readonly #spareSlots: Int32Array
  readonly #spareRanks: Float64Array
  readonly #parts: Part[] = []
  #moved = 0

  constructor(slots: Int32Array, columns: readonly Column[], known?: KnownRanks) {
    this.#slots = slots
    this.#columns = columns
    this.#known = known
    this.#ranks = new Float64Array(slots.length)
    this.#spareSlots = new Int32Array(slots.length)
    this.#spareRanks = new Float64Array(slots.length)
  }

  /** Sorts in steps of less than 1 ms. The columns must not change between them. */
  *steps(): Generator<void> {
    this.#add({ low: 0, high: this.#slots.length, column: 0, skip: 0, isNew: true })
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) yield* this.#sortPart(part)
  }

  #add(part: Part): void {
    if (part.column < this.#columns.length && part.high - part.low > 1) {
      if (part.high - part.low > SHORT) this.#parts.push(part)
      else this.#insertAll(part)
    }
  }

  *#sortByKnown({ low, high, column }: Part, known: KnownRanks): Generator<void> {
    for (let at = low; at < high; at++) {
      this.#ranks[at] = known.rankAt(this.#slots[at] ?? 0, column)
      if (this.#isStepOver(1)) yield
    }
    yield* this.#sortRanks(low, high)
    for (let first = low; first < high; ) {
      const rank = this.#ranks[first] ?? 0
      let end = first + 1
      while (end < high && this.#ranks[end] === rank) end++
      const isDone = known.isExact(rank, column)
      this.#add({ low: first, high: end, column: isDone ? column + 1 : column, skip: 0, isNew: isDone })
      if (this.#isStepOver(end - first)) yield
      first = end
    }
  }

  *#sortPart(part: Part): Generator<void> {
    const { low, high } = part
    if (this.#known !== undefined && part.isNew && part.column < 2) {
      yield* this.#sortByKnown(part, this.#known)
      return
    }
    const kind = yield* this.#kindOf(part)
    let next = (_first: number): Omit<Part, 'low' | 'high'> => ({ column: part.column + 1, skip: 0, isNew: true })
    if (kind === undefined) next = () => part
    else if (kind === STRING) {
      const from = yield* this.#commonLength(part)
      const { width } = (yield* this.#rankStrings(part, from, ASCII)) ? ASCII : UTF_16
      if (width === UTF_16.width) yield* this.#rankStrings(part, from, UTF_16)
      const end = from + width
      next = (first) => {
        const isWhole = (this.#valueAt(first, part.column) as string).length < end
        return isWhole
          ? { column: part.column + 1, skip: 0, isNew: true }
          : { column: part.column, skip: end, isNew: false }
      }
    } else if (kind !== BOOLEAN && kind !== NUMBER && kind !== DATE) {
      this.#add({ ...next(low), low, high })
      return
    }
    yield* this.#sortRanks(low, high)
    for (let first = low; first < high; ) {
      const rank = this.#ranks[first]
      let end = first + 1
      while (end < high && this.#ranks[end] === rank) end++
      if (end - first > 1 && kind === NUMBER && !this.#areEqual(first, end, part.column))
        this.#slots.subarray(first, end).sort((a, b) => this.#compare(a, b, part.column))
      else if (end - first > 1) this.#add({ ...next(first), low: first, high: end })
      if (this.#isStepOver(end - first)) yield
      first = end
    }
  }

  #valueAt(at: number, column: number): Scalar | undefined {
    return this.#columns[column]?.[this.#slots[at] ?? 0]
  }

  #isStepOver(elements: number): boolean {
    this.#moved += elements
    if (this.#moved < STEP) return false
    this.#moved = 0
    return true
  }

  /** Returns the kind of all values, whose ranks are set unless they are strings; undefined if the ranks are kinds. */
  *#kindOf({ low, high, column }: Part): Generator<void, number | undefined> {
    const values = this.#columns[column] ?? []
    let [least, greatest] = [STRING, ENDED]
    for (let at = low; at < high; at++) {
      const kind = kindOf(values[this.#slots[at] ?? 0])
      if (kind < least) least = kind
      if (kind > greatest) greatest = kind
      this.#ranks[at] = kind
      if (this.#isStepOver(1)) yield
    }
    if (least !== greatest) return undefined
    if (least === BOOLEAN || least === NUMBER || least === DATE) {
      for (let at = low; at < high; at++) {
        // A bigint may be rounded. Then it has the rank of other values.
        this.#ranks[at] = Number(values[this.#slots[at] ?? 0])
        if (this.#isStepOver(1)) yield
      }
    }
    return least
  }

  *#commonLength({ low, high, column, skip }: Part): Generator<void, number> {
    const first = this.#valueAt(low, column) as string
    let length = first.length
    for (let at = low + 1; at < high && length > skip; at++) {
      const text = this.#valueAt(at, column) as string
      let same = skip
      while (same < length && same < text.length && text.charCodeAt(same) === first.charCodeAt(same)) same++
      length = same
      if (this.#isStepOver(1)) yield
    }
    return length
  }

  /** Sets the ranks of strings: the characters at `from`. Returns false if these are too large for the base. */
  *#rankStrings({ low, high, column }: Part, from: number, { width, base }: typeof ASCII): Generator<void, boolean> {
    for (let at = low; at < high; at++) {
      const text = this.#valueAt(at, column) as string
      let rank = 0
      for (let i = from; i < from + width; i++) {
        const unit = i < text.length ? text.charCodeAt(i) + 1 : 0
        if (unit >= base) return false
        rank = rank * base + unit
      }
      this.#ranks[at] = rank
      if (this.#isStepOver(1)) yield
    }
    return true
  }

  /** Whether values with one rank are equal. Large bigints may differ. */
  #areEqual(low: number, high: number, column: number): boolean {
    const first = this.#valueAt(low, column) as Scalar
    if (typeof first !== 'bigint' && Number.isSafeInteger(first)) return true
    for (let at = low + 1; at < high; at++) {
      const value = this.#valueAt(at, column) as Scalar
      if (value !== first && compareScalars(value, first) !== 0) return false
    }
    return true
  }

  #insertAll({ low, high, column }: Part): void {
    const slots = this.#slots
    for (let i = low + 1; i < high; i++) {
      const slot = slots[i] ?? 0
      let at = i
      for (; at > low; at--) {
        const before = slots[at - 1] ?? 0
        if (this.#compare(before, slot, column) <= 0) break
        slots[at] = before
      }
      slots[at] = slot
    }
  }

  #compare(a: number, b: number, column: number): number {
    for (let k = column; k < this.#columns.length; k++) {
      const order = compareComponents(this.#columns[k]?.[a], this.#columns[k]?.[b])
      if (order !== 0) return order
    }
    return 0
  }

  /** Sorts slots by their ranks: short runs by insertion, then merges of neighbours. */
  *#sortRanks(low: number, high: number): Generator<void> {
    for (let run = low; run < high; run += SHORT) {
      this.#sortRun(run, Math.min(run + SHORT, high))
      if (this.#isStepOver(SHORT)) yield
    }
    for (let width = SHORT; width < high - low; width *= 2) {
      for (let left = low; left + width < high; left += 2 * width) {
        yield* this.#merge(left, left + width, Math.min(left + 2 * width, high))
      }
    }
  }

  #sortRun(low: number, high: number): void {
    const [slots, ranks] = [this.#slots, this.#ranks]
    for (let i = low + 1; i < high; i++) {
      const slot = slots[i] ?? 0
      const rank = ranks[i] ?? 0
      let at = i
      for (; at > low && (ranks[at - 1] ?? 0) > rank; at--) {
        slots[at] = slots[at - 1] ?? 0
        ranks[at] = ranks[at - 1] ?? 0
      }
      slots[at] = slot
      ranks[at] = rank
    }
  }

  /** Merges the sorted ranges [low, middle) and [middle, high). */
  *#merge(low: number, middle: number, high: number): Generator<void> {
    const [slots, ranks, spareSlots, spareRanks] = [this.#slots, this.#ranks, this.#spareSlots, this.#spareRanks]
    if ((ranks[middle - 1] ?? 0) <= (ranks[middle] ?? 0)) return
    const length = middle - low
    spareSlots.set(slots.subarray(low, middle))
    spareRanks.set(ranks.subarray(low, middle))
    let [left, right, at] = [0, middle, low]
    while (left < length && right < high) {
      // A step does not end inside this loop: V8 keeps the variables of a loop without `yield` in registers.
      const end = Math.min(at + STEP, high)
      while (at < end && left < length && right < high) {
        const [a, b] = [spareRanks[left] ?? 0, ranks[right] ?? 0]
        if (a <= b) {
          slots[at] = spareSlots[left++] ?? 0
          ranks[at++] = a
        } else {
          slots[at] = slots[right++] ?? 0
          ranks[at++] = b
        }
      }
      if (end === at && this.#isStepOver(STEP)) yield
    }
    slots.set(spareSlots.subarray(left, length), at)
    ranks.set(spareRanks.subarray(left, length), at)
    if (this.#isStepOver(Math.min(high - low, STEP))) yield
  }
}

/** Compares two components of tuples. A tuple that ends comes before. */
export function compareComponents(a: Scalar | undefined, b: Scalar | undefined): number {
  if (a !== undefined && b !== undefined) return compareScalars(a, b)
  return a === b ? 0 : a === undefined ? -1 : 1
}
