import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { encodeRecord } from '../../adapters/common/record-text.js'
import type { Clock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import type { MirrorToSave, PackedPart, SavedRecord } from '../../src/contract/mirror-cache.js'
import { TimeSlice } from '../../src/util/time-slice.js'
import { BlockCipher } from './block-cipher.js'
import { encodeFrame, encodePrelude, FRAME_BYTES, KIND } from './block-format.js'

/** A section is written in blocks of at most this number of bytes. */
const BLOCK_BYTES = 512 * 1024

/** What the header block has besides the header of the mirror. */
export interface FileIdentity {
  readonly fingerprint: string
  readonly cacheVersion: string
  readonly savedAt: number
}

export interface WriterContext {
  readonly path: string
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly encryptionKey: Uint8Array | undefined
}

export async function writeMirror(
  file: FileHandle,
  mirror: MirrorToSave,
  identity: FileIdentity,
  { path, clock, signal, encryptionKey }: WriterContext,
): Promise<void> {
  const blocks = new BlockWriter(file, encryptionKey)
  await blocks.begin()
  const { version, resumeState, proof, size } = mirror
  await blocks.writeJson(KIND.header, { ...identity, version, resumeState, proof, size })
  const slice = new TimeSlice(clock)
  let count = 0
  const failure = `file cache ${path} cannot save`
  const encode = (record: SavedRecord): string => {
    count++
    return encodeRecord(record, failure)
  }
  for (const part of mirror.pack(encode, randomBytes(4).readInt32LE())) {
    if (part !== undefined) await blocks.writePart(part)
    const isOver = slice.isOverAfterCall()
    if (isOver) await slice.turn()
    if (isOver || part !== undefined) signal.throwIfAborted()
  }
  if (count !== size) {
    throw new SourceError(`file cache ${path}: the mirror has ${count} records, not ${size}`, { code: 'PROTOCOL' })
  }
  await blocks.writeJson(KIND.footer, { records: count })
  signal.throwIfAborted()
}

class BlockWriter {
  readonly #file: FileHandle
  readonly #prelude
  readonly #cipher: BlockCipher | undefined
  /** The block that is written. The memory is used again: many new buffers make V8 collect the whole heap. */
  #memory = Buffer.allocUnsafeSlow(FRAME_BYTES + BLOCK_BYTES)
  #index = 0

  constructor(file: FileHandle, encryptionKey: Uint8Array | undefined) {
    this.#file = file
    this.#prelude = encodePrelude(randomBytes(32), encryptionKey !== undefined)
    this.#cipher = encryptionKey === undefined ? undefined : new BlockCipher(encryptionKey, this.#prelude)
  }

  async begin(): Promise<void> {
    await this.#file.writeFile(this.#prelude.bytes)
  }

  async writeJson(kind: number, value: unknown): Promise<void> {
    await this.#write(kind, Buffer.from(JSON.stringify(value)))
  }

  async writePart(part: PackedPart): Promise<void> {
    if ('block' in part) {
      await this.#write(KIND.objects, part.block)
      return
    }
    const { name, length, chunks } = part
    await this.writeJson(KIND.section, { name, length })
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.length; at += BLOCK_BYTES)
        await this.#write(KIND.sectionBytes, chunk.subarray(at, at + BLOCK_BYTES))
    }
  }

  /** Resolves when the operating system has accepted the block, so that no more than one waits in memory. */
  async #write(kind: number, { buffer, byteOffset, byteLength }: Uint8Array): Promise<void> {
    const place = { kind, index: this.#index++ }
    const plain = Buffer.from(buffer, byteOffset, byteLength)
    const payload = this.#cipher?.encrypt(place, plain) ?? plain
    const frame = encodeFrame(this.#prelude, place, payload)
    const length = frame.length + payload.length
    if (length > this.#memory.length) this.#memory = Buffer.allocUnsafeSlow(length)
    this.#memory.set(frame)
    this.#memory.set(payload, frame.length)
    await this.#file.writeFile(this.#memory.subarray(0, length))
  }
}
