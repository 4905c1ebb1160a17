import type { Ordinal } from '../ordinals.js'
import type { MoveRecords } from './moves.js'
import { type Scalar, ScalarMap } from './scalar.js'

/** The values of ordinals that moved in one layer, by value. */
export class MovedScalars implements MoveRecords<Scalar, MovedScalars> {
  readonly #byValue = new ScalarMap<{
    readonly value: Scalar
    readonly ordinals: Ordinal[]
    readonly since: number[]
  }>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(value: Scalar, ordinal: Ordinal, since: number): void {
    let moved = this.#byValue.get(value)
    if (moved === undefined) {
      moved = { value, ordinals: [], since: [] }
      this.#byValue.set(value, moved)
    }
    moved.ordinals.push(ordinal)
    moved.since.push(since)
    this.#size++
  }

  addAll(others: MovedScalars, below: number): void {
    for (const { value, ordinals, since } of others.#byValue.values()) {
      for (const [at, ordinal] of ordinals.entries()) {
        const from = since[at] ?? 0
        if (from < below) this.add(value, ordinal, from)
      }
    }
  }

  /** Adds the ordinals of a value with `since` below an id. */
  collect(value: Scalar, below: number, into: Ordinal[]): void {
    const moved = this.#byValue.get(value)
    moved?.ordinals.forEach((ordinal, at) => {
      if ((moved.since[at] ?? 0) < below) into.push(ordinal)
    })
  }

  /** Returns the values of records with `since` below an id. */
  *values(below: number): Iterable<Scalar> {
    for (const { value, since } of this.#byValue.values()) if (since.some((each) => each < below)) yield value
  }
}
