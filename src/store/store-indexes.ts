import { messageOf, SourceError } from '../contract/errors.js'
import type { Entry } from '../contract/source.js'
import { finish, type Steps } from '../util/steps.js'
import type { Ordinal } from './ordinals.js'
import type { KeptBase } from './packed/kept-base.js'
import { indexBaseOf, packedValuesOf } from './packed/kept-indexes.js'
import type { PackedIndex } from './packed/packed-snapshot.js'
import type { StoreIndex } from './store-index.js'

/** By ordinal. */
type Entries<T> = readonly (Entry<T> | undefined)[]

/** The indexes of a store. */
export class StoreIndexes<T> {
  readonly all: StoreIndex<T>[] = []
  /** Whether entries are added that are in the store already. */
  isFilling = false
  /** Whether an index threw while the indexes were rebuilt. Then no index can be read until a rebuild succeeds. */
  #areDamaged = false

  /** Adds packed content to all indexes. Without arguments they have none any more. */
  setBase(kept?: KeptBase<T>, values?: ReadonlyMap<StoreIndex<T>, PackedIndex>): void {
    for (const index of this.all) {
      const packed = values?.get(index)
      index.setBase?.(kept && packed && indexBaseOf(packed, kept))
    }
  }

  /** Adds an entry that readers see already. Pins are not affected. */
  fill(ordinal: Ordinal, entry: Entry<T>): void {
    this.isFilling = true
    try {
      for (const index of this.all) index.set(ordinal, entry)
    } finally {
      this.isFilling = false
    }
  }

  /** Fills and adds an index. An index that throws is not added. The first read prepares it. */
  add(index: StoreIndex<T>, entries: Entries<T>, kept: KeptBase<T> | undefined): void {
    finish(this.#fillNew(index, entries, kept))
    this.all.push(index)
  }

  /** Like `add`, in steps. The index is prepared. */
  *addInSteps(index: StoreIndex<T>, entries: Entries<T>, kept: KeptBase<T> | undefined): Steps {
    yield* this.#fillNew(index, entries, kept)
    if (index.prepare !== undefined) yield* index.prepare()
    this.all.push(index)
  }

  *#fillNew(index: StoreIndex<T>, entries: Entries<T>, kept: KeptBase<T> | undefined): Steps {
    if (kept !== undefined) index.setBase?.(indexBaseOf(yield* this.packedValuesOf(index, kept), kept))
    yield* this.#fill(index, entries)
  }

  /** Returns the values of an empty index for the entries of packed content. */
  *packedValuesOf(index: StoreIndex<T>, kept: KeptBase<T>): Generator<void, PackedIndex> {
    this.isFilling = true
    try {
      return yield* packedValuesOf(index, kept)
    } finally {
      this.isFilling = false
    }
  }

  /**
   * Adds all entries to an index. Pins are not affected: their values are recorded already, or the same as the new
   * ones.
   */
  *#fill(index: StoreIndex<T>, entries: Entries<T>): Steps {
    this.isFilling = true
    try {
      for (let ordinal = 0; ordinal < entries.length; ordinal++) {
        const entry = entries[ordinal]
        if (entry === undefined) continue
        index.set(ordinal, entry)
        yield
      }
    } finally {
      this.isFilling = false
    }
  }

  /** Does the work that the first reads of indexes would do. */
  *prepare(): Steps {
    for (const index of this.all) if (index.prepare !== undefined) yield* index.prepare()
  }

  /** Rebuilds all indexes from the entries. On an error, returns it; the indexes are damaged then. */
  rebuild(entries: Entries<T>): unknown {
    try {
      this.#areDamaged = true
      for (const index of this.all) {
        index.clear()
        finish(this.#fill(index, entries))
      }
      this.#areDamaged = false
      return undefined
    } catch (error) {
      return error
    }
  }

  /** @throws SourceError UNAVAILABLE when the indexes are damaged, and one more attempt to rebuild them fails. */
  assertIntact(entries: Entries<T>): void {
    if (!this.#areDamaged) return
    const thrown = this.rebuild(entries)
    if (!this.#areDamaged) return
    const message = `the indexes were damaged by an error and could not be rebuilt: ${messageOf(thrown)}`
    throw new SourceError(message, { code: 'UNAVAILABLE', phase: 'apply', cause: thrown })
  }
}
