const NEWLINE = 0x0a

/** The bytes that are kept of a line that is too long, to find the object's name. */
const HEAD_BYTES = 64 * 1024

/** Receives one line; if it is too long, `isWhole` is false and only its beginning is passed. */
export type LineCallback = (bytes: Buffer, isWhole: boolean) => void

/** Splits the body of a watch into lines as it arrives. */
export class LineSplitter {
  readonly #callback: LineCallback
  readonly #maxBytes: number
  #pieces: Buffer[] = []
  #bytes = 0

  constructor(take: LineCallback, maxBytes: number) {
    this.#callback = take
    this.#maxBytes = maxBytes
  }

  /** Whether a line has begun and not ended. */
  get isInLine(): boolean {
    return this.#bytes > 0
  }

  push(chunk: Buffer): void {
    let begin = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, begin)) {
      this.#finish(chunk.subarray(begin, at))
      begin = at + 1
    }
    if (begin < chunk.length) this.#keep(begin === 0 ? chunk : chunk.subarray(begin))
  }

  #keep(bytes: Buffer): void {
    if (this.#bytes <= this.#maxBytes) this.#pieces.push(bytes)
    this.#bytes += bytes.length
  }

  #finish(rest: Buffer): void {
    const isWhole = this.#bytes + rest.length <= this.#maxBytes
    let line = rest
    if (this.#pieces.length > 0) {
      if (isWhole) this.#pieces.push(rest)
      line = isWhole ? Buffer.concat(this.#pieces) : Buffer.concat(this.#pieces, HEAD_BYTES)
      this.#pieces = []
    }
    this.#bytes = 0
    if (line.length > 0) this.#callback(isWhole ? line : Buffer.from(line.subarray(0, HEAD_BYTES)), isWhole)
  }
}
