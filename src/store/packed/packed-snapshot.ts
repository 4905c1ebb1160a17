import type { PackedContent, SavedRecord } from '../../contract/mirror-cache.js'
import { membersOf } from '../../util/type-guards.js'
import type { Ordinal } from '../ordinals.js'
import { findSlot, hashText } from './hash-slots.js'
import { PackedTexts } from './object-blocks.js'
import { BYTE_ORDER } from './pack.js'
import { PackedHashIndex } from './packed-hash-index.js'
import { PackedSortedIndex } from './packed-sorted-index.js'
import { PackedStrings } from './packed-strings.js'
import { SectionReader } from './sections.js'

export type PackedIndex = PackedHashIndex | PackedSortedIndex

/** Reads packed content in place, perhaps in memory of other threads. The one that stores it checks its bytes. */
export class PackedSnapshot {
  /** The number of entries. Their ordinals are the integers below. */
  readonly size: number
  /** The number of all records. The other records come after the entries. */
  readonly count: number
  readonly indexes: ReadonlyMap<string, PackedIndex>
  readonly #keys: PackedStrings
  readonly #slots: Int32Array
  readonly #seed: number
  readonly #texts: PackedTexts
  readonly #content: PackedContent

  /** @throws RangeError if a section is missing, or was packed on a computer with another byte order. */
  constructor(content: PackedContent) {
    const sections = new SectionReader(content.sections)
    if (sections.array(Uint32Array, 'byte order')[0] !== BYTE_ORDER) throw new RangeError('it has another byte order')
    const { seed, size, count, indexes } = membersOf(sections.json('info'))
    if (typeof seed !== 'number' || typeof size !== 'number' || typeof count !== 'number' || !Array.isArray(indexes))
      throw new RangeError('its information is incomplete')
    this.size = size
    this.count = count
    this.#seed = seed
    this.#content = content
    this.#slots = sections.array(Int32Array, 'keys.slots')
    this.#keys = new PackedStrings(sections.array(Uint32Array, 'keys.ends'), sections.bytes('keys.pool'))
    this.#texts = new PackedTexts(sections.array(Uint32Array, 'blocks'), count, content)
    this.indexes = new Map(
      indexes.map((each: unknown, i): [string, PackedIndex] => {
        const { name, signature, kind } = membersOf(each)
        const section = `index ${i}`
        return [
          String(name),
          kind === 'hash'
            ? new PackedHashIndex(sections, section, String(signature), seed)
            : new PackedSortedIndex(sections, section, String(signature)),
        ]
      }),
    )
  }

  ordinalOf(key: string): Ordinal | undefined {
    return findSlot(this.#slots, hashText(key, this.#seed), (ordinal) => this.#keys.equals(ordinal, key))
  }

  keyAt(ordinal: Ordinal): string {
    return this.#keys.at(ordinal)
  }

  /** Decodes a record: an entry, if `i` is below `size`. Throws if its block is damaged. */
  recordAt(i: number): SavedRecord {
    const record = this.#content.decode(this.#texts.at(i))
    const isEntry = i < this.size
    if (isEntry !== (record.type === 'entry') || (isEntry && !this.#keys.equals(i, record.key)))
      throw new RangeError(`record ${i} is not the expected one`)
    return record
  }
}
