import type { FileHandle } from 'node:fs/promises'
import type { Clock } from '../../src/contract/clock.js'
import { messageOf, SourceError } from '../../src/contract/errors.js'
import type { MirrorHeader, SavedMirror, SavedRecord } from '../../src/contract/mirror-cache.js'
import type { Proof } from '../../src/contract/status.js'
import { SLICE_MS } from '../../src/util/time-slice.js'
import { membersOf } from '../../src/util/type-guards.js'
import { BlockCipher } from './block-cipher.js'
import {
  checkPayload,
  damaged,
  decodeFrame,
  decodePrelude,
  FOOTER,
  FRAME_BYTES,
  HEADER,
  PRELUDE_BYTES,
  type Prelude,
  RECORDS,
  UnusableFile,
} from './block-format.js'
import type { FileIdentity } from './mirror-writer.js'
import { decodeRecords } from './record-block.js'

/** How much of a file is read at a time. */
const CHUNK_BYTES = 1024 * 1024

/** The content of the header block. */
export type FileHeader = MirrorHeader & FileIdentity

/** A file whose prelude and header have been read. */
export interface OpenedFile {
  readonly handle: FileHandle
  readonly prelude: Prelude
  readonly cipher: BlockCipher | undefined
  readonly header: FileHeader
  /** The position of the second block. */
  readonly recordsAt: number
  readonly size: number
}

/** @throws UnusableFile if the file cannot be used. */
export async function readHeader(handle: FileHandle, encryptionKey: Uint8Array | undefined): Promise<OpenedFile> {
  const { size } = await handle.stat()
  if (size === 0) throw new UnusableFile('it is empty')
  const bytes = new FileBytes(handle, 0, size)
  const prelude = decodePrelude(await bytes.take(Math.min(PRELUDE_BYTES, size)))
  const cipher = cipherFor(prelude, encryptionKey)
  const blocks = new BlockReader(bytes, prelude, cipher)
  const { kind, text } = await blocks.next()
  if (kind !== HEADER) throw damaged(0)
  return { handle, prelude, cipher, header: parseHeader(text), recordsAt: bytes.position, size }
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

/** The content of an opened file. */
export function savedMirror(file: OpenedFile, path: string, clock: Clock): SavedMirror {
  const { version, resumeState, proof, size, savedAt } = file.header
  return {
    version,
    resumeState,
    proof,
    size,
    savedAt,
    pages: () => readPages(file, path, clock),
    close: () => file.handle.close(),
  }
}

/** Yields the records of each block. The last one is read and checked before the iteration ends. */
async function* readPages(file: OpenedFile, path: string, clock: Clock): AsyncGenerator<readonly SavedRecord[]> {
  const bytes = new FileBytes(file.handle, file.recordsAt, file.size)
  const blocks = new BlockReader(bytes, file.prelude, file.cipher, 1)
  let count = 0
  let since = clock.now()
  try {
    for (;;) {
      const { kind, text, index } = await blocks.next()
      if (kind === FOOTER) {
        assertComplete(text, index, count, file, bytes)
        return
      }
      if (kind !== RECORDS) throw damaged(index)
      const records = decodeRecords(text)
      count += records.length
      yield records
      // The bytes of several blocks are in memory, so reading them may not turn the event loop.
      if (clock.now() - since < SLICE_MS) continue
      await clock.sleep(0)
      since = clock.now()
    }
  } catch (cause) {
    throw new SourceError(`file cache ${path} cannot be used: ${messageOf(cause)}`, { code: 'DECODE', cause })
  }
}

function assertComplete(text: string, index: number, count: number, { header }: OpenedFile, bytes: FileBytes): void {
  const { records } = membersOf(JSON.parse(text))
  if (records !== count || header.size !== count) throw damaged(index)
  if (bytes.left > 0) throw new UnusableFile('it has bytes after its end')
}

interface Block {
  readonly kind: number
  readonly index: number
  readonly text: string
}

class BlockReader {
  readonly #bytes: FileBytes
  readonly #prelude: Prelude
  readonly #cipher: BlockCipher | undefined
  #index: number

  constructor(bytes: FileBytes, prelude: Prelude, cipher: BlockCipher | undefined, index = 0) {
    this.#bytes = bytes
    this.#prelude = prelude
    this.#cipher = cipher
    this.#index = index
  }

  async next(): Promise<Block> {
    const index = this.#index++
    const frame = decodeFrame(this.#prelude, index, await this.#bytes.take(FRAME_BYTES))
    const payload = await this.#bytes.take(frame.length)
    checkPayload(this.#prelude, frame, payload)
    const plain = this.#cipher?.decrypt(frame, payload) ?? payload
    return { kind: frame.kind, index, text: plain.toString() }
  }
}

/** The bytes of a file from a position on. The next chunk is read while the caller uses the one before. */
class FileBytes {
  readonly #handle: FileHandle
  readonly #end: number
  /** The position of the next byte that `take` returns. */
  #position: number
  /** The position after the chunks that were asked for. */
  #askedTo: number
  #buffered: Buffer = Buffer.alloc(0)
  #next: Promise<Buffer> | undefined

  constructor(handle: FileHandle, from: number, end: number) {
    this.#handle = handle
    this.#position = from
    this.#askedTo = from
    this.#end = end
  }

  get position(): number {
    return this.#position
  }

  get left(): number {
    return this.#end - this.#position
  }

  /** @throws UnusableFile if fewer bytes are left. */
  async take(length: number): Promise<Buffer> {
    if (length > this.left) throw new UnusableFile('it ends early')
    this.#position += length
    const parts: Buffer[] = []
    let missing = length
    while (missing > this.#buffered.length) {
      parts.push(this.#buffered)
      missing -= this.#buffered.length
      this.#buffered = await this.#chunk()
    }
    const last = this.#buffered.subarray(0, missing)
    this.#buffered = this.#buffered.subarray(missing)
    return parts.length === 0 ? last : Buffer.concat([...parts, last], length)
  }

  /** Returns the next chunk, and begins to read the one after it. */
  async #chunk(): Promise<Buffer> {
    const chunk = await (this.#next ?? this.#read(this.#askedTo))
    if (chunk.length === 0) throw new UnusableFile('it ends early')
    this.#askedTo += chunk.length
    this.#next = this.#askedTo < this.#end ? this.#read(this.#askedTo) : undefined
    // Its error is thrown when the chunk is needed.
    this.#next?.catch(() => {})
    return chunk
  }

  async #read(from: number): Promise<Buffer> {
    const length = Math.min(CHUNK_BYTES, this.#end - from)
    const { bytesRead, buffer } = await this.#handle.read(Buffer.allocUnsafe(length), 0, length, from)
    return buffer.subarray(0, bytesRead)
  }
}
