import type { PackedContent, PackedPart, SavedMirror, SavedRecord } from '../../src/contract/mirror-cache.js'
import { type NamedIndex, pack } from '../../src/store/packed/pack.js'
import { PackedSnapshot } from '../../src/store/packed/packed-snapshot.js'

/** The method `pack` of a mirror with these records. */
export function packerOf(
  records: () => Iterable<SavedRecord>,
  indexes: readonly NamedIndex[] = [],
): (encode: (record: SavedRecord) => string, seed: number) => Iterable<PackedPart | undefined> {
  return function* packed(encode, seed) {
    // The entries have to be counted first, and the generator may be read only once.
    const all = [...records()]
    const size = all.filter(({ type }) => type === 'entry').length
    function* numbered(): Generator<readonly [number | undefined, SavedRecord]> {
      let ordinal = 0
      for (const record of all) yield [record.type === 'entry' ? ordinal++ : undefined, record]
    }
    yield* pack({ size, ordinalLimit: size, indexes, records: numbered }, encode, seed)
  }
}

/** The sections and the blocks of packed content, in memory of its own. */
export function placed(parts: Iterable<PackedPart | undefined>): Pick<PackedContent, 'sections' | 'block'> {
  const sections = new Map<string, Uint8Array>()
  const blocks: Uint8Array[] = []
  for (const part of parts) {
    if (part === undefined) continue
    if ('block' in part) blocks.push(part.block.slice())
    else sections.set(part.name, new Uint8Array(Buffer.concat(part.chunks)))
  }
  return { sections, block: (index) => blocks[index] ?? new Uint8Array(4) }
}

export function recordsIn(content: PackedContent): SavedRecord[] {
  const snapshot = new PackedSnapshot(content)
  return Array.from({ length: snapshot.count }, (_, i) => snapshot.recordAt(i))
}

/** Reads all records of saved content. */
export async function recordsOf(saved: SavedMirror): Promise<SavedRecord[]> {
  if (saved.packed !== undefined) return recordsIn(await saved.packed())
  const records: SavedRecord[] = []
  for await (const page of saved.pages?.() ?? []) records.push(...page)
  return records
}
