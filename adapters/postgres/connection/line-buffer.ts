import { constants, isAscii } from 'node:buffer'

const TAB = 0x09
const NEWLINE = 0x0a
/** The number of bytes of a field of a long line that are kept: more than those of a key. */
const MOST_OF_FIELD = 65_536
/** A text that a parser cuts out of its line may keep the whole block in memory, so a block is small. */
const BLOCK_BYTES = 8_192

/**
 * Called with each line, without its end. If `bytes` is present, each character of the line is a byte of `bytes`, and
 * the first one is at the position `at`. The bytes are overwritten later.
 */
export type OnLine<R = void> = (line: string, bytes: Buffer | undefined, at: number) => R
/** Called with a line that is longer than a string can be: its fields, cut off, and its length in bytes. */
export type OnLongLine<R = void> = (fields: readonly string[], length: number) => R

/** Collects lines in UTF-8 and converts many of them at once, which is faster than one by one. */
export class LineBuffer {
  readonly #onLine: OnLine
  readonly #onLongLine: OnLongLine
  readonly #longest: number
  #bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  #used = 0

  constructor(onLine: OnLine, onLongLine: OnLongLine, longest: number = constants.MAX_STRING_LENGTH) {
    this.#onLine = onLine
    this.#onLongLine = onLongLine
    this.#longest = longest
  }

  /** Copies the chunk. It may end within a line or a character. */
  push(chunk: Buffer): void {
    if (chunk.length > this.#bytes.length - this.#used) this.#makeSpace(chunk.length)
    this.#bytes.set(chunk, this.#used)
    this.#used += chunk.length
  }

  flush(): void {
    if (this.#used === 0) return
    const end = this.#bytes.lastIndexOf(NEWLINE, this.#used - 1)
    if (end === -1) return
    const block = this.#bytes.subarray(0, end)
    if (end <= this.#longest && isAscii(block)) this.#readAscii(block)
    else this.#readUtf8(block)
    if (end + 1 < this.#used) this.#bytes.copyWithin(0, end + 1, this.#used)
    this.#used -= end + 1
  }

  #makeSpace(length: number): void {
    this.flush()
    const needed = this.#used + length
    const { length: size } = this.#bytes
    if (needed <= size && size <= Math.max(BLOCK_BYTES, 8 * needed)) return
    // A long line gets a larger buffer, and short lines after it get a small one again.
    const bytes = Buffer.allocUnsafeSlow(needed <= BLOCK_BYTES ? BLOCK_BYTES : needed + BLOCK_BYTES)
    this.#bytes.copy(bytes, 0, 0, this.#used)
    this.#bytes = bytes
  }

  #readAscii(block: Buffer): void {
    const text = block.toString('latin1')
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#onLine(text.slice(start, end), block, start)
      start = end + 1
    }
    this.#onLine(text.slice(start), block, start)
  }

  #readUtf8(block: Buffer): void {
    let start = 0
    while (start <= block.length) {
      const newline = block.indexOf(NEWLINE, start)
      const end = newline === -1 ? block.length : newline
      if (end - start > this.#longest) this.#onLongLine(this.#cutFields(block.subarray(start, end)), end - start)
      else {
        const line = block.toString('utf8', start, end)
        if (isAscii(block.subarray(start, end))) this.#onLine(line, block, start)
        else this.#onLine(line, undefined, 0)
      }
      start = end + 1
    }
  }

  #cutFields(line: Buffer): string[] {
    const fields: string[] = []
    for (let start = 0; start <= line.length; ) {
      const tab = line.indexOf(TAB, start)
      const end = tab === -1 ? line.length : tab
      fields.push(line.toString('utf8', start, Math.min(end, start + this.#longest, start + MOST_OF_FIELD)))
      start = end + 1
    }
    return fields
  }
}
