import { isAscii } from 'node:buffer'

const NEWLINE = 0x0a

/** The bytes that are kept of a line that is too long, to find the object's name. */
const HEAD_BYTES = 64 * 1024

/** One or more whole lines, with a newline between two of them; or only the beginning of a line that is too long. */
export interface LineBlock {
  readonly bytes: Buffer
  readonly isWhole: boolean
}

/** Returns the lines. Those of an ASCII block are converted to text at once, which is faster, and may be empty. */
export function linesOf({ bytes, isWhole }: LineBlock): readonly (string | Buffer)[] {
  if (!isWhole) return [bytes]
  return isAscii(bytes) ? bytes.toString('latin1').split('\n') : byteLinesOf(bytes)
}

export function byteLinesOf(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = []
  let begin = 0
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, begin)) {
    if (at > begin) lines.push(bytes.subarray(begin, at))
    begin = at + 1
  }
  if (begin < bytes.length) lines.push(bytes.subarray(begin))
  return lines
}

/** Splits the body of a watch into blocks of lines as it arrives. */
export class LineSplitter {
  readonly #callback: (block: LineBlock) => void
  readonly #maxBytes: number
  #pieces: Buffer[] = []
  #bytes = 0

  /** A line of more than `maxBytes` is too long. */
  constructor(callback: (block: LineBlock) => void, maxBytes: number) {
    this.#callback = callback
    this.#maxBytes = maxBytes
  }

  get isInLine(): boolean {
    return this.#bytes > 0
  }

  push(chunk: Buffer): void {
    const last = chunk.lastIndexOf(NEWLINE)
    let begin = 0
    if (this.isInLine && last !== -1) {
      const end = chunk.indexOf(NEWLINE)
      this.#finish(chunk.subarray(0, end))
      begin = end + 1
    }
    if (last >= begin) {
      this.#wholeLines(chunk.subarray(begin, last))
      begin = last + 1
    }
    if (begin < chunk.length) this.#keep(begin === 0 ? chunk : chunk.subarray(begin))
  }

  #wholeLines(bytes: Buffer): void {
    if (bytes.length > this.#maxBytes) for (const line of byteLinesOf(bytes)) this.#finish(line)
    else if (bytes.length > 0) this.#callback({ bytes, isWhole: true })
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
    if (line.length === 0) return
    this.#callback({ bytes: isWhole ? line : Buffer.from(line.subarray(0, HEAD_BYTES)), isWhole })
  }
}
