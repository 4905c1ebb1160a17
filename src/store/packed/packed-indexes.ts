import type { SavedEntry } from '../../contract/mirror-cache.js'
import type { Entry } from '../../contract/source.js'
import type { DeclaredIndex } from '../indexes/index-builder.js'
import type { Ordinal } from '../ordinals.js'
import type { StoreIndex } from '../store-index.js'
import type { PackedIndex, PackedSnapshot } from './packed-snapshot.js'

/** About this number of objects have their values compared with those of each saved index. */
const SAMPLES = 64
/** And this number of saved values of each index with those of their objects. */
const VALUE_SAMPLES = 16

/**
 * Returns the packed values of the declared indexes: not of one that was not saved, or was declared by other code, or
 * whose function returns other values for some of the objects now. Throws if one of these objects is damaged.
 */
export function packedIndexesOf<T>(
  snapshot: PackedSnapshot,
  declared: Iterable<DeclaredIndex<T>>,
  restored: (entry: SavedEntry) => Entry<T>,
): Map<StoreIndex<T>, PackedIndex> {
  const indexes = new Map<StoreIndex<T>, PackedIndex>()
  for (const { name, signature, index } of declared) {
    const packed = snapshot.indexes.get(name)
    if (packed === undefined || packed.signature !== signature || index.valueFor === undefined) continue
    indexes.set(index, packed)
  }
  const entries = new Map<Ordinal, Entry<T>>()
  const valueAt = (index: StoreIndex<T>, ordinal: Ordinal): unknown => {
    let entry = entries.get(ordinal)
    if (entry === undefined) {
      const record = snapshot.recordAt(ordinal)
      if (record.type !== 'entry') throw new RangeError('it is not an entry')
      entry = restored(record)
      entries.set(ordinal, entry)
    }
    return index.valueFor?.(entry)
  }
  for (const ordinal of indexes.size === 0 ? [] : samples(snapshot.size, SAMPLES)) {
    for (const [index, packed] of indexes) if (!packed.has(ordinal, valueAt(index, ordinal))) indexes.delete(index)
  }
  for (const [index, packed] of indexes) {
    for (const position of samples(packed.length, VALUE_SAMPLES))
      if (!packed.isAt(position, valueAt(index, packed.ordinalAt(position)))) indexes.delete(index)
  }
  return indexes
}

function* samples(length: number, count: number): Generator<number> {
  const step = Math.max(1, Math.floor(length / count))
  for (let at = 0; at < length; at += step) yield at
}
