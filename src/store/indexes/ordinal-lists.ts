import type { Ordinal } from '../ordinals.js'
import { Int32List } from './int32-list.js'

const CHUNK = 16
/** The numbers before its elements: the position of the element before them, and how many elements are before them. */
const HEAD = 2

/** The end of a list in `OrdinalLists`. */
export interface OrdinalList {
  /** The position of the last element; 0 if there is none. */
  last: number
  length: number
}

/**
 * Many lists of ordinals outside of the heap: chains of chunks. An element keeps its position until it is removed. An
 * addition reads only `OrdinalList`: the ends of many arrays are rarely in the processor's cache.
 */
export class OrdinalLists {
  readonly #numbers = new Int32List()
  /** The start of the next chunk that was never used. No element has position 0. */
  #unused = CHUNK
  /** The start of the first free chunk, which has that of the next one; 0 if there is none. */
  #free = 0

  get(position: number): Ordinal {
    return this.#numbers.get(position)
  }

  set(position: number, ordinal: Ordinal): void {
    this.#numbers.set(position, ordinal)
  }

  countBefore(position: number): number {
    const offset = position % CHUNK
    return this.#numbers.get(position - offset + 1) + offset - HEAD
  }

  push(list: OrdinalList, ordinal: Ordinal): number {
    const isFull = list.last === 0 || list.last % CHUNK === CHUNK - 1
    const position = isFull ? this.#newChunk(list) + HEAD : list.last + 1
    this.#numbers.set(position, ordinal)
    list.last = position
    list.length++
    return position
  }

  pop(list: OrdinalList): void {
    const { last } = list
    list.last = this.#before(last)
    list.length--
    if (last % CHUNK !== HEAD) return
    this.#numbers.set(last - HEAD, this.#free)
    this.#free = last - HEAD
  }

  ordinalsOf(list: OrdinalList): Ordinal[] {
    const ordinals = new Array<Ordinal>(list.length)
    let position = list.last
    for (let i = list.length - 1; i >= 0; i--) {
      ordinals[i] = this.#numbers.get(position)
      position = this.#before(position)
    }
    return ordinals
  }

  some(list: OrdinalList, test: (ordinal: Ordinal) => boolean): boolean {
    for (let position = list.last; position !== 0; position = this.#before(position))
      if (test(this.#numbers.get(position))) return true
    return false
  }

  clear(): void {
    this.#numbers.clear()
    this.#unused = CHUNK
    this.#free = 0
  }

  #before(position: number): number {
    return position % CHUNK === HEAD ? this.#numbers.get(position - HEAD) : position - 1
  }

  #newChunk({ last, length }: OrdinalList): number {
    const start = this.#free === 0 ? this.#unused : this.#free
    if (this.#free === 0) this.#unused += CHUNK
    else this.#free = this.#numbers.get(start)
    this.#numbers.set(start, last)
    this.#numbers.set(start + 1, length)
    return start
  }
}
