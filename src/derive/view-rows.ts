import type { Change } from '../queue/change.js'
import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import type { Index } from '../store/indexes/index-types.js'
import type { Tuple } from '../store/indexes/order/sorted-tuples.js'
import { isScalars, type Scalar } from '../store/indexes/scalar.js'
import { SortedIndex } from '../store/indexes/sorted-index.js'
import type { Ordinal } from '../store/ordinals.js'
import type { DomainPart } from '../store/write/commit.js'
import type { StoreWriter } from '../store/write/store-writer.js'
import type { Steps } from '../util/steps.js'
import { GroupSums, type Summands } from './group-sums.js'
import type { RecordedReads } from './recorded-reads.js'
import { sameValue, textOf, ValueMap } from './value-map.js'

/** About this many objects are looked at in one step. */
const STEP = 512

/** An audit adds up the numbers of a group again if it has at most this many objects. */
const MAX_SUMMED_AGAIN = 10_000

export const GONE: unique symbol = Symbol('gone')

/** The rows of a view. Each is one call of its function. A row is created when it is first mentioned. */
export interface ViewRows {
  all(): Iterable<number>
  /** The rows that a change of an input creates, changes or removes by itself: not by what they have read. */
  changedBy(part: DomainPart, change: number): Iterable<number>
  /** The key that has lost its row with a change of an input. */
  removedBy?(part: DomainPart, change: number): string | undefined
  /** Undefined if the row does not exist any more. */
  keyOf(row: number): string | undefined
  /** The steps that a call of the row needs before it. */
  prepare?(row: number): Steps | undefined
  /** The next call of the row uses nothing that was computed before. */
  forget?(row: number): void
  call(row: number): unknown
  /** Returns the rows that have to be called again for that. */
  remove?(row: number): Iterable<number>
  clear?(): void
  /** From now on commits of the inputs need not have what only the rows need. */
  end?(): void
}

/** One row for each object of an input, under its key, by its ordinal. */
export class ObjectRows<T> implements ViewRows {
  readonly #input: StoreWriter<T>
  readonly #each: (object: T, key: string) => unknown
  /** The ordinal of the first row. It is below 0 if the input has packed objects. */
  #start: Ordinal = 0

  constructor(input: StoreWriter<T>, each: (object: T, key: string) => unknown) {
    this.#input = input
    this.#each = each
  }

  *all(): Iterable<number> {
    const { store } = this.#input
    for (let ordinal = store.ordinalStart; ordinal < store.ordinalLimit; ordinal++) {
      if (store.entryAt(ordinal) !== undefined) yield ordinal - this.#start
    }
  }

