import type { SavedInvalid, SavedRecord } from '../contract/mirror-cache.js'
import type { Version } from '../contract/version.js'
import type { Pin } from './pin.js'
import type { PinnedMap } from './undo-journal.js'

/** The content of a partition at one version: its objects, and the keys that are filtered out or invalid. */
export class PinnedPartition<T> {
  readonly #pin: Pin<T>
  readonly #filtered: PinnedMap<string, Version | undefined>
  readonly #invalid: readonly SavedInvalid[]

  constructor(pin: Pin<T>, filtered: PinnedMap<string, Version | undefined>, invalid: readonly SavedInvalid[]) {
    this.#pin = pin
    this.#filtered = filtered
    this.#invalid = invalid
  }

  /** The number of records. */
  get size(): number {
    return this.#pin.size + this.#filtered.size + this.#invalid.length
  }

  *records(): Generator<SavedRecord> {
    for (let ordinal = 0; ordinal < this.#pin.ordinalLimit; ordinal++) {
      const entry = this.#pin.entryAt(ordinal)
      if (entry !== undefined) yield { ...entry, type: 'entry' }
    }
    for (const [key, version] of this.#filtered) yield { type: 'filtered', key, version }
    yield* this.#invalid
  }

  close(): void {
    this.#pin.close()
    this.#filtered.close()
  }
}
