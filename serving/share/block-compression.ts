import { promisify } from 'node:util'
import { deflateRaw, deflateRawSync, inflateRawSync } from 'node:zlib'

/** A larger block is compressed in another thread. */
const LARGE_BLOCK_BYTES = 256 * 1024
/** The fastest level. Higher ones compress JSON only a little better. */
const LEVEL = 1
/** Node takes smaller buffers from a pool, and those cannot be freed one by one. */
const OWN_BYTES = Buffer.poolSize >>> 1

const deflateInThread = promisify(deflateRaw)

export async function deflated(block: Uint8Array): Promise<Uint8Array> {
  const options = { level: LEVEL, chunkSize: deflatedBytes(block.length) }
  return block.length > LARGE_BLOCK_BYTES ? await deflateInThread(block, options) : deflateRawSync(block, options)
}

export function freeDeflated(bytes: Uint8Array, length: number): void {
  freeBytes(bytes, deflatedBytes(length))
}

/** `length` is that of the block before it was compressed. */
export function inflated(bytes: Uint8Array, length: number): Uint8Array {
  return inflateRawSync(bytes, { chunkSize: inflatedBytes(length) })
}

export function freeInflated(block: Uint8Array): void {
  freeBytes(block, inflatedBytes(block.length))
}

/**
 * Frees the memory of an array if its buffer has no other array: if it is the whole buffer, or the beginning of one of
 * `size` bytes. A thread that packs or scans a mirror uses thousands of such buffers. If they waited for a garbage
 * collection, they would leave tens of megabytes of fragmented memory.
 */
export function freeBytes({ buffer, byteOffset, byteLength }: Uint8Array, size: number = byteLength): void {
  const isAlone = byteOffset === 0 && (buffer.byteLength === byteLength || buffer.byteLength === size)
  if (isAlone && buffer instanceof ArrayBuffer) buffer.transfer(0)
}

/** A compressed block fits into one buffer of this size, also if it is a little larger than before. */
function deflatedBytes(length: number): number {
  return Math.max(OWN_BYTES, length + (length >>> 8) + 64)
}

/** With one more byte than the block, zlib needs one buffer, and neither a second one nor a window. */
function inflatedBytes(length: number): number {
  return Math.max(OWN_BYTES, length + 1)
}
