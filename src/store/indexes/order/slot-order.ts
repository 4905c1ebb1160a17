import { firstIndex } from '../../../util/binary-search.js'
import type { Steps } from '../../../util/steps.js'
import { grown } from '../int32-list.js'
import { STEP } from './slot-sort.js'

/** A chunk with this many elements is split in two. */
const CHUNK = 256
/** The elements of a chunk after a sort, so that writes do not split all chunks at once. */
const FILLED = 192

/** A small integer that identifies an element of an order. */
export type Slot = number

/** A place between two elements. */
export interface Place {
  /** The position of the chunk in the order. */
  readonly chunk: number
  readonly at: number
}

/** Neighbours in one chunk. */
export interface Run {
  readonly id: number
  /** The positions in the chunk. */
  readonly from: number
  readonly to: number
}

/** Slots in an order: a list of chunks of slots, so that one write moves a part of one chunk only. */
export class SlotOrder {
  readonly #isAfter: (each: Slot, slot: Slot) => boolean
  readonly #changed: (id: number) => void
  readonly #chunks: number[] = []
  /** The first slot of each chunk, in the same order: a search for a chunk would wait for memory at each chunk. */
  readonly #firsts: Slot[] = []
  readonly #freeIds: number[] = []
  readonly #lengths: number[] = []
  /** The slots of each chunk: `CHUNK` places for each id. */
  #slots = new Int32Array(CHUNK)
  #chunkOf = new Int32Array(0)

  /** `changed` is called with the id of a chunk when its elements change. */
  constructor(isAfter: (each: Slot, slot: Slot) => boolean, changed: (id: number) => void) {
    this.#isAfter = isAfter
    this.#changed = changed
  }

  clear(): void {
    this.#chunks.length = 0
    this.#firsts.length = 0
    this.#freeIds.length = 0
    this.#lengths.length = 0
    this.#slots = new Int32Array(CHUNK)
    this.#chunkOf = new Int32Array(0)
  }

