import type { SavedEntry } from '../../contract/mirror-cache.js'
import type { Entry } from '../../contract/source.js'
import type { Ordinal } from '../ordinals.js'
import { Pin, type PinnedStore } from '../pin.js'
import { PinLayers } from '../pin-layers.js'
import type { StoreIndex } from '../store-index.js'
import type { PackedIndex, PackedSnapshot } from './packed-snapshot.js'

interface Options<T> {
  readonly snapshot: PackedSnapshot
  readonly indexes: ReadonlyMap<StoreIndex<T>, PackedIndex>
  /** Returns a saved entry as it is stored. */
  readonly restored: (entry: SavedEntry) => Entry<T>
  readonly freezeShared: (objects: readonly T[]) => readonly T[]
  /** Called when the first object cannot be decoded. */
  readonly onDamage: (error: unknown) => void
}

/**
 * The content that readers see until the store contains all of it. An object is decoded when it is first read; from
 * then on it is the stored object. An object that cannot be decoded is absent.
 */
export class PackedBase<T> implements PinnedStore<T> {
  readonly #options: Options<T>
  readonly #entries: (Entry<T> | undefined)[]
  readonly #damaged = new Set<Ordinal>()
  /** Undefined when all objects are decoded. */
  #snapshot: PackedSnapshot | undefined

  constructor(options: Options<T>) {
    this.#options = options
    this.#snapshot = options.snapshot
    this.#entries = new Array<Entry<T> | undefined>(this.size).fill(undefined)
  }

  get size(): number {
    return this.#options.snapshot.size
  }

  get ordinalLimit(): number {
    return this.size
  }

  ordinalOf(key: string): Ordinal | undefined {
    return this.#options.snapshot.ordinalOf(key)
  }

  entryAt(ordinal: Ordinal): Entry<T> | undefined {
    return this.#entries[ordinal] ?? this.#decode(ordinal)
  }

  freezeShared(objects: readonly T[]): readonly T[] {
    return this.#options.freezeShared(objects)
  }

  packedIndex(index: StoreIndex<T>): PackedIndex | undefined {
    return this.#options.indexes.get(index)
  }

  /** Returns a pin of this content. */
  pin(): Pin<T> {
    return new Pin<T>(this, new PinLayers(), () => {})
  }

  /** All objects are decoded: no block is read any more. */
  end(): void {
    this.#snapshot = undefined
  }

  #decode(ordinal: Ordinal): Entry<T> | undefined {
    if (this.#snapshot === undefined || ordinal >= this.size || this.#damaged.has(ordinal)) return undefined
    try {
      const record = this.#snapshot.recordAt(ordinal)
      if (record.type !== 'entry') throw new RangeError('it is not an entry')
      const entry = this.#options.restored(record)
      this.#entries[ordinal] = entry
      return entry
    } catch (error) {
      const isFirst = this.#damaged.size === 0
      this.#damaged.add(ordinal)
      if (isFirst) this.#options.onDamage(error)
      return undefined
    }
  }
}
