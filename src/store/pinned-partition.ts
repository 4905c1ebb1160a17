import type { PackedPart, SavedInvalid, SavedRecord } from '../contract/mirror-cache.js'
import type { Version } from '../contract/version.js'
import type { Ordinal } from './ordinals.js'
import { type NamedIndex, pack } from './packed/pack.js'
import type { Pin } from './pin.js'
import type { PinnedMap } from './undo-journal.js'

/** The content of a partition at one version: its objects, and the keys that are filtered out or invalid. */
export class PinnedPartition<T> {
  readonly #pin: Pin<T>
  readonly #filtered: PinnedMap<string, Version | undefined>
  readonly #invalid: readonly SavedInvalid[]
  readonly #indexes: readonly NamedIndex[]

  constructor(
    pin: Pin<T>,
    filtered: PinnedMap<string, Version | undefined>,
    invalid: readonly SavedInvalid[],
    indexes: readonly NamedIndex[],
  ) {
    this.#pin = pin
    this.#filtered = filtered
    this.#invalid = invalid
    this.#indexes = indexes
  }

  /** The number of records. */
  get size(): number {
    return this.#pin.size + this.#filtered.size + this.#invalid.length
  }

  *records(): Generator<SavedRecord> {
    for (const [, record] of this.#numbered()) yield record
  }

  /** Returns the records in a packed form, in steps. */
  pack(encode: (record: SavedRecord) => string, seed: number): Generator<PackedPart | undefined, void> {
    const { size, ordinalLimit } = this.#pin
    return pack({ size, ordinalLimit, indexes: this.#indexes, records: () => this.#numbered() }, encode, seed)
  }

  *#numbered(): Generator<readonly [ordinal: Ordinal | undefined, record: SavedRecord]> {
    for (let ordinal = this.#pin.ordinalStart; ordinal < this.#pin.ordinalLimit; ordinal++) {
      const entry = this.#pin.entryAt(ordinal)
      if (entry !== undefined) yield [ordinal, { ...entry, type: 'entry' }]
    }
    for (const [key, version] of this.#filtered) yield [undefined, { type: 'filtered', key, version }]
    for (const record of this.#invalid) yield [undefined, record]
  }

  close(): void {
    this.#pin.close()
    this.#filtered.close()
  }
}
