import type { FileHandle } from 'node:fs/promises'
import {
  checksumOf,
  damaged,
  decodeFrame,
  FRAME_BYTES,
  type Frame,
  type Prelude,
  UnusableFile,
} from './block-format.js'

/** How much of a file is read at a time. The event loop turns between two reads. */
const CHUNK_BYTES = 1024 * 1024

/** The part of the file that a scan reads. */
export interface ScanRange {
  readonly from: number
  readonly end: number
  /** The number of the first block. */
  readonly index: number
}

/** What a scan does with the payload of a block. */
export interface Payload {
  /** The memory for the payload. Undefined if its checksum is enough. */
  readonly memory: Uint8Array | undefined
  /** Called when the payload is complete and its checksum is right. Returns whether the scan is to end. */
  checked(): boolean
}

/**
 * Reads blocks from a file, and checks all of their bytes. `visit` is called with each frame and the position of its
 * payload. Returns the position after the last block.
 *
 * @throws UnusableFile if a byte is not the one that was written, or the file ends before the scan.
 */
export async function scanFile(
  handle: FileHandle,
  prelude: Prelude,
  { from, end, index }: ScanRange,
  visit: (frame: Frame, position: number) => Payload,
): Promise<number> {
  const scan = new Scan(prelude, { from, end, index }, visit)
  const buffers = [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)] as const
  let askedTo = from
  const ask = (nth: number): Promise<Buffer> => {
    const at = askedTo
    const buffer = buffers[nth % 2 === 0 ? 0 : 1]
    const reading = readFully(handle, buffer.subarray(0, Math.min(CHUNK_BYTES, end - at)), at)
    askedTo += Math.min(CHUNK_BYTES, end - at)
    // Its error is thrown when the chunk is needed.
    reading.catch(() => {})
    return reading
  }
  let next = ask(0)
  try {
    for (let nth = 1; ; nth++) {
      const chunk = await next
      if (chunk.length === 0) throw new UnusableFile('it ends early')
      // The other buffer is filled while this one is checked.
      next = ask(nth)
      if (scan.take(chunk)) return scan.position
    }
  } finally {
    await next.catch(() => {})
  }
}

async function readFully(handle: FileHandle, buffer: Buffer, from: number): Promise<Buffer> {
  let length = 0
  while (length < buffer.length) {
    const { bytesRead } = await handle.read(buffer, length, buffer.length - length, from + length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return buffer.subarray(0, length)
}

class Scan {
  readonly #prelude: Prelude
  readonly #visit: (frame: Frame, position: number) => Payload
  readonly #end: number
  readonly #frameBytes = Buffer.alloc(FRAME_BYTES)
  /** The number of bytes of the frame, or of the payload, that were taken. */
  #taken = 0
  #index: number
  #current: { readonly frame: Frame; readonly payload: Payload; checksum: number } | undefined
  /** The position of the next byte. */
  position: number

  constructor(prelude: Prelude, { from, end, index }: ScanRange, visit: (frame: Frame, position: number) => Payload) {
    this.#prelude = prelude
    this.#visit = visit
    this.position = from
    this.#end = end
    this.#index = index
  }

  /** Takes the next bytes. Returns whether the scan has ended. */
  take(chunk: Buffer): boolean {
    let at = 0
    while (at < chunk.length) {
      const current = this.#current
      const missing = (current?.frame.length ?? FRAME_BYTES) - this.#taken
      const bytes = chunk.subarray(at, at + missing)
      if (current === undefined) bytes.copy(this.#frameBytes, this.#taken)
      else {
        current.checksum = checksumOf(this.#prelude, bytes, current.checksum)
        current.payload.memory?.set(bytes, this.#taken)
      }
      at += bytes.length
      this.position += bytes.length
      this.#taken += bytes.length
      if (bytes.length === missing && this.#isOver()) return true
    }
    return false
  }

  /** A frame or a payload is complete. */
  #isOver(): boolean {
    this.#taken = 0
    const current = this.#current
    if (current === undefined) {
      const frame = decodeFrame(this.#prelude, this.#index++, this.#frameBytes)
      if (frame.length > this.#end - this.position) throw new UnusableFile('it ends early')
      const checksum = checksumOf(this.#prelude, new Uint8Array(0))
      this.#current = { frame, payload: this.#visit(frame, this.position), checksum }
      return frame.length === 0 && this.#isOver()
    }
    this.#current = undefined
    if (current.checksum !== current.frame.checksum) throw damaged(current.frame.index)
    return current.payload.checked()
  }
}
