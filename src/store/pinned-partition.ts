import type { PackedPart, SavedInvalid, SavedRecord } from '../contract/mirror-cache.js'
import type { Version } from '../contract/version.js'
import type { Ordinal } from './ordinals.js'
import { type NamedIndex, pack } from './packed/pack.js'
import type { Pin } from './pin.js'
import type { PinnedMap } from './undo-journal.js'

/** The keys of a partition that have no stored object, or an older one. */
interface OtherKeys {
  readonly filtered: PinnedMap<string, Version | undefined>
  readonly invalid: readonly SavedInvalid[]
}

/** The content of a partition at one version: its objects, and the keys that are filtered out or invalid. */
export class PinnedPartition<T> {
  readonly #pin: Pin<T>
  readonly #indexes: readonly NamedIndex[]
  readonly #others: OtherKeys | undefined

  constructor(pin: Pin<T>, indexes: readonly NamedIndex[], others?: OtherKeys) {
    this.#pin = pin
    this.#indexes = indexes
    this.#others = others
  }

  /** The number of records. */
  get size(): number {
    return this.#pin.size + (this.#others?.filtered.size ?? 0) + (this.#others?.invalid.length ?? 0)
  }

  *records(): Generator<SavedRecord> {
    for (const [, record] of this.#numbered()) yield record
  }

  /** Returns the records in a packed form, in steps. */
  pack(
    encode: (record: SavedRecord) => string,
    seed: number,
    blockBytes?: number,
  ): Generator<PackedPart | undefined, void> {
    const { size, ordinalLimit } = this.#pin
    const records = (): Generator<readonly [Ordinal | undefined, SavedRecord]> => this.#numbered()
    return pack({ size, ordinalLimit, indexes: this.#indexes, records }, encode, seed, blockBytes)
  }

  *#numbered(): Generator<readonly [ordinal: Ordinal | undefined, record: SavedRecord]> {
    for (let ordinal = this.#pin.ordinalStart; ordinal < this.#pin.ordinalLimit; ordinal++) {
      const entry = this.#pin.entryAt(ordinal)
      if (entry !== undefined) yield [ordinal, { ...entry, type: 'entry' }]
    }
    if (this.#others === undefined) return
    for (const [key, version] of this.#others.filtered) yield [undefined, { type: 'filtered', key, version }]
    for (const record of this.#others.invalid) yield [undefined, record]
  }

  close(): void {
    this.#pin.close()
    this.#others?.filtered.close()
  }
}