  changedBy({ writer, ordinals }: DomainPart, change: number): readonly number[] {
    const ordinal = writer === this.#input ? ordinals[change] : undefined
    return ordinal === undefined ? [] : [ordinal - this.#start]
  }

  removedBy({ writer, changes }: DomainPart, change: number): string | undefined {
    const { type, key } = changes[change] ?? {}
    if (writer !== this.#input || type !== 'delete' || key === undefined) return undefined
    return this.#input.store.ordinalOf(key) === undefined ? key : undefined
  }

  keyOf(row: number): string | undefined {
    return this.#input.store.entryAt(row + this.#start)?.key
  }

  call(row: number): unknown {
    const entry = this.#input.store.entryAt(row + this.#start)
    return entry && this.#each(entry.object, entry.key)
  }

  clear(): void {
    this.#start = this.#input.store.ordinalStart
  }
}

export function singleRow(each: () => unknown): ViewRows {
  return { all: () => [0], changedBy: () => [], keyOf: () => '', call: () => each() }
}

/** One row for each value of an index, under the text of the value. */
export class GroupRows<T> implements ViewRows {
  readonly #writer: StoreWriter<T>
  readonly #reads: RecordedReads<T>
  readonly #declared: DeclaredIndex<T>
  readonly #each: (value: unknown, group: object) => unknown
  readonly #summands: Summands
  readonly #untrack: () => void
  readonly #values: (Scalar | Tuple | undefined)[] = []
  readonly #free: number[] = []
  #rows = new ValueMap<number>()
  /** By row, from its first call on. Without sums there are none. */
  readonly #sums: (GroupSums | undefined)[] = []
  /** The rows of each text. Equal texts of several values, such as `1` and `'1'`, are a mistake. */
  readonly #byText = new Map<string, readonly number[]>()

  constructor(
    writer: StoreWriter<T>,
    reads: RecordedReads<T>,
    declared: DeclaredIndex<T>,
    each: (value: unknown, group: object) => unknown,
    sums: Summands,
  ) {
    this.#writer = writer
    this.#reads = reads
    this.#declared = declared
    this.#each = each
    this.#summands = sums
    this.#untrack = writer.track(declared)
  }

  *all(): Iterable<number> {
    for (const value of this.#index.values()) yield this.#rowOf(value)
  }

  *changedBy({ writer, changes, memberships, tracked }: DomainPart, change: number): Iterable<number> {
    const at = writer === this.#writer ? tracked.indexOf(this.#declared) : -1
    if (at < 0) return
    const was = this.#valuesIn(memberships[change]?.[at])
    const is = this.#valuesIn(memberships[change]?.[tracked.length + at])
    if (this.#summands.size > 0) yield* this.#summed(was, is, changes[change])
    for (const value of was) if (!is.some((each) => sameValue(each, value))) yield* this.#rowsCounting(value)
    for (const value of is) if (!was.some((each) => sameValue(each, value))) yield* this.#rowsCounting(value)
  }

  /** Adds a change to the sums that are known. Returns the rows whose sums may have changed. */
  #summed(
    was: readonly (Scalar | Tuple)[],
    is: readonly (Scalar | Tuple)[],
    change: Change<unknown> | undefined,
  ): readonly number[] {
    if (change === undefined) return []
    const { key, object, previous } = change
    const left = new Set(was.flatMap((value) => [...this.#knownRows(value)]))
    const entered = new Set(is.flatMap((value) => [...this.#knownRows(value)]))
    const changed: number[] = []
    for (const row of left) {
      if (entered.has(row)) {
        if (this.#sums[row]?.replace(key, previous, object) === true) changed.push(row)
      } else this.#sums[row]?.remove(key, previous)
    }
    for (const row of entered) if (!left.has(row)) this.#sums[row]?.add(key, object)
    return changed
  }

  prepare(row: number): Steps | undefined {
    return this.#summands.size > 0 && this.#sums[row] === undefined ? this.#sumUp(row) : undefined
  }

  /** The sums of a large group stay: a pass over it would delay the changes of its input. */
  forget(row: number): void {
    const value = this.#values[row]
    if (value !== undefined && this.#index.count(value) <= MAX_SUMMED_AGAIN) this.#sums[row] = undefined
  }

  *#sumUp(row: number): Steps {
    const value = this.#values[row]
    const { store } = this.#writer
    store.show(undefined)
    const entries = value === undefined ? [] : this.#index.entries(value)
    store.showHeld()
    const sums = new GroupSums(this.#summands)
    let added = 0
    for (const [key, object] of entries) {
      sums.add(key, object)
      if (++added % STEP === 0) yield
    }
    this.#sums[row] = sums
  }

  keyOf(row: number): string | undefined {
    const value = this.#values[row]
    return value === undefined ? undefined : textOf(value)
  }

  call(row: number): unknown {
    const value = this.#values[row]
    const count = value === undefined ? 0 : this.#reads.unrecorded(() => this.#index.count(value))
    if (value === undefined || count === 0 || this.#isOnlyHead(value)) return GONE
    if ((this.#byText.get(textOf(value))?.length ?? 0) > 1)
      throw new TypeError(`several values of the index "${this.#declared.name}" have this text`)
    return this.#each(value, { count, ...this.#sums[row]?.values })
  }

  remove(row: number): readonly number[] {
    const value = this.#values[row]
    if (value === undefined) return []
    const text = textOf(value)
    const others = (this.#byText.get(text) ?? []).filter((each) => each !== row)
    if (others.length === 0) this.#byText.delete(text)
    else this.#byText.set(text, others)
    this.#rows.delete(value)
    this.#values[row] = undefined
    this.#sums[row] = undefined
    this.#free.push(row)
    return others
  }

  clear(): void {
    this.#values.length = 0
    this.#sums.length = 0
    this.#free.length = 0
    this.#rows = new ValueMap<number>()
    this.#byText.clear()
  }

  end(): void {
    this.#untrack()
  }

  /** Whether a tuple with objects is only the head of theirs. Its own objects would be the first ones. */
  #isOnlyHead(value: Scalar | Tuple): boolean {
    const { index } = this.#declared
    if (!isScalars(value) || !(index instanceof SortedIndex)) return false
    return index.lastIn(value, { limit: 1 })?.tuple.length !== value.length
  }

  get #index(): Index<T, Scalar | Tuple> {
    return this.#declared.accessor as Index<T, Scalar | Tuple>
  }

  #valuesIn(remembered: unknown): readonly (Scalar | Tuple)[] {
    const scalars = this.#declared.scalarsOf(remembered)
    if (scalars !== undefined) return scalars
    return isScalars(remembered) ? [remembered] : []
  }

  /** The row of a value, those of its heads, which count it too, and those with the same text. */
  *#rowsCounting(value: Scalar | Tuple): Iterable<number> {
    const row = this.#rowOf(value)
    yield* this.#knownRows(value)
    for (const other of this.#byText.get(textOf(value)) ?? []) if (other !== row) yield other
  }

  *#knownRows(value: Scalar | Tuple): Iterable<number> {
    const row = this.#rows.get(value)
    if (row !== undefined) yield row
    if (!isScalars(value)) return
    for (let length = 1; length < value.length; length++) {
      const head = this.#rows.get(value.slice(0, length))
      if (head !== undefined) yield head
    }
  }

  #rowOf(value: Scalar | Tuple): number {
    const found = this.#rows.get(value)
    if (found !== undefined) return found
    const row = this.#free.pop() ?? this.#values.length
    this.#values[row] = value
    this.#rows.set(value, row)
    const text = textOf(value)
    this.#byText.set(text, [...(this.#byText.get(text) ?? []), row])
    return row
  }
}
