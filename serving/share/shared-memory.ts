/** The size of a piece of memory in bytes, unless a block needs a larger one. */
const PIECE_BYTES = 1024 * 1024

/** Blocks in memory that threads share. */
export interface SharedBlocks {
  readonly pieces: readonly Uint8Array[]
  /** In shared memory: for each block the number of its piece, its start, its end, and its length uncompressed. */
  readonly places: Uint32Array
}

/** Appends blocks to pieces of shared memory. Small blocks share a piece. */
export class SharedBlockWriter {
  readonly #pieces: Uint8Array[] = []
  readonly #places: number[] = []
  #at = 0

  /** `length` is the length of the block before it was compressed. */
  add(block: Uint8Array, length: number): void {
    let piece = this.#pieces.at(-1)
    if (piece === undefined || this.#at + block.length > piece.length) {
      piece = sharedBytes(Math.max(PIECE_BYTES, block.length))
      this.#pieces.push(piece)
      this.#at = 0
    }
    piece.set(block, this.#at)
    this.#places.push(this.#pieces.length - 1, this.#at, this.#at + block.length, length)
    this.#at += block.length
  }

  end(): SharedBlocks {
    const places = new Uint32Array(new SharedArrayBuffer(this.#places.length * 4))
    places.set(this.#places)
    return { pieces: this.#pieces, places }
  }
}

export function sharedBytes(length: number): Uint8Array {
  return new Uint8Array(new SharedArrayBuffer(length))
}
