import { crc32 } from 'node:zlib'

/**
 * The file begins with a prelude: magic, format number, flags, salt, checksum. Blocks follow: a frame (length, kind,
 * number, checksum of the payload, checksum of the frame), then the payload. The first block is the header, the last
 * one the footer. All numbers are little-endian.
 */
const MAGIC: Buffer = Buffer.from('listwatch cache\n')
/** The format that this version of the library writes and reads. */
export const FORMAT = 3
export const PRELUDE_BYTES = 60
export const FRAME_BYTES = 20
const SALT_BYTES = 32
const SALT_AT = 24

/** The kinds of blocks. A section is its name and length, and then its bytes in blocks of their own. */
export const KIND = { header: 1, objects: 2, section: 3, sectionBytes: 4, footer: 5 } as const

/** A file that cannot be used, and why: "it ends early". */
export class UnusableFile extends Error {
  override readonly name: string = 'UnusableFile'
}

export interface Prelude {
  readonly bytes: Buffer
  readonly isEncrypted: boolean
  /** Random bytes of this file. Checksums and keys depend on them, so that a block of another file is not accepted. */
  readonly salt: Buffer
}

export interface BlockPlace {
  readonly kind: number
  readonly index: number
}

/** A frame: the place, length and checksum of the payload that follows. */
export interface Frame extends BlockPlace {
  readonly length: number
  readonly checksum: number
}

export function encodePrelude(salt: Buffer, isEncrypted: boolean): Prelude {
  const bytes = Buffer.alloc(PRELUDE_BYTES)
  MAGIC.copy(bytes)
  bytes.writeUInt32LE(FORMAT, 16)
  bytes.writeUInt32LE(isEncrypted ? 1 : 0, 20)
  salt.copy(bytes, SALT_AT)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, SALT_AT + SALT_BYTES)), SALT_AT + SALT_BYTES)
  return { bytes, isEncrypted, salt }
}

/** @throws UnusableFile if the file is not a cache, has another format, or is damaged. */
export function decodePrelude(bytes: Buffer): Prelude {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new UnusableFile('it is not a file of fileCache')
  if (bytes.length < PRELUDE_BYTES) throw new UnusableFile('it ends early')
  const format = bytes.readUInt32LE(16)
  if (format !== FORMAT) throw new UnusableFile(`it has format ${format}; this version of listwatch reads ${FORMAT}`)
  const end = SALT_AT + SALT_BYTES
  if (bytes.readUInt32LE(end) !== crc32(bytes.subarray(0, end))) throw new UnusableFile('its first bytes are damaged')
  return { bytes, isEncrypted: bytes.readUInt32LE(20) === 1, salt: bytes.subarray(SALT_AT, end) }
}

export function encodeFrame({ salt }: Prelude, { kind, index }: BlockPlace, payload: Buffer): Buffer {
  const frame = Buffer.alloc(FRAME_BYTES)
  frame.writeUInt32LE(payload.length, 0)
  frame.writeUInt32LE(kind, 4)
  frame.writeUInt32LE(index, 8)
  frame.writeUInt32LE(crc32(payload, crc32(salt)), 12)
  frame.writeUInt32LE(crc32(frame.subarray(0, 16), crc32(salt)), 16)
  return frame
}

/** @throws UnusableFile if the frame is damaged, or is not the one of block `index`. */
export function decodeFrame({ salt }: Prelude, index: number, frame: Buffer): Frame {
  const isRight =
    frame.readUInt32LE(16) === crc32(frame.subarray(0, 16), crc32(salt)) && frame.readUInt32LE(8) === index
  if (!isRight) throw damaged(index)
  return { length: frame.readUInt32LE(0), kind: frame.readUInt32LE(4), index, checksum: frame.readUInt32LE(12) }
}

/** @throws UnusableFile if the payload is damaged. */
export function checkPayload({ salt }: Prelude, { checksum, index }: Frame, payload: Buffer): void {
  if (crc32(payload, crc32(salt)) !== checksum) throw damaged(index)
}

export function damaged(index: number): UnusableFile {
  return new UnusableFile(`block ${index} is damaged`)
}
