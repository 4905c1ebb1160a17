import { firstIndex } from '../../util/binary-search.js'
import { textOf } from './sections.js'

/** A block ends after this number of bytes. */
const BLOCK_BYTES = 128 * 1024

/** A block: the number of its records, the end of each, then their texts as UTF-8. All numbers are little-endian. */
export class BlockWriter {
  readonly #encoder = new TextEncoder()
  /** The number of the first record of each block. */
  readonly firsts: number[] = []
  /** The texts of the block. An array of its own for each text would cost as much as the rest of a save. */
  #bytes = new Uint8Array(2 * BLOCK_BYTES)
  /** The end of each text in `#bytes`. */
  readonly #ends: number[] = []
  #count = 0

  /** Adds a text. Returns a block if it is full. */
  add(text: string): Uint8Array<ArrayBuffer> | undefined {
    if (this.#ends.length === 0) this.firsts.push(this.#count)
    const start = this.#ends.at(-1) ?? 0
    // A code unit has at most three bytes.
    const most = start + text.length * 3
    if (most > this.#bytes.length) {
      const larger = new Uint8Array(most)
      larger.set(this.#bytes.subarray(0, start))
      this.#bytes = larger
    }
    const end = start + this.#encoder.encodeInto(text, this.#bytes.subarray(start)).written
    this.#ends.push(end)
    this.#count++
    return end >= BLOCK_BYTES ? this.end() : undefined
  }

  /** Returns the last block, if there is one. */
  end(): Uint8Array<ArrayBuffer> | undefined {
    const ends = this.#ends
    const length = ends.at(-1)
    if (length === undefined) return undefined
    const start = 4 + ends.length * 4
    const block = new Uint8Array(start + length)
    const view = new DataView(block.buffer)
    view.setUint32(0, ends.length, true)
    for (const [i, end] of ends.entries()) view.setUint32(4 + i * 4, start + end, true)
    block.set(this.#bytes.subarray(0, length), start)
    ends.length = 0
    return block
  }
}

/** The number of blocks that are kept for the next reads. */
const KEPT = 4

/** The texts of records by number, in blocks that are read when they are needed. */
export class PackedTexts {
  readonly #firsts: Uint32Array
  readonly #count: number
  readonly #block: (index: number) => Uint8Array
  readonly #kept = new Map<number, Uint8Array>()
  /** The errors of damaged blocks, which are not read again. */
  readonly #errors = new Map<number, unknown>()

  constructor(firsts: Uint32Array, count: number, block: (index: number) => Uint8Array) {
    this.#firsts = firsts
    this.#count = count
    this.#block = block
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
      block = this.#block(index)
    } catch (error) {
      this.#errors.set(index, error)
      throw error
    }
    const [oldest] = this.#kept.keys()
    if (this.#kept.size >= KEPT && oldest !== undefined) this.#kept.delete(oldest)
    this.#kept.set(index, block)
    return block
  }
}
