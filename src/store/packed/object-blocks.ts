import type { PackedContent } from '../../contract/mirror-cache.js'
import { firstIndex } from '../../util/binary-search.js'
import { textOf } from './sections.js'

/** A block ends after this number of bytes, if its writer has no other number. */
const BLOCK_BYTES = 128 * 1024

/** A block: the number of its records, the end of each, then their texts as UTF-8. All numbers are little-endian. */
export class TextsWriter {
  readonly #encoder = new TextEncoder()
  readonly #limit: number
  /** The number of the first record of each block. */
  readonly firsts: number[] = []
  /** The texts of the next block, one after the other. The memory is used again for each block. */
  #texts: Uint8Array
  #ends: number[] = []
  #count = 0

  constructor(limit: number = BLOCK_BYTES) {
    this.#limit = limit
    this.#texts = new Uint8Array(limit * 2)
  }

  add(text: string): Uint8Array<ArrayBuffer> | undefined {
    if (this.#ends.length === 0) this.firsts.push(this.#count)
    const start = this.#ends.at(-1) ?? 0
    // Three bytes are enough for each code unit.
    if (start + text.length * 3 > this.#texts.length) this.#grow(start, start + text.length * 3)
    const end = start + this.#encoder.encodeInto(text, this.#texts.subarray(start)).written
    this.#ends.push(end)
    this.#count++
    return end >= this.#limit ? this.end() : undefined
  }

  end(): Uint8Array<ArrayBuffer> | undefined {
    const ends = this.#ends
    const size = ends.at(-1)
    if (size === undefined) return undefined
    const head = 4 + ends.length * 4
    const block = new Uint8Array(head + size)
    block.set(this.#texts.subarray(0, size), head)
    const view = new DataView(block.buffer)
    view.setUint32(0, ends.length, true)
    for (const [i, end] of ends.entries()) view.setUint32(4 + i * 4, head + end, true)
    this.#ends = []
    // The memory of one large object is not kept.
    if (this.#texts.length > this.#limit * 4) this.#texts = new Uint8Array(this.#limit * 2)
    return block
  }

  #grow(used: number, length: number): void {
    const larger = new Uint8Array(Math.max(length, this.#texts.length * 2))
    larger.set(this.#texts.subarray(0, used))
    this.#texts = larger
  }
}

type Blocks = Pick<PackedContent, 'block' | 'release'>

/** The number of blocks that are kept for the next reads. */
const KEPT = 4

/** The texts of records by number, in blocks that are read when they are needed. */
export class PackedTexts {
  readonly #firsts: Uint32Array
  readonly #count: number
  readonly #blocks: Blocks
  readonly #kept = new Map<number, Uint8Array>()
  /** The errors of damaged blocks, which are not read again. */
  readonly #errors = new Map<number, unknown>()

  constructor(firsts: Uint32Array, count: number, blocks: Blocks) {
    this.#firsts = firsts
    this.#count = count
    this.#blocks = blocks
  }

  /** @throws RangeError if there is none; and whatever reading a block throws. */
  at(i: number): string {
    if (i >= this.#count) throw new RangeError(`there is no record ${i}`)
    const index = firstIndex(this.#firsts.length, (at) => (this.#firsts[at] ?? 0) > i) - 1
    const block = this.#blockAt(index)
    const view = new DataView(block.buffer, block.byteOffset, block.byteLength)
    const nth = i - (this.#firsts[index] ?? 0)
    const count = view.getUint32(0, true)
    if (nth >= count) throw new RangeError(`block ${index} has ${count} records`)
    const start = nth === 0 ? 4 + count * 4 : view.getUint32(nth * 4, true)
    return textOf(block.subarray(start, view.getUint32(4 + nth * 4, true)))
  }

  #blockAt(index: number): Uint8Array {
    const kept = this.#kept.get(index)
    if (kept !== undefined) return kept
    if (this.#errors.has(index)) throw this.#errors.get(index)
    let block: Uint8Array
    try {
      block = this.#blocks.block(index)
    } catch (error) {
      this.#errors.set(index, error)
      throw error
    }
    const [oldest] = this.#kept
    if (this.#kept.size >= KEPT && oldest !== undefined) {
      this.#kept.delete(oldest[0])
      this.#blocks.release?.(oldest[1])
    }
    this.#kept.set(index, block)
    return block
  }
}
