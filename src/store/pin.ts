import { SourceError } from '../contract/errors.js'
import type { Entry } from '../contract/source.js'
import { grown } from './indexes/int32-list.js'
import type { Layer, Ordinal } from './ordinals.js'
import type { KeptBase } from './packed/kept-base.js'

/** The reads that a store and a pin of it have in common. */
export interface StoreReads<T> {
  readonly size: number
  /** The least ordinal: 0, or that of the first entry of packed content. */
  readonly ordinalStart: number
  /** One more than the greatest ordinal with an entry. */
  readonly ordinalLimit: number
  ordinalOf(key: string): Ordinal | undefined
  entryOf(key: string): Entry<T> | undefined
  entryAt(ordinal: Ordinal): Entry<T> | undefined
  keys(): string[]
  entries(): Entry<T>[]
  list(): readonly T[]
  /** Returns this state, readable while the store changes. */
  pin(): Pin<T>
}

/** The recorded reads of the function of a view. */
export interface TrackedReads<T> extends StoreReads<T> {
  /** Returns the public function of an index of the store, which records its reads. */
  accessorOf(index: object): unknown
}

/** The store that a pin reads for all entries that have not been overwritten. */
interface PinnedStore<T> extends Pick<StoreReads<T>, 'size' | 'ordinalLimit' | 'ordinalOf' | 'entryAt'> {
  freezeShared(objects: readonly T[]): readonly T[]
  /** Packed content with entries that the store does not contain itself. */
  readonly kept?: KeptBase<T> | undefined
}

/**
 * A store as it was when the pin was created. The store keeps an entry for its pins when that is overwritten: by
 * ordinal, so that a scan of the table returns each object exactly once. It keeps no entries of later keys, so the
 * memory of a pin is bounded by the size of the store at its creation.
 */
