import type { Run, SlotOrder } from './slot-order.js'

/** The reads of a chunk since its last change, and its objects. */
interface Chunk<T> {
  /** The number of elements that ranges have read. */
  reads: number
  /** Its objects in order, if ranges have read as many elements as it has. */
  objects: readonly T[] | undefined
}

/**
 * The objects of the chunks that ranges read. They are next to each other in memory, so that a range that is read again
 * does not wait for each object. A change of a chunk discards its objects.
 */
export class ChunkObjects<T> {
  readonly #order: SlotOrder
  readonly #objectAt: (slot: number) => T
  /** By id of the chunk. */
  readonly #chunks = new Map<number, Chunk<T>>()

  constructor(order: SlotOrder, objectAt: (slot: number) => T) {
    this.#order = order
    this.#objectAt = objectAt
  }

  /** Returns the objects of runs. */
  read(runs: readonly Run[], reverse: boolean): readonly T[] {
    const found: T[] = []
    for (const run of runs) {
      const objects = this.#objectsOf(run)
      const { from, to } = run
      if (objects === undefined)
        for (const slot of this.#order.slotsOf([run], reverse)) found.push(this.#objectAt(slot))
      else if (reverse) for (let at = to - 1; at >= from; at--) found.push(objects[at] as T)
      else for (let at = from; at < to; at++) found.push(objects[at] as T)
    }
    return found
  }

  /** Called when the elements of a chunk change, or an object of it. */
  changed(id: number): void {
    if (this.#chunks.size > 0) this.#chunks.delete(id)
  }

  clear(): void {
    this.#chunks.clear()
  }

  #objectsOf({ id, from, to }: Run): readonly T[] | undefined {
    let chunk = this.#chunks.get(id)
    if (chunk === undefined) {
      chunk = { reads: 0, objects: undefined }
      this.#chunks.set(id, chunk)
    }
    if (chunk.objects !== undefined) return chunk.objects
    const length = this.#order.lengthOf(id)
    chunk.reads += to - from
    // Before that, most reads of a chunk that changes often would read the rest of it in vain.
    if (chunk.reads < length) return undefined
    const objects = new Array<T>(length)
    for (let at = 0; at < length; at++) objects[at] = this.#objectAt(this.#order.slotAt(id, at))
    chunk.objects = objects
    return objects
  }
}
