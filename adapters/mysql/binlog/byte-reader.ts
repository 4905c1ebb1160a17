import type { SourceError } from '../../../src/contract/errors.js'
import { refused } from '../../common/source-errors.js'

export function malformed(detail: string): SourceError {
  return refused(`the binary log cannot be read: ${detail}`)
}

/** Reads little-endian values of an event in order. Throws a SourceError with code `PROTOCOL` beyond the end. */
export class ByteReader {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  get left(): number {
    return this.bytes.length - this.at
  }

  /** Returns the position of the next `count` bytes, and moves behind them. */
  skip(count: number): number {
    const { at } = this
    if (!(count <= this.bytes.length - at)) throw malformed('an event is truncated')
    this.at = at + count
    return at
  }

  uint(size: number): number {
    return this.bytes.readUIntLE(this.skip(size), size)
  }

  uint64(): bigint {
    return this.bytes.readBigUInt64LE(this.skip(8))
  }

  /** A length-encoded integer of the client protocol. */
  length(): number {
    const first = this.uint(1)
    if (first < 0xfb) return first
    if (first === 0xfc) return this.uint(2)
    if (first === 0xfd) return this.uint(3)
    const value = first === 0xfe ? Number(this.uint64()) : Number.NaN
    if (!Number.isSafeInteger(value)) throw malformed('a length is wrong')
    return value
  }

  take(count: number): Buffer {
    const at = this.skip(count)
    return this.bytes.subarray(at, at + count)
  }

  text(count: number): string {
    const at = this.skip(count)
    return this.bytes.toString('utf8', at, at + count)
  }

  rest(): Buffer {
    return this.take(this.left)
  }
}
