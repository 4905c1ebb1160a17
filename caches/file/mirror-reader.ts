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
  for await (const { frame, plain, position } of blocksIn({ handle, prelude, cipher, size }, PRELUDE_BYTES, 0)) {
    if (frame.kind !== KIND.header) throw damaged(0)
    const contentAt = position + frame.length
    return { handle, prelude, cipher, header: parseHeader(plain.toString()), contentAt, size }
  }
  throw damaged(0)
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
  #isClosed = false

  constructor(file: OpenedFile) {
    this.#file = file
  }

  /** Reads the whole file, and checks it. */
  async check(): Promise<this> {
    const { contentAt, size, header } = this.#file
    this.sections.clear()
    this.#places.length = 0
    /** The section whose bytes follow, and how many of them were read. */
    let section: { readonly bytes: Uint8Array; length: number } | undefined
    for await (const { frame, plain, position } of blocksIn(this.#file, contentAt, 1)) {
      const { kind, index } = frame
      if ((section !== undefined) !== (kind === KIND.sectionBytes)) throw damaged(index)
      if (kind === KIND.objects) this.#places.push({ frame, position })
      else if (kind === KIND.section) section = this.#begin(plain.toString(), index)
      else if (section !== undefined) {
        if (section.length + plain.length > section.bytes.length) throw damaged(index)
        section.bytes.set(plain, section.length)
        section.length += plain.length
        if (section.length === section.bytes.length) section = undefined
      } else if (kind === KIND.footer) {
        if (membersOf(JSON.parse(plain.toString()))['records'] !== header.size) throw damaged(index)
        if (position + frame.length < size) throw new UnusableFile('it has bytes after its end')
        break
      } else throw damaged(index)
    }
    return this
  }

  #begin(text: string, index: number): { readonly bytes: Uint8Array; length: number } | undefined {
    const { name, length } = membersOf(JSON.parse(text))
    if (typeof name !== 'string' || typeof length !== 'number' || length > this.#file.size) throw damaged(index)
    const bytes = new Uint8Array(length)
    this.sections.set(name, bytes)
    return length === 0 ? undefined : { bytes, length: 0 }
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

interface Block {
  readonly frame: Frame
  /** The checked payload, decrypted. It is valid until the next block is read. */
  readonly plain: Buffer
  /** The position of the payload in the file. */
  readonly position: number
}

/**
 * Yields the blocks of a file from a position on, of which the first one has the number `first`. It checks all bytes.
 *
 * @throws UnusableFile if a byte is not the one that was written, or the file ends within a block.
 */
async function* blocksIn(
  { handle, prelude, cipher, size }: Pick<OpenedFile, 'handle' | 'prelude' | 'cipher' | 'size'>,
  from: number,
  first: number,
): AsyncGenerator<Block, void> {
  const chunks = chunksOf(handle, from, size)
  let chunk: Buffer = Buffer.alloc(0)
  const take = async (length: number): Promise<Buffer> => {
    let taken = chunk.subarray(0, length)
    chunk = chunk.subarray(taken.length)
    if (taken.length === length) return taken
    const bytes = Buffer.allocUnsafe(length)
    for (let filled = taken.copy(bytes); filled < length; filled += taken.copy(bytes, filled)) {
      const { value, done } = await chunks.next()
      if (done === true) throw new UnusableFile('it ends early')
      taken = value.subarray(0, length - filled)
      chunk = value.subarray(taken.length)
    }
    return bytes
  }
  try {
    for (let [index, position] = [first, from]; ; index++) {
      const frame = decodeFrame(prelude, index, await take(FRAME_BYTES))
      position += FRAME_BYTES
      if (frame.length > size - position) throw new UnusableFile('it ends early')
      const payload = await take(frame.length)
      checkPayload(prelude, frame, payload)
      yield { frame, plain: cipher?.decrypt(frame, payload) ?? payload, position }
      position += frame.length
    }
  } finally {
    await chunks.return()
  }
}

/** Yields the bytes of a part of a file. While one chunk is used, the next one is read into another buffer. */
async function* chunksOf(handle: FileHandle, from: number, end: number): AsyncGenerator<Buffer, void> {
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
