/** An answer of keys alone has an empty value for each key. */
const NO_BYTES: Buffer = Buffer.alloc(0)

/** Reads one protobuf message, field by field. It copies nothing: the bytes that it returns belong to the message. */
export class WireReader {
  /** The bytes of the response that the message is a part of. */
  readonly source: Buffer
  readonly #end: number
  at: number

  constructor(source: Buffer, at = 0, end: number = source.length) {
    this.source = source
    this.at = at
    this.#end = end
  }

  /** The field number times 8, plus the wire type; 0 at the end of the message. */
  tag(): number {
    return this.at < this.#end ? this.varint() : 0
  }

  /** Exact below 2^53; etcd's revisions are. */
  varint(): number {
    const bytes = this.source
    let byte = this.#byte()
    let value = byte & 0x7f
    for (let shift = 7; byte > 0x7f && shift < 28; shift += 7) {
      byte = bytes[this.at++] ?? 0
      value |= (byte & 0x7f) << shift
    }
    for (let factor = 2 ** 28; byte > 0x7f; factor *= 128) {
      byte = this.#byte()
      value += (byte & 0x7f) * factor
    }
    return value
  }

  uint64(): bigint {
    let value = 0n
    let byte = 0x80
    for (let shift = 0n; byte > 0x7f; shift += 7n) {
      byte = this.#byte()
      value |= BigInt(byte & 0x7f) << shift
    }
    return BigInt.asUintN(64, value)
  }

  bytes(): Buffer {
    const end = this.#endOfNext()
    if (end === this.at) return NO_BYTES
    const bytes = this.source.subarray(this.at, end)
    this.at = end
    return bytes
  }

  /** Passes the bytes that `bytes` would return. Returns how many they are; they end at `at`. */
  passBytes(): number {
    const end = this.#endOfNext()
    const length = end - this.at
    this.at = end
    return length
  }

  message(): WireReader {
    const end = this.#endOfNext()
    const inner = new WireReader(this.source, this.at, end)
    this.at = end
    return inner
  }

  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        while (this.#byte() > 0x7f);
        break
      case 1:
        this.at += 8
        break
      case 2:
        this.at = this.#endOfNext()
        break
      case 5:
        this.at += 4
        break
      default:
        throw new RangeError(`a field of wire type ${tag & 7}`)
    }
  }

  #endOfNext(): number {
    const end = this.varint() + this.at
    if (end > this.#end) throw new RangeError('a field is longer than its message')
    return end
  }

  #byte(): number {
    const byte = this.source[this.at++]
    if (byte === undefined) throw new RangeError('the message ends in the middle of a number')
    return byte
  }
}

/** Writes one protobuf message. As in proto3, it omits fields that are 0, false or empty. */
export class WireWriter {
  readonly #parts: Buffer[] = []

  number(field: number, value: number): this {
    if (value !== 0) this.#parts.push(varint(field * 8), varint(value))
    return this
  }

  bytes(field: number, value: Uint8Array): this {
    if (value.length > 0) this.message(field, value)
    return this
  }

  /** Unlike `bytes`, it writes an empty value too. */
  message(field: number, value: Uint8Array): this {
    this.#parts.push(varint(field * 8 + 2), varint(value.length), Buffer.from(value))
    return this
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  let left = value
  for (; left > 0x7f; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80)
  bytes.push(left)
  return Buffer.from(bytes)
}
