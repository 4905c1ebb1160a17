import { readSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { decodeRecord } from '../../adapters/common/record-text.js'
import { messageOf, SourceError } from '../../src/contract/errors.js'
import type { MirrorHeader, PackedContent, SavedMirror } from '../../src/contract/mirror-cache.js'
import type { Proof } from '../../src/contract/status.js'
import { membersOf } from '../../src/util/type-guards.js'
import { BlockCipher } from './block-cipher.js'
import {
  checkPayload,
  checksumOf,
  damaged,
  decodeFrame,
  decodePrelude,
  FRAME_BYTES,
  type Frame,
  KIND,
  PRELUDE_BYTES,
  type Prelude,
  UnusableFile,
} from './block-format.js'
import type { FileIdentity } from './mirror-writer.js'

export type FileHeader = MirrorHeader & FileIdentity

export interface OpenedFile {
  readonly handle: FileHandle
  readonly prelude: Prelude
  readonly cipher: BlockCipher | undefined
  readonly header: FileHeader
  readonly contentAt: number
  readonly size: number
}

/** @throws UnusableFile if the file cannot be used. */
export async function readHeader(handle: FileHandle, encryptionKey: Uint8Array | undefined): Promise<OpenedFile> {
  const { size } = await handle.stat()
  if (size === 0) throw new UnusableFile('it is empty')
  const first = Buffer.alloc(Math.min(PRELUDE_BYTES, size))
  const { bytesRead } = await handle.read(first, 0, first.length, 0)
  const prelude = decodePrelude(first.subarray(0, bytesRead))
  const cipher = cipherFor(prelude, encryptionKey)
  let header: FileHeader | undefined
  const visit = (frame: Frame): Payload => {
    if (frame.kind !== KIND.header) throw damaged(0)
    return collected(frame, cipher, (plain) => {
      header = parseHeader(plain.toString())
      return true
    })
  }
  const contentAt = await scanFile(handle, prelude, { from: PRELUDE_BYTES, end: size, index: 0 }, visit)
  if (header === undefined) throw damaged(0)
  return { handle, prelude, cipher, header, contentAt, size }
}

function cipherFor(prelude: Prelude, encryptionKey: Uint8Array | undefined): BlockCipher | undefined {
  if (encryptionKey === undefined) {
    if (prelude.isEncrypted) throw new UnusableFile('it is encrypted, and encryptionKey is not set')
    return undefined
  }
  // Anyone who can write the file could replace it by a file that is not encrypted.
  if (!prelude.isEncrypted) throw new UnusableFile('it is not encrypted, and encryptionKey is set')
  return new BlockCipher(encryptionKey, prelude)
}

function parseHeader(text: string): FileHeader {
  const { fingerprint, cacheVersion, savedAt, version, resumeState, proof, size } = membersOf(JSON.parse(text))
  const isRight =
    typeof fingerprint === 'string' &&
    typeof cacheVersion === 'string' &&
    typeof savedAt === 'number' &&
    typeof version === 'string' &&
    (resumeState === undefined || typeof resumeState === 'string') &&
    (proof === undefined || isProof(proof)) &&
    typeof size === 'number'
  if (!isRight) throw damaged(0)
  return { fingerprint, cacheVersion, savedAt, version, resumeState, proof, size }
}

function isProof(proof: unknown): proof is Proof {
  const { version, at } = membersOf(proof)
  return typeof version === 'string' && typeof at === 'number'
}

/** Collects a payload in memory, and passes it on as plain bytes. */
function collected(frame: Frame, cipher: BlockCipher | undefined, take: (plain: Buffer) => boolean): Payload {
  const memory = Buffer.allocUnsafe(frame.length)
  return { memory, checked: () => take(cipher?.decrypt(frame, memory) ?? memory) }
}

export function savedMirror(file: OpenedFile, path: string): SavedMirror {
  const { version, resumeState, proof, size, savedAt } = file.header
  const content = new FileContent(file)
  return {
    version,
    resumeState,
    proof,
    size,
    savedAt,
    packed: async () => {
      try {
        return await content.check()
      } catch (cause) {
        throw new SourceError(`file cache ${path} cannot be used: ${messageOf(cause)}`, { code: 'DECODE', cause })
      }
    },
    close: () => content.close(),
  }
}

/** The blocks and sections of a file. Sections are kept in memory, blocks are read when they are needed. */
class FileContent implements PackedContent {
  readonly sections: Map<string, Uint8Array> = new Map()
  readonly #file: OpenedFile
  readonly #places: { readonly frame: Frame; readonly position: number }[] = []
  /** The section whose bytes follow, and how many of them were read. */
  #section: { readonly bytes: Uint8Array; length: number } | undefined
  #isClosed = false

  constructor(file: OpenedFile) {
    this.#file = file
  }

  /** Reads the whole file, and checks it. */
  async check(): Promise<this> {
    const { handle, prelude, contentAt, size } = this.#file
    this.sections.clear()
    this.#places.length = 0
    const end = await scanFile(handle, prelude, { from: contentAt, end: size, index: 1 }, (frame, position) =>
      this.#payloadOf(frame, position),
    )
    if (end < size) throw new UnusableFile('it has bytes after its end')
    return this
  }

  #payloadOf(frame: Frame, position: number): Payload {
    const { cipher } = this.#file
    if (this.#section !== undefined && frame.kind !== KIND.sectionBytes) throw damaged(frame.index)
    switch (frame.kind) {
      case KIND.objects: {
        this.#places.push({ frame, position })
        return cipher === undefined
          ? { memory: undefined, checked: () => false }
          : collected(frame, cipher, () => false)
      }
      case KIND.section:
        return collected(frame, cipher, (plain) => this.#begin(plain.toString(), frame))
      case KIND.sectionBytes:
        return this.#sectionBytes(frame)
      case KIND.footer:
        return collected(frame, cipher, (plain) => {
          if (membersOf(JSON.parse(plain.toString()))['records'] !== this.#file.header.size) throw damaged(frame.index)
          return true
        })
      default:
        throw damaged(frame.index)
    }
  }

  #begin(text: string, frame: Frame): false {
    const { name, length } = membersOf(JSON.parse(text))
    if (typeof name !== 'string' || typeof length !== 'number' || length > this.#file.size) throw damaged(frame.index)
    const bytes = new Uint8Array(length)
    this.sections.set(name, bytes)
    this.#section = length === 0 ? undefined : { bytes, length: 0 }
    return false
  }

  #sectionBytes(frame: Frame): Payload {
    const section = this.#section
    if (section === undefined) throw damaged(frame.index)
    const { bytes } = section
    const added = (length: number): false => {
      section.length += length
      if (section.length === bytes.length) this.#section = undefined
      return false
    }
    const { cipher } = this.#file
    const assertFits = (length: number): void => {
      if (section.length + length > bytes.length) throw damaged(frame.index)
    }
    if (cipher !== undefined) {
      return collected(frame, cipher, (plain) => {
        assertFits(plain.length)
        bytes.set(plain, section.length)
        return added(plain.length)
      })
    }
    assertFits(frame.length)
    const memory = bytes.subarray(section.length, section.length + frame.length)
    return { memory, checked: () => added(frame.length) }
  }

  block(index: number): Uint8Array {
    const place = this.#places[index]
    if (place === undefined) throw new RangeError(`there is no block ${index}`)
    if (this.#isClosed) throw new UnusableFile('it was closed')
    const { frame, position } = place
    const payload = Buffer.allocUnsafe(frame.length)
    const { handle, prelude, cipher } = this.#file
    for (let at = 0; at < payload.length; ) {
      const read = readSync(handle.fd, payload, at, payload.length - at, position + at)
      if (read === 0) throw new UnusableFile('it ends early')
      at += read
    }
    // The file may have been changed since it was checked.
    checkPayload(prelude, frame, payload)
    return cipher?.decrypt(frame, payload) ?? payload
  }

  decode = decodeRecord

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#file.handle.close()
  }
}

/** How much of a file is read at a time. The event loop turns between two reads. */
const CHUNK_BYTES = 1024 * 1024

interface ScanRange {
  readonly from: number
  readonly end: number
  readonly index: number
}

/** What a scan does with the payload of a block. */
interface Payload {
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
async function scanFile(
  handle: FileHandle,
  prelude: Prelude,
  { from, end, index }: ScanRange,
  visit: (frame: Frame, position: number) => Payload,
): Promise<number> {
  const frameBytes = Buffer.alloc(FRAME_BYTES)
  let position = from
  let nextIndex = index
  /** The number of bytes of the frame, or of the payload, that were taken. */
  let taken = 0
  let current: { readonly frame: Frame; readonly payload: Payload; checksum: number } | undefined
  /** A frame or a payload is complete. Returns whether the scan has ended. */
  const isOver = (): boolean => {
    taken = 0
    if (current === undefined) {
      const frame = decodeFrame(prelude, nextIndex++, frameBytes)
      if (frame.length > end - position) throw new UnusableFile('it ends early')
      current = { frame, payload: visit(frame, position), checksum: checksumOf(prelude, new Uint8Array(0)) }
      return frame.length === 0 && isOver()
    }
    const { frame, payload, checksum } = current
    current = undefined
    if (checksum !== frame.checksum) throw damaged(frame.index)
    return payload.checked()
  }
  for await (const chunk of chunksOf(handle, from, end)) {
    for (let at = 0; at < chunk.length; ) {
      const missing: number = (current?.frame.length ?? FRAME_BYTES) - taken
      const bytes = chunk.subarray(at, at + missing)
      if (current === undefined) bytes.copy(frameBytes, taken)
      else {
        current.checksum = checksumOf(prelude, bytes, current.checksum)
        current.payload.memory?.set(bytes, taken)
      }
      at += bytes.length
      position += bytes.length
      taken += bytes.length
      if (bytes.length === missing && isOver()) return position
    }
  }
  throw new UnusableFile('it ends early')
}

/** Yields the bytes of a part of a file. While one chunk is used, the next one is read into another buffer. */
async function* chunksOf(handle: FileHandle, from: number, end: number): AsyncGenerator<Buffer> {
  const buffers = [Buffer.allocUnsafeSlow(CHUNK_BYTES), Buffer.allocUnsafeSlow(CHUNK_BYTES)] as const
  let askedTo = from
  const ask = (nth: number): Promise<Buffer> => {
    const length = Math.min(CHUNK_BYTES, end - askedTo)
    const reading = readFully(handle, buffers[nth % 2 === 0 ? 0 : 1].subarray(0, length), askedTo)
    askedTo += length
    // Its error is thrown when the chunk is needed.
    reading.catch(() => {})
    return reading
  }
  let next = ask(0)
  try {
    for (let nth = 1; ; nth++) {
      const chunk = await next
      if (chunk.length === 0) return
      next = ask(nth)
      yield chunk
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
