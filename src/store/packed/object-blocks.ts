import { firstIndex } from '../../util/binary-search.js'
import { textOf } from './sections.js'

/** A block ends after this number of bytes, if its writer has no other number. */
const BLOCK_BYTES = 128 * 1024

/** A block: the number of its records, the end of each, then their texts as UTF-8. All numbers are little-endian. */
export class BlockWriter {
  readonly #encoder = new TextEncoder()
  readonly #limit: number
  /** The number of the first record of each block. */
  readonly firsts: number[] = []
  #texts: Uint8Array[] = []
  #bytes = 0
  #count = 0

  constructor(limit: number = BLOCK_BYTES) {
    this.#limit = limit
  }

  /** Adds a text. Returns a block if it is full. */
  add(text: string): Uint8Array<ArrayBuffer> | undefined {
    if (this.#texts.length === 0) this.firsts.push(this.#count)
    const bytes = this.#encoder.encode(text)
    this.#texts.push(bytes)
    this.#bytes += bytes.length
    this.#count++
    return this.#bytes >= this.#limit ? this.end() : undefined
  }

  /** Returns the last block, if there is one. */
  end(): Uint8Array<ArrayBuffer> | undefined {
    const texts = this.#texts
    if (texts.length === 0) return undefined
    let end = 4 + texts.length * 4
    const block = new Uint8Array(end + this.#bytes)
    const view = new DataView(block.buffer)
    view.setUint32(0, texts.length, true)
    for (const [i, text] of texts.entries()) {
      block.set(text, end)
      end += text.length
      view.setUint32(4 + i * 4, end, true)
    }
    this.#texts = []
    this.#bytes = 0
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
