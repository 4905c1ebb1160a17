import type { Layer, Ordinal } from '../ordinals.js'
import { grown } from './int32-list.js'

/** Index values of ordinals, as they were. `since` is the id of the layer in which the ordinal got the value. */
export interface MoveRecords<V, R> {
  readonly size: number
  add(value: V, ordinal: Ordinal, since: number): void
  /** Adds the records with `since` below an id. */
  addAll(others: R, below: number): void
}

/**
 * The ordinals whose value in one index has changed while pins were open, and their old values, by the layer in which
 * they changed. All other ordinals have the value of the index in every pin.
 */
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

  /**
   * Returns the records of a layer and of all newer ones. Those with `since` below the id of `layer` are its values.
   */
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