  /** Replaces the order by sorted slots below `limit`, a few at each step. */
  *fill(slots: Int32Array, limit: number): Steps {
    const count = slots.length
    this.clear()
    this.#slots = new Int32Array(Math.ceil(count / FILLED + 1) * CHUNK)
    this.#chunkOf = new Int32Array(limit)
    for (let from = 0; from < count; from += FILLED) {
      this.#fillChunk(this.#addChunk(this.#chunks.length), slots.subarray(from, from + FILLED))
      if (this.#chunks.length % (STEP / CHUNK) === 0) yield
    }
  }

  insert(slot: Slot): void {
    const last = this.#chunks.length - 1
    const end = this.#lengthOf(last)
    // Objects often arrive in the order of the index.
    if (last < 0 || !this.#isAfter(this.#slotAt(last, end - 1), slot)) {
      if (last >= 0 && end < CHUNK) this.#place(slot, last, end)
      else this.#place(slot, this.#addChunk(last + 1), 0)
      return
    }
    const chunk = Math.max(this.#firstAfter(slot, this.#firsts, 0, last + 1) - 1, 0)
    const length = this.#lengthOf(chunk)
    const start = (this.#chunks[chunk] ?? 0) * CHUNK
    const at = this.#firstAfter(slot, this.#slots, start, start + length) - start
    if (length === CHUNK) this.#split(chunk)
    if (length < CHUNK || at <= CHUNK / 2) this.#place(slot, chunk, at)
    else this.#place(slot, chunk + 1, at - CHUNK / 2)
  }

  /** Like `firstIndex` without new functions, which took as much memory as the rest of a change. */
  #firstAfter(slot: Slot, elements: ArrayLike<Slot>, from: number, to: number): number {
    let low = from
    let high = to
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#isAfter(elements[middle] ?? 0, slot)) high = middle
      else low = middle + 1
    }
    return low
  }

  remove(slot: Slot): void {
    const id = this.chunkOf(slot)
    const start = id * CHUNK
    const length = this.lengthOf(id)
    const at = this.#slots.indexOf(slot, start)
    if (at < 0 || at >= start + length) throw new Error('a sorted index lost an element')
    this.#slots.copyWithin(at, at + 1, start + length)
    this.#lengths[id] = length - 1
    this.#changed(id)
    if (at > start) return
    const chunk = this.#chunks.indexOf(id)
    this.#firsts[chunk] = this.#slots[start] ?? 0
    if (length > 1) return
    this.#firsts.splice(chunk, 1)
    this.#chunks.splice(chunk, 1)
    this.#freeIds.push(id)
  }

  chunkOf(slot: Slot): number {
    return this.#chunkOf[slot] ?? 0
  }

  lengthOf(id: number): number {
    return this.#lengths[id] ?? 0
  }

  slotAt(id: number, at: number): Slot {
    return this.#slots[id * CHUNK + at] ?? 0
  }

  /** Returns the place before the first element that is past a place. `isPast` is false for a head of the order. */
  placeOf(isPast: (slot: Slot) => boolean): Place {
    const past = firstIndex(this.#chunks.length, (chunk) => isPast(this.#firsts[chunk] ?? 0))
    const chunk = Math.max(past - 1, 0)
    return { chunk, at: firstIndex(this.#lengthOf(chunk), (at) => isPast(this.#slotAt(chunk, at))) }
  }

  /** Returns the elements between two places: the first `limit` of them in the order, or in the reverse order. */
  runs(from: Place, to: Place, reverse: boolean, limit: number): Run[] {
    const runs: Run[] = []
    const count = Math.max(to.chunk - from.chunk + 1, 0)
    let left = limit
    for (let nth = 0; nth < count && left > 0; nth++) {
      const chunk = reverse ? to.chunk - nth : from.chunk + nth
      const first = chunk === from.chunk ? from.at : 0
      const end = chunk === to.chunk ? to.at : this.#lengthOf(chunk)
      const length = Math.min(Math.max(end - first, 0), left)
      left -= length
      const start = reverse ? end - length : first
      if (length > 0) runs.push({ id: this.#chunks[chunk] ?? 0, from: start, to: start + length })
    }
    return runs
  }

  slotsOf(runs: readonly Run[], reverse: boolean): readonly Slot[] {
    const found: Slot[] = []
    for (const { id, from, to } of runs) {
      const start = id * CHUNK
      if (reverse) for (let i = start + to - 1; i >= start + from; i--) found.push(this.#slots[i] ?? 0)
      else for (let i = start + from; i < start + to; i++) found.push(this.#slots[i] ?? 0)
    }
    return found
  }

  /** Returns a function that returns the next slot, and -1 at the end. Writes make it invalid. */
  walk(from: Place, to: Place, reverse: boolean): () => Slot {
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

  count(from: Place, to: Place): number {
    let count = to.at - from.at
    for (let chunk = from.chunk; chunk < to.chunk; chunk++) count += this.#lengthOf(chunk)
    return count
  }

  copy(): Int32Array {
    const order = new Int32Array(this.#chunks.reduce((sum, id) => sum + this.lengthOf(id), 0))
    let at = 0
    for (const id of this.#chunks) {
      const length = this.lengthOf(id)
      order.set(this.#slots.subarray(id * CHUNK, id * CHUNK + length), at)
      at += length
    }
    return order
  }

  /** Inserts a slot at a position of a chunk that is not full. */
  #place(slot: Slot, chunk: number, at: number): void {
    const id = this.#chunks[chunk] ?? 0
    const length = this.lengthOf(id)
    const start = id * CHUNK
    this.#slots.copyWithin(start + at + 1, start + at, start + length)
    this.#slots[start + at] = slot
    if (at === 0) this.#firsts[chunk] = slot
    this.#lengths[id] = length + 1
    this.#chunkOf = grown(this.#chunkOf, slot + 1)
    this.#chunkOf[slot] = id
    this.#changed(id)
  }

  #split(chunk: number): void {
    const id = this.#chunks[chunk] ?? 0
    const start = id * CHUNK
    const upper = this.#slots.slice(start + CHUNK / 2, start + CHUNK)
    this.#lengths[id] = CHUNK / 2
    this.#changed(id)
    this.#fillChunk(this.#addChunk(chunk + 1), upper)
  }

  #addChunk(chunk: number): number {
    const id = this.#freeIds.pop() ?? this.#lengths.length
    this.#slots = grown(this.#slots, (id + 1) * CHUNK)
    this.#lengths[id] = 0
    this.#chunks.splice(chunk, 0, id)
    this.#firsts.splice(chunk, 0, 0)
    return chunk
  }

  #fillChunk(chunk: number, slots: Int32Array): void {
    const id = this.#chunks[chunk] ?? 0
    this.#slots.set(slots, id * CHUNK)
    this.#lengths[id] = slots.length
    this.#firsts[chunk] = slots[0] ?? 0
    for (const slot of slots) this.#chunkOf[slot] = id
  }

  #lengthOf(chunk: number): number {
    return this.#lengths[this.#chunks[chunk] ?? -1] ?? 0
  }

  #slotAt(chunk: number, at: number): Slot {
    return this.#slots[(this.#chunks[chunk] ?? 0) * CHUNK + at] ?? 0
  }
}
