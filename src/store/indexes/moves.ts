import type { Layer, Ordinal } from '../ordinals.js'
import { grown } from './int32-list.js'
import { type Keyed, SortedTuples, type Span } from './order/sorted-tuples.js'
import { type Scalar, ScalarMap } from './scalar.js'

/** Index values of ordinals, as they were. `since` is the id of the layer in which the ordinal got the value. */
export interface MoveRecords<V, R> {
  readonly size: number
  add(value: V, ordinal: Ordinal, since: number): void
  addAll(others: R, below: number): void
}

/** The ordinals whose value in one index has changed while pins were open, and their old values, by layer. */
export class Moves<V, R extends MoveRecords<V, R>> {
  readonly #create: () => R
  readonly #records = new WeakMap<Layer, R>()
  /** By ordinal: the id of the newest layer at its last change. */
  #movedIn = new Int32Array(0)

  constructor(create: () => R) {
    this.#create = create
  }

  /** Called before the value of an ordinal changes, with each value that it has: no value if it is not in the index. */
  record(layer: Layer, ordinal: Ordinal, values: Iterable<V>): void {
    const since = this.#movedIn[ordinal] ?? 0
    if (since >= layer.id) return
    for (const value of values) this.#recordsOf(layer).add(value, ordinal, since)
    this.#movedIn = grown(this.#movedIn, ordinal + 1)
    this.#movedIn[ordinal] = layer.id
  }

  /** Whether the value of an ordinal has changed, or is new, since the pins of `layer` were created. */
  isMoved(layer: Layer, ordinal: Ordinal): boolean {
    return ordinal >= layer.limit || (this.#movedIn[ordinal] ?? 0) >= layer.id
  }

  /** Of a layer and all newer ones. Records with `since` below the id of `layer` are its values. */
  *since(layer: Layer): Iterable<R> {
    for (let each: Layer | undefined = layer; each !== undefined; each = each.newer) {
      const records = this.#records.get(each)
      if (records !== undefined) yield records
    }
  }

  /** Moves the records of a closed layer to the next older one. The smaller records are added to the larger ones. */
  merge(closed: Layer, older: Layer): void {
    const from = this.#records.get(closed)
    if (from === undefined) return
    const into = this.#recordsOf(older)
    if (into.size >= from.size) into.addAll(from, older.id)
    else {
      from.addAll(into, older.id)
      this.#records.set(older, from)
    }
  }

  #recordsOf(layer: Layer): R {
    let records = this.#records.get(layer)
    if (records === undefined) {
      records = this.#create()
      this.#records.set(layer, records)
    }
    return records
  }
}

export class MovedScalars implements MoveRecords<Scalar, MovedScalars> {
  readonly #byValue = new ScalarMap<{
    readonly value: Scalar
    readonly ordinals: Ordinal[]
    readonly since: number[]
  }>()
  size = 0

  add(value: Scalar, ordinal: Ordinal, since: number): void {
    let moved = this.#byValue.get(value)
    if (moved === undefined) {
      moved = { value, ordinals: [], since: [] }
      this.#byValue.set(value, moved)
    }
    moved.ordinals.push(ordinal)
    moved.since.push(since)
    this.size++
  }

  addAll(others: MovedScalars, below: number): void {
    for (const { value, ordinals, since } of others.#byValue.values()) {
      for (const [at, ordinal] of ordinals.entries()) {
        const from = since[at] ?? 0
        if (from < below) this.add(value, ordinal, from)
      }
    }
  }

  collect(value: Scalar, below: number, into: Ordinal[]): void {
    const moved = this.#byValue.get(value)
    moved?.ordinals.forEach((ordinal, at) => {
      if ((moved.since[at] ?? 0) < below) into.push(ordinal)
    })
  }

  *values(below: number): Iterable<Scalar> {
    for (const { value, since } of this.#byValue.values()) if (since.some((each) => each < below)) yield value
  }
}

/** A run is sorted when it has this many tuples: a sort of that size takes about 1 ms. */
const RUN = 2_048

export interface OrdinalTuple extends Keyed {
  readonly ordinal: Ordinal
}

/** A large write records all tuples, and few pins are ever queried: they are in runs, which a query searches. */
export class MovedTuples implements MoveRecords<Keyed, MovedTuples> {
  readonly #runs: Run[] = []
  size = 0

  add(element: Keyed, ordinal: Ordinal, since: number): void {
    let run = this.#runs.at(-1)
    if (run === undefined || run.size === RUN) {
      run?.sort()
      run = new Run()
      this.#runs.push(run)
    }
    run.add(element, ordinal, since)
    this.size++
  }

  addAll(others: MovedTuples, below: number): void {
    for (const run of others.#runs) {
      for (let slot = 0; slot < run.size; slot++) {
        const since = run.sinceAt(slot)
        if (since >= below) continue
        const element = run.at(slot)
        this.add(element, element.ordinal, since)
      }
    }
  }

  /** Returns the records of a span with `since` below an id: the first `limit` of each run, one run after the other. */
  in(span: Span, reverse: boolean, limit: number, below: number): OrdinalTuple[] {
    return this.#runs.flatMap((run) => run.in(span, reverse, limit, below))
  }
}

class Run {
  readonly #tuples = new SortedTuples()
  readonly #ordinals: Ordinal[] = []
  readonly #since: number[] = []

  get size(): number {
    return this.#ordinals.length
  }

  add({ tuple, key }: Keyed, ordinal: Ordinal, since: number): void {
    this.#tuples.set(this.size, tuple, key)
    this.#ordinals.push(ordinal)
    this.#since.push(since)
  }

  sort(): void {
    this.#tuples.sort()
  }

  at(slot: number): OrdinalTuple {
    return {
      tuple: this.#tuples.tupleAt(slot),
      key: this.#tuples.keyAt(slot),
      ordinal: this.#ordinals[slot] ?? 0,
    }
  }

  sinceAt(slot: number): number {
    return this.#since[slot] ?? 0
  }

  /** In order. */
  in(span: Span, reverse: boolean, limit: number, below: number): OrdinalTuple[] {
    this.sort()
    const found: OrdinalTuple[] = []
    const next = this.#tuples.walk(span, reverse)
    for (let slot = next(); slot >= 0 && found.length < limit; slot = next())
      if (this.sinceAt(slot) < below) found.push(this.at(slot))
    return found
  }
}
