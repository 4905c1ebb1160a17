import { decodeRecord } from '../../adapters/common/record-text.js'
import type { PackedContent, SavedMirror } from '../../src/contract/mirror-cache.js'
import { membersOf } from '../../src/util/type-guards.js'
import { freeInflated, inflated } from './block-compression.js'
import type { SharedBlocks } from './shared-memory.js'

/** The format of snapshots. A thread may have another version of this package, which packs objects differently. */
export const SNAPSHOT_FORMAT = 1

/** The objects of a feed at one version, packed in memory that threads share. */
export interface SharedSnapshot {
  readonly format: typeof SNAPSHOT_FORMAT
  readonly version: string
  /** The number of objects. */
  readonly size: number
  /** When it was packed, in milliseconds since the Unix epoch. */
  readonly savedAt: number
  readonly sections: readonly (readonly [name: string, bytes: Uint8Array])[]
  /** The blocks, compressed with raw deflate. */
  readonly blocks: SharedBlocks
}

/** A snapshot for a follower. */
export interface OpenedSnapshot extends SharedSnapshot {
  /** The sequence of the feed at the request. With the frames until then, the mirror is as new as a list. */
  readonly until: number
}

/** Whether a received value is a snapshot of another version of this package. */
export function isOtherFormat(received: unknown): boolean {
  return membersOf(received)['format'] !== SNAPSHOT_FORMAT
}

/** Returns a received snapshot; undefined for any other value. */
export function openedSnapshotOf(received: unknown): OpenedSnapshot | undefined {
  const { version, size, savedAt, sections, blocks, until } = membersOf(received)
  const { pieces, places } = membersOf(blocks)
  if (typeof version !== 'string' || !isNumber(size) || !isNumber(savedAt) || !isNumber(until)) return undefined
  if (!Array.isArray(sections) || !sections.every(isSection)) return undefined
  if (!Array.isArray(pieces) || !pieces.every(isBytes) || !(places instanceof Uint32Array)) return undefined
  return { format: SNAPSHOT_FORMAT, version, size, savedAt, sections, blocks: { pieces, places }, until }
}

function isNumber(received: unknown): received is number {
  return typeof received === 'number'
}

function isSection(received: unknown): received is readonly [string, Uint8Array] {
  return Array.isArray(received) && typeof received[0] === 'string' && isBytes(received[1])
}

function isBytes(received: unknown): received is Uint8Array {
  return received instanceof Uint8Array
}

/** Returns a snapshot as saved content, which an informer reads in place. */
export function savedMirrorOf({ version, size, savedAt, sections, blocks, until }: OpenedSnapshot): SavedMirror {
  const content: PackedContent = {
    sections: new Map(sections),
    block: (index) => blockOf(blocks, index),
    release: freeInflated,
    decode: decodeRecord,
  }
  return {
    version,
    resumeState: String(until),
    size,
    savedAt,
    keepsPacked: true,
    packed: async () => content,
    close: async () => {},
  }
}

function blockOf({ pieces, places }: SharedBlocks, index: number): Uint8Array {
  const [piece = -1, start, end, length = 0] = places.subarray(index * 4, index * 4 + 4)
  const bytes = pieces[piece]
  if (bytes === undefined) throw new RangeError(`there is no block ${index}`)
  return inflated(bytes.subarray(start, end), length)
}
