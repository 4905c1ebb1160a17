import { grown } from '../indexes/int32-list.js'

/** Chunks become larger up to this size. */
const CHUNK_BYTES = 1024 * 1024
const FIRST_CHUNK_BYTES = 4096
/** The ends of strings are numbers of 31 bits. */
const MAX_BYTES = 2 ** 31 - 1

export interface Bytes {
  readonly length: number
  readonly chunks: readonly Uint8Array<ArrayBuffer>[]
}

/** Each code unit of a string has one byte, or two if one of them needs two: lone surrogates come back, too. */
export class StringsWriter {
  /** For each string: twice the position of its end, plus 1 if it has two bytes for each code unit. */
  #ends = new Int32Array(256)
  #count = 0
  readonly #full: Uint8Array<ArrayBuffer>[] = []
  #chunk = new Uint8Array(FIRST_CHUNK_BYTES)
  /** The position in the chunk, and in all of them. */
  #at = 0
  #length = 0

  add(text: string): number {
    const width = isNarrow(text) ? 1 : 2
    const size = text.length * width
    if (this.#length + size > MAX_BYTES) throw new RangeError('the keys have more than 2 GB')
    if (this.#at + size > this.#chunk.length) this.#nextChunk(size)
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      this.#chunk[this.#at++] = unit
      if (width === 2) this.#chunk[this.#at++] = unit >> 8
    }
    this.#length += size
    this.#ends = grown(this.#ends, this.#count + 1)
    this.#ends[this.#count] = this.#length * 2 + (width - 1)
    return this.#count++
  }

  get ends(): Uint32Array<ArrayBuffer> {
    return new Uint32Array(this.#ends.buffer, 0, this.#count)
  }

  get pool(): Bytes {
    return { length: this.#length, chunks: [...this.#full, this.#chunk.subarray(0, this.#at)] }
  }

  #nextChunk(size: number): void {
    this.#full.push(this.#chunk.subarray(0, this.#at))
    this.#chunk = new Uint8Array(Math.max(Math.min(CHUNK_BYTES, this.#chunk.length * 2), size))
    this.#at = 0
  }
}

function isNarrow(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 255) return false
  return true
}

export class PackedStrings {
  readonly #ends: Uint32Array
  readonly #pool: Uint8Array

  constructor(ends: Uint32Array, pool: Uint8Array) {
    this.#ends = ends
    this.#pool = pool
  }

  at(i: number): string {
    const [start, end, width] = this.#placeOf(i)
    const pool = this.#pool
    let text = ''
    let units: number[] = []
    for (let at = start; at < end; at += width) {
      units.push(width === 1 ? (pool[at] ?? 0) : (pool[at] ?? 0) | ((pool[at + 1] ?? 0) << 8))
      if (units.length < 4_096) continue
      text += String.fromCharCode(...units)
      units = []
    }
    return text + String.fromCharCode(...units)
  }

  equals(i: number, text: string): boolean {
    const [start, end, width] = this.#placeOf(i)
    if (text.length * width !== end - start) return false
    const pool = this.#pool
    for (let unit = 0, at = start; at < end; unit++, at += width) {
      const packed = width === 1 ? pool[at] : (pool[at] ?? 0) | ((pool[at + 1] ?? 0) << 8)
      if (packed !== text.charCodeAt(unit)) return false
    }
    return true
  }

  #placeOf(i: number): readonly [start: number, end: number, width: 1 | 2] {
    const end = this.#ends[i] ?? 0
    const start = i === 0 ? 0 : (this.#ends[i - 1] ?? 0)
    return [start >>> 1, end >>> 1, (end & 1) === 1 ? 2 : 1]
  }
}
