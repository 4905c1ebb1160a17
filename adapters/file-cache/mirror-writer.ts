import { randomBytes } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { Clock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import type { MirrorToSave } from '../../src/contract/mirror-cache.js'
import { TimeSlice } from '../../src/util/time-slice.js'
import { BlockCipher } from './block-cipher.js'
import { encodeFrame, encodePrelude, FOOTER, HEADER, RECORDS } from './block-format.js'
import { encodeRecord } from './record-block.js'

/** A block ends after this number of characters. */
const BLOCK_CHARS = 256 * 1024

/** What the header block has besides the header of the mirror. */
export interface FileIdentity {
  readonly fingerprint: string
  readonly cacheVersion: string
  readonly savedAt: number
}

/** How a mirror is written. */
export interface WriterContext {
  readonly path: string
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly encryptionKey: Uint8Array | undefined
}

/** Writes a mirror to an empty file, in slices. */
export async function writeMirror(
  file: FileHandle,
  mirror: MirrorToSave,
  identity: FileIdentity,
  { path, clock, signal, encryptionKey }: WriterContext,
): Promise<void> {
  const blocks = new BlockWriter(file, encryptionKey)
  await blocks.begin()
  const { version, resumeState, proof, size } = mirror
  await blocks.write(HEADER, JSON.stringify({ ...identity, version, resumeState, proof, size }))
  const slice = new TimeSlice(clock)
  let texts: string[] = []
  let chars = 0
  let count = 0
  for (const record of mirror.records()) {
    const text = encodeRecord(record, path)
    texts.push(text)
    chars += text.length
    count++
    if (chars >= BLOCK_CHARS) {
      await blocks.write(RECORDS, `[${texts.join(',')}]`)
      ;[texts, chars] = [[], 0]
    }
    if (slice.isOverAfterCall()) await slice.turn()
    signal.throwIfAborted()
  }
  if (count !== size) {
    throw new SourceError(`file cache ${path}: the mirror has ${count} records, not ${size}`, { code: 'PROTOCOL' })
  }
  if (texts.length > 0) await blocks.write(RECORDS, `[${texts.join(',')}]`)
  await blocks.write(FOOTER, JSON.stringify({ records: count }))
  signal.throwIfAborted()
}

class BlockWriter {
  readonly #file: FileHandle
  readonly #prelude
  readonly #cipher: BlockCipher | undefined
  #index = 0

  constructor(file: FileHandle, encryptionKey: Uint8Array | undefined) {
    this.#file = file
    this.#prelude = encodePrelude(randomBytes(32), encryptionKey !== undefined)
    this.#cipher = encryptionKey === undefined ? undefined : new BlockCipher(encryptionKey, this.#prelude)
  }

  async begin(): Promise<void> {
    await this.#file.writeFile(this.#prelude.bytes)
  }

  /** Resolves when the operating system has accepted the block, so that no more than one waits in memory. */
  async write(kind: number, text: string): Promise<void> {
    const place = { kind, index: this.#index++ }
    const plain = Buffer.from(text)
    const payload = this.#cipher?.encrypt(place, plain) ?? plain
    await this.#file.writeFile(Buffer.concat([encodeFrame(this.#prelude, place, payload), payload]))
  }
}