export class Pin<T> implements StoreReads<T> {
  readonly #store: PinnedStore<T>
  readonly #layers: PinLayers<T>
  /** Undefined after `close`. */
  #layer: PinLayer<T> | undefined
  readonly #close: (layer: PinLayer<T>) => void
  /** One more than the greatest ordinal at the creation of the pin. */
  readonly ordinalLimit: number
  /** Of the time when the pin was created. */
  readonly #kept: KeptBase<T> | undefined
  readonly size: number
  /** @internal The array of all objects, if `list` has returned it. */
  sharedList: readonly T[] | undefined

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
    this.sharedList = list
    this.#close = close
    this.ordinalLimit = original?.ordinalLimit ?? store.ordinalLimit
    this.#kept = original === undefined ? store.kept : original.#kept
    this.size = original?.size ?? store.size
  }

  /** Each of the two is closed by itself. */
  pin(): Pin<T> {
    return new Pin<T>(this.#store, this.#layers, this.#close, this.sharedList, this)
  }

  /** Releases the kept entries. Every later read throws a SourceError with code STOPPED. */
  close(): void {
    const layer = this.#layer
    this.#layer = undefined
    this.sharedList = undefined
    if (layer !== undefined) this.#close(layer)
  }

  get layer(): PinLayer<T> {
    if (this.#layer === undefined) throw new SourceError('the snapshot was disposed', { code: 'STOPPED' })
    return this.#layer
  }

  /** Whether entries of packed content, at ordinals below 0, are in its state. */
  get hasBase(): boolean {
    return this.#kept !== undefined
  }

  get ordinalStart(): Ordinal {
    return this.#kept?.ordinalStart ?? 0
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
    if (ordinal >= this.ordinalLimit) return undefined
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
    this.sharedList ??= this.#store.freezeShared(this.entries().map((entry) => entry.object))
    return this.sharedList
  }
}

/** When an overwritten entry makes a layer hold this share of all ordinals, the layer changes to an array. */
const DENSE = 1 / 8

/** A closed layer with more entries is not merged into an older one. */
const MERGED_AT_MOST = 1_000

/** The objects that were overwritten until the next layer began. Pins read their layer, then newer ones, then the store. */
export class PinLayer<T> implements Layer {
  readonly id: number
  readonly limit: number
  older: PinLayer<T> | undefined
  newer: PinLayer<T> | undefined
  pins = 1
  isWritten = false
  /** By ordinal: the overwritten entry, or null if there was none. */
  #kept: Map<Ordinal, Entry<T> | null> | undefined = new Map()
  #dense: (Entry<T> | null | undefined)[] = []
  #count = 0
  readonly #deleted = new Map<string, Ordinal>()

  constructor(id: number, limit: number, older: PinLayer<T> | undefined) {
    this.id = id
    this.limit = limit
    this.older = older
  }

  /** Returns the overwritten entry, null if there was none, undefined if the layer kept nothing. */
  at(ordinal: Ordinal): Entry<T> | null | undefined {
    return this.#kept === undefined ? this.#dense[ordinal] : this.#kept.get(ordinal)
  }

  ordinalOf(key: string): Ordinal | undefined {
    return this.#deleted.get(key)
  }

  keep(ordinal: Ordinal, entry: Entry<T> | null): void {
    if (ordinal >= this.limit || this.at(ordinal) !== undefined) return
    this.#count++
    if (this.#kept === undefined) this.#dense[ordinal] = entry
    else this.#kept.set(ordinal, entry)
    if (this.#kept === undefined || this.#count <= 1_000 || this.#count <= this.limit * DENSE) return
    this.#dense = new Array<Entry<T> | null | undefined>(this.limit).fill(undefined)
    for (const [each, kept] of this.#kept) this.#dense[each] = kept
    this.#kept = undefined
  }

  /** Keeps the ordinal of a deleted key, if the layer has an entry of that key there. */
  keepKey(key: string, ordinal: Ordinal): void {
    if (this.at(ordinal)?.key === key && !this.#deleted.has(key)) this.#deleted.set(key, ordinal)
  }

  absorb(newer: PinLayer<T>): void {
    if (newer.#kept === undefined) {
      newer.#dense.forEach((entry, ordinal) => {
        if (entry !== undefined) this.keep(ordinal, entry)
      })
    } else for (const [ordinal, entry] of newer.#kept) this.keep(ordinal, entry)
    for (const [key, ordinal] of newer.#deleted) this.keepKey(key, ordinal)
    this.isWritten ||= newer.isWritten
  }

  /** The number of ordinals and keys that are kept. */
  get held(): number {
    return this.#count + this.#deleted.size
  }
}

/** Each write is recorded in the newest layer only, so its cost does not grow with the pins. */
export class PinLayers<T> {
  /** By ordinal: the id of the newest layer at its last write. */
  #writtenIn = new Int32Array(0)
  newest: PinLayer<T> | undefined
  #lastId = 0
  size = 0

  open(limit: number): PinLayer<T> {
    const newest = this.newest
    if (newest !== undefined && !newest.isWritten) return this.share(newest)
    this.size++
    const layer = new PinLayer<T>(++this.#lastId, limit, newest)
    if (newest !== undefined) newest.newer = layer
    this.newest = layer
    return layer
  }

  share(layer: PinLayer<T>): PinLayer<T> {
    this.size++
    layer.pins++
    return layer
  }

  /** Closes one pin. Returns whether its layer is closed, too. Then an older layer has the entries that pins still need. */
  close(layer: PinLayer<T>): boolean {
    this.size--
    if (--layer.pins > 0) return false
    const { older, newer } = layer
    // Merging a large layer would take long. It stays until the older ones, which need it, are closed.
    if (older !== undefined && layer.held > MERGED_AT_MOST) return false
    older?.absorb(layer)
    if (older !== undefined) older.newer = newer
    if (newer === undefined) this.newest = older
    else newer.older = older
    if (older === undefined) this.#dropClosed(newer)
    return true
  }

  #dropClosed(oldest: PinLayer<T> | undefined): void {
    let layer = oldest
    while (layer?.pins === 0) layer = layer.newer
    if (layer === undefined) this.newest = undefined
    else layer.older = undefined
  }

  /** Called before a write of a packed entry. Returns the newest layer, if there is one. */
  written(): PinLayer<T> | undefined {
    const layer = this.newest
    if (layer !== undefined) layer.isWritten = true
    return layer
  }

  keep(ordinal: Ordinal, entry: Entry<T> | undefined): void {
    const layer = this.newest
    if (layer === undefined) return
    layer.isWritten = true
    this.#writtenIn = grown(this.#writtenIn, ordinal + 1)
    if (this.#idAt(ordinal) >= layer.id) return
    layer.keep(ordinal, entry ?? null)
    this.#writtenIn[ordinal] = layer.id
  }

  /** Whether nothing was written at `ordinal` since the pins of `layer` were created. */
  isUnchanged(layer: PinLayer<T>, ordinal: Ordinal): boolean {
    return ordinal < layer.limit && this.#idAt(ordinal) < layer.id
  }

  #idAt(ordinal: Ordinal): number {
    return this.#writtenIn[ordinal] ?? 0
  }
}
