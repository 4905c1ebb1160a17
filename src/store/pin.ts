import { SourceError } from '../contract/errors.js'
import type { Entry } from '../contract/source.js'
import type { Ordinal } from './ordinals.js'
import type { KeptBase } from './packed/kept-base.js'
import type { PinLayer, PinLayers } from './pin-layers.js'

/** The store that a pin reads for all entries that have not been overwritten. */
export interface PinnedStore<T> {
  readonly size: number
  readonly ordinalLimit: number
  ordinalOf(key: string): Ordinal | undefined
  entryAt(ordinal: Ordinal): Entry<T> | undefined
  freezeShared(objects: readonly T[]): readonly T[]
  /** Packed content with entries that the store does not contain itself. */
  readonly kept?: KeptBase<T> | undefined
}

/**
 * A store as it was when the pin was created. The store keeps an entry for its pins when that is overwritten: by
 * ordinal, so that a scan of the table returns each object exactly once. It keeps no entries of later keys, so the
 * memory of a pin is bounded by the size of the store at its creation.
 */
export class Pin<T> {
  readonly #store: PinnedStore<T>
  readonly #layers: PinLayers<T>
  /** Undefined after `close`. */
  #layer: PinLayer<T> | undefined
  readonly #close: (layer: PinLayer<T>) => void
  readonly #limit: number
  /** Of the time when the pin was created. */
  readonly #kept: KeptBase<T> | undefined
  readonly size: number
  #list: readonly T[] | undefined

  /** `list` is the array of all objects, if there is one. With `original` the pin is another one of the same state. */
  constructor(
    store: PinnedStore<T>,
    layers: PinLayers<T>,
    close: (layer: PinLayer<T>) => void,
    list?: readonly T[],
    original?: Pin<T>,
  ) {
    this.#store = store
    this.#layers = layers
    this.#layer = original === undefined ? layers.open(store.ordinalLimit) : layers.share(original.layer)
    this.#list = list
    this.#close = close
    this.#limit = original?.ordinalLimit ?? store.ordinalLimit
    this.#kept = original === undefined ? store.kept : original.#kept
    this.size = original?.size ?? store.size
  }

  /** Returns another pin of the same state. Each is closed by itself. */
  pin(): Pin<T> {
    return new Pin<T>(this.#store, this.#layers, this.#close, this.#list, this)
  }

  /** Releases the kept entries. Every later read throws a SourceError with code STOPPED. */
  close(): void {
    const layer = this.#layer
    this.#layer = undefined
    this.#list = undefined
    if (layer !== undefined) this.#close(layer)
  }

  get isClosed(): boolean {
    return this.#layer === undefined
  }

  /** What was overwritten since. */
  get layer(): PinLayer<T> {
    if (this.#layer === undefined) throw new SourceError('the snapshot was disposed', { code: 'STOPPED' })
    return this.#layer
  }

  /** Whether entries of packed content, at ordinals below 0, are in its state. */
  get hasBase(): boolean {
    return this.#kept !== undefined
  }

  /** The least ordinal at the creation of the pin. */
  get ordinalStart(): Ordinal {
    return this.#kept?.ordinalStart ?? 0
  }

  /** One more than the greatest ordinal at the creation of the pin. */
  get ordinalLimit(): number {
    return this.#limit
  }

  ordinalOf(key: string): Ordinal | undefined {
    const first = this.layer
    const ordinal = this.#store.ordinalOf(key)
    if (ordinal !== undefined && this.entryAt(ordinal)?.key === key) return ordinal
    // The key is newer than the pin, or it was deleted since.
    for (let layer: PinLayer<T> | undefined = first; layer !== undefined; layer = layer.newer) {
      const before = layer.ordinalOf(key)
      if (before === undefined) continue
      if (this.entryAt(before)?.key === key) return before
      break
    }
    const packed = this.#kept?.firstOrdinalOf(key)
    return packed !== undefined && this.#kept?.has(packed, first) === true ? packed : undefined
  }

  entryOf(key: string): Entry<T> | undefined {
    const ordinal = this.ordinalOf(key)
    return ordinal === undefined ? undefined : this.entryAt(ordinal)
  }

  entryAt(ordinal: Ordinal): Entry<T> | undefined {
    const first = this.layer
    if (ordinal >= this.#limit) return undefined
    if (ordinal < 0) return this.#kept?.entryAt(ordinal, first)
    if (this.#layers.isUnchanged(first, ordinal)) return this.#store.entryAt(ordinal)
    for (let layer: PinLayer<T> | undefined = first; layer !== undefined; layer = layer.newer) {
      const kept = layer.at(ordinal)
      if (kept !== undefined) return kept ?? undefined
    }
    return undefined
  }

  entries(): Entry<T>[] {
    const { limit } = this.layer
    const entries = [...(this.#kept?.entries(this.layer) ?? [])]
    for (let ordinal = 0; ordinal < limit; ordinal++) {
      const entry = this.entryAt(ordinal)
      if (entry !== undefined) entries.push(entry)
    }
    return entries
  }

  keys(): string[] {
    const keys = [...(this.#kept?.keys(this.layer) ?? [])]
    for (let ordinal = 0; ordinal < this.layer.limit; ordinal++) {
      const entry = this.entryAt(ordinal)
      if (entry !== undefined) keys.push(entry.key)
    }
    return keys
  }

  list(): readonly T[] {
    this.#list ??= this.#store.freezeShared(this.entries().map((entry) => entry.object))
    return this.#list
  }

  /** @internal The array of all objects, if `list` has returned it. */
  get sharedList(): readonly T[] | undefined {
    return this.#list
  }

  /** @internal The number of ordinals and keys that are kept. */
  get held(): number {
    return this.layer.held
  }
}
