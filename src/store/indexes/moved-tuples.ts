import type { Ordinal } from '../ordinals.js'
import type { MoveRecords } from './moves.js'
import { type Keyed, SortedTuples, type Span } from './sorted-tuples.js'

/** A run is sorted when it has this many tuples: a sort of that size takes about 1 ms. */
const RUN = 2_048

/** A tuple with the ordinal that had it. */
export interface OrdinalTuple extends Keyed {
  readonly ordinal: Ordinal
}

/**
 * The tuples of ordinals that moved in one layer. A large write records all of them, and few pins are ever queried. So
 * they are in sorted runs: a query searches each of them.
 */
export class MovedTuples implements MoveRecords<Keyed, MovedTuples> {
  readonly #runs: Run[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  add(element: Keyed, ordinal: Ordinal, since: number): void {
    let run = this.#runs.at(-1)
    if (run === undefined || run.size === RUN) {
      run?.sort()
      run = new Run()
      this.#runs.push(run)
    }
    run.add(element, ordinal, since)
    this.#size++
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
