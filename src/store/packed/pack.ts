import type { PackedPart, SavedRecord } from '../../contract/mirror-cache.js'
import type { CapturedIndex, Ordinal } from '../ordinals.js'
import { fillSlot, hashText, newSlots } from './hash-slots.js'
import { TextsWriter } from './object-blocks.js'
import { packHash } from './packed-hash-index.js'
import { packOrder } from './packed-sorted-index.js'
import { StringsWriter } from './packed-strings.js'
import { jsonSection, sectionOf } from './sections.js'

/** Numbers are little-endian. A computer with another order reads this number differently. */
export const BYTE_ORDER = 0x01020304

/** A captured index with its name. `signature` is equal for indexes that are declared by the same code. */
export interface NamedIndex {
  readonly name: string
  readonly signature: string
  readonly captured: CapturedIndex
}

/** The content to pack. It does not change meanwhile. */
export interface PackSource {
  readonly size: number
  readonly ordinalLimit: number
  /** The stored objects by ordinal, then the other records, which have no ordinal. */
  records(): Iterable<readonly [ordinal: Ordinal | undefined, record: SavedRecord]>
  readonly indexes: readonly NamedIndex[]
}

/**
 * Packs a store, so that `PackedSnapshot` can read it: yields the blocks with the objects, then the sections with the
 * keys and the index values; undefined after each step in between. `encode` returns a record as a text. `seed`: any
 * integer, for the hash of the keys. A block ends after `blockBytes`.
 */
export function* pack(
  { size, ordinalLimit, records, indexes }: PackSource,
  encode: (record: SavedRecord) => string,
  seed: number,
  blockBytes?: number,
): Generator<PackedPart | undefined, void> {
  const blocks = new TextsWriter(blockBytes)
  const keys = new StringsWriter()
  const slots = newSlots(size)
  const storeOrdinals = new Int32Array(size)
  const packedOrdinals = new Int32Array(ordinalLimit).fill(-1)
  let [packed, count] = [0, 0]
  for (const [ordinal, record] of records()) {
    if (ordinal !== undefined) {
      if (packed >= size) throw new RangeError(`there are more than ${size} entries`)
      keys.add(record.key)
      fillSlot(slots, hashText(record.key, seed), packed)
      storeOrdinals[packed] = ordinal
      packedOrdinals[ordinal] = packed++
    }
    count++
    const block = blocks.add(encode(record))
    yield block === undefined ? undefined : { block }
  }
  if (packed !== size) throw new RangeError(`there are ${packed} entries, not ${size}`)
  const last = blocks.end()
  if (last !== undefined) yield { block: last }
  yield jsonSection('info', {
    seed,
    size,
    count,
    indexes: indexes.map(({ name, signature, captured: { kind } }) => ({ name, signature, kind })),
  })
  yield sectionOf('byte order', Uint32Array.of(BYTE_ORDER))
  yield sectionOf('blocks', Uint32Array.from(blocks.firsts))
  yield sectionOf('keys.slots', slots)
  yield sectionOf('keys.ends', keys.ends)
  yield { name: 'keys.pool', ...keys.pool }
  for (const [i, { captured }] of indexes.entries()) {
    const name = `index ${i}`
    if (captured.kind === 'hash') yield* packHash(captured, name, size, (at) => storeOrdinals[at] ?? 0, seed)
    else yield* packOrder(captured, name, (at) => packedOrdinals[at] ?? -1)
  }
}
