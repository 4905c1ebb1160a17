import type { SavedEntry } from '../../contract/mirror-cache.js'
import type { Entry } from '../../contract/source.js'
import type { OrdinalTuple } from '../indexes/moves.js'
import { compareKeys, compareTuples, type Span } from '../indexes/order/sorted-tuples.js'
import { isScalar, type Scalar, ScalarMap } from '../indexes/scalar.js'
import type { HashBase, OrderBase, StoreIndex } from '../indexes/store-index.js'
import type { CapturedIndex, Layer, Ordinal } from '../ordinals.js'
import { DecodedEntries } from './decoded-entries.js'
import { PackedHashIndex, packHash } from './packed-hash-index.js'
import type { PackedIndex, PackedSnapshot } from './packed-snapshot.js'
import { PackedSortedIndex, packOrder } from './packed-sorted-index.js'
import { SectionReader } from './sections.js'

interface Options<T> {
  readonly snapshot: PackedSnapshot
  readonly restored: (entry: SavedEntry) => Entry<T>
  /** Called when the first object cannot be decoded. */
  readonly onDamage: (error: unknown) => void
  readonly onReleased: () => void
}

/**
 * Packed content below a store, which itself has only the entries that were written since, at ordinals from 0. The
 * packed entries have ordinals below 0, in the order of the content. A decoded object is the same as long as something
 * refers to it. An object that cannot be decoded is absent.
 */
export class KeptBase<T> {
  readonly snapshot: PackedSnapshot
  readonly #length: number
  readonly #options: Options<T>
  readonly #decoded = new DecodedEntries<T>()
  /** A bit for each entry that was overwritten or deleted. */
  readonly #overwritten: Uint32Array
  #overwrittenCount = 0
  /** By entry: the layer of pins in which it was overwritten. 0 if no pins were open. */
  #overwrittenIn: Int32Array | undefined
  /** By entry: what the store has taken. */
  #taken: (Entry<T> | undefined)[] | undefined
  #hasDamage = false
  /** The array of all objects, and the number of changes when it was made. */
  #list: { readonly objects: WeakRef<readonly T[]>; readonly changes: number } | undefined
  /** Increases when a stored object changes. */
  changes = 0

  constructor(options: Options<T>) {
    this.snapshot = options.snapshot
    this.#length = options.snapshot.size
    this.#options = options
    this.#overwritten = new Uint32Array(Math.ceil(this.#length / 32))
  }

  get size(): number {
    return this.#length - this.#overwrittenCount
  }

  get ordinalStart(): Ordinal {
    return -this.#length
  }

  ordinalAt(number: number): Ordinal {
    return number - this.#length
  }

  get isWhole(): boolean {
    return this.#overwrittenCount === 0
  }

  /** Returns the ordinal of a key, unless its entry was overwritten. */
  ordinalOf(key: string): Ordinal | undefined {
    const ordinal = this.firstOrdinalOf(key)
    return ordinal !== undefined && this.has(ordinal) ? ordinal : undefined
  }

  /** Returns the ordinal of a key, also if its entry was overwritten. */
  firstOrdinalOf(key: string): Ordinal | undefined {
    const at = this.snapshot.ordinalOf(key)
    return at === undefined ? undefined : at - this.#length
  }

  /** Whether the entry at an ordinal was not overwritten; with `layer`: not before its pins were created. */
  has(ordinal: Ordinal, layer?: Layer): boolean {
    const at = ordinal + this.#length
    if (((this.#overwritten[at >>> 5] ?? 0) & (1 << (at & 31))) === 0) return at < this.#length
    return layer !== undefined && (this.#overwrittenIn?.[at] ?? 0) >= layer.id
  }

  entryAt(ordinal: Ordinal, layer?: Layer): Entry<T> | undefined {
    if (!this.has(ordinal, layer)) return undefined
    return this.#taken?.[ordinal + this.#length] ?? this.#decoded.get(ordinal) ?? this.#decode(ordinal)
  }

  /** As `entryAt`. Until it is released, the base refers to the entry: the store takes it. */
  take(ordinal: Ordinal): Entry<T> | undefined {
    if (!this.has(ordinal)) return undefined
    // A reference that is not weak costs less.
    const entry = this.#decoded.get(ordinal) ?? this.#decode(ordinal, this.#decoded.has(ordinal))
    this.#taken ??= new Array<Entry<T> | undefined>(this.#length).fill(undefined)
    this.#taken[ordinal + this.#length] = entry
    return entry
  }

  entryOf(key: string): Entry<T> | undefined {
    const ordinal = this.ordinalOf(key)
    return ordinal === undefined ? undefined : this.entryAt(ordinal)
  }

  keyAt(ordinal: Ordinal): string {
    return this.snapshot.keyAt(ordinal + this.#length)
  }

  *entries(layer?: Layer): Generator<Entry<T>> {
    for (let ordinal = this.ordinalStart; ordinal < 0; ordinal++) {
      const entry = this.entryAt(ordinal, layer)
      if (entry !== undefined) yield entry
    }
  }

  *keys(layer?: Layer): Generator<string> {
    for (let ordinal = this.ordinalStart; ordinal < 0; ordinal++)
      if (this.has(ordinal, layer)) yield this.keyAt(ordinal)
  }

  /** The array of all objects that readers share until an object changes, if it is in use. */
  get list(): readonly T[] | undefined {
    return this.#list?.changes === this.changes ? this.#list.objects.deref() : undefined
  }

  sharedList(make: () => readonly T[]): readonly T[] {
    const known = this.list
    if (known !== undefined) return known
    const objects = make()
    this.#list = { objects: new WeakRef(objects), changes: this.changes }
    return objects
  }

  /** The store overwrites or deletes an entry. `layer`: the newest open pins. Returns false if that was done before. */
  overwrite(ordinal: Ordinal, layer: Layer | undefined): boolean {
    if (!this.has(ordinal)) return false
    this.#mark(ordinal)
    if (layer === undefined) this.#overwrittenIn = undefined
    else {
      this.#overwrittenIn ??= new Int32Array(this.#length)
      this.#overwrittenIn[ordinal + this.#length] = layer.id
    }
    return true
  }

  restore(ordinal: Ordinal): void {
    const at = ordinal + this.#length
    this.#overwritten[at >>> 5] = (this.#overwritten[at >>> 5] ?? 0) & ~(1 << (at & 31))
    this.#overwrittenCount--
  }

  /** The store reads nothing of it any more. */
  release(): void {
    this.#options.onReleased()
  }

  #mark(ordinal: Ordinal): void {
    const at = ordinal + this.#length
    this.#overwritten[at >>> 5] = (this.#overwritten[at >>> 5] ?? 0) | (1 << (at & 31))
    this.#overwrittenCount++
  }

  #decode(ordinal: Ordinal, isAdded = true): Entry<T> | undefined {
    try {
      const record = this.snapshot.recordAt(ordinal + this.#length)
      if (record.type !== 'entry') throw new RangeError('it is not an entry')
      const entry = this.#options.restored(record)
      return isAdded ? this.#decoded.add(ordinal, entry) : entry
    } catch (error) {
      // From now on it is absent, like an entry that was deleted.
      if (this.has(ordinal)) this.#mark(ordinal)
      if (this.#overwrittenIn !== undefined) this.#overwrittenIn[ordinal + this.#length] = 0
      this.changes++
      if (!this.#hasDamage) this.#options.onDamage(error)
      this.#hasDamage = true
      return undefined
    }
  }
}

export function indexBaseOf<T>(packed: PackedIndex, base: KeptBase<T>): HashBase<T> | OrderBase {
  return packed.kind === 'hash' ? new KeptHash(packed, base) : new KeptOrder(packed, base)
}

class KeptHash<T> implements HashBase<T> {
  readonly kind = 'hash'
  readonly #packed: PackedHashIndex
  readonly #base: KeptBase<T>
  /** The arrays that readers share until an object changes. */
  readonly #shared = new ScalarMap<WeakRef<readonly T[]>>()
  #sharedSince = -1

  constructor(packed: PackedHashIndex, base: KeptBase<T>) {
    this.#packed = packed
    this.#base = base
  }

  ordinalsWith(value: Scalar, layer?: Layer): Ordinal[] {
    const ordinals = this.#packed.ordinalsWith(value).map((at) => this.#base.ordinalAt(at))
    return layer === undefined && this.#base.isWhole
      ? ordinals
      : ordinals.filter((ordinal) => this.#base.has(ordinal, layer))
  }

  *values(layer?: Layer): Generator<Scalar> {
    for (const [value, numbers] of this.#packed.buckets())
      if (numbers.some((at) => this.#base.has(this.#base.ordinalAt(at), layer))) yield value
  }

  shared(value: Scalar, make: () => readonly T[]): readonly T[] {
    if (!isScalar(value)) return make()
    if (this.#sharedSince !== this.#base.changes) this.#shared.clear()
    const known = this.#shared.get(value)?.deref()
    if (known !== undefined) return known
    const objects = make()
    this.#sharedSince = this.#base.changes
    this.#shared.set(value, new WeakRef(objects))
    return objects
  }
}

class KeptOrder<T> implements OrderBase {
  readonly kind = 'sorted'
  readonly #packed: PackedSortedIndex
  readonly #base: KeptBase<T>

  constructor(packed: PackedSortedIndex, base: KeptBase<T>) {
    this.#packed = packed
    this.#base = base
  }

  *merged(
    others: Iterable<OrdinalTuple>,
    { span, reverse, limit }: { readonly span: Span; readonly reverse: boolean; readonly limit: number },
    layer?: Layer,
  ): Iterable<OrdinalTuple> {
    const sign = reverse ? -1 : 1
    const rest = others[Symbol.iterator]()
    let other = rest.next()
    let left = limit
    for (const element of this.#elements(span, reverse, layer)) {
      while (other.done !== true && left > 0 && sign * this.#compare(element, other.value) > 0) {
        yield other.value
        other = rest.next()
        left--
      }
      if (left <= 0) return
      yield element
      left--
    }
    for (; other.done !== true && left > 0; left--, other = rest.next()) yield other.value
  }

  count(span: Span): number {
    const [from, to] = this.#packed.bounds(span)
    if (this.#base.isWhole) return to - from
    let count = 0
    for (let at = from; at < to; at++) if (this.#base.has(this.#ordinalAt(at))) count++
    return count
  }

  *#elements(span: Span, reverse: boolean, layer: Layer | undefined): Generator<OrdinalTuple> {
    const [from, to] = this.#packed.bounds(span)
    for (let nth = 0; nth < to - from; nth++) {
      const at = reverse ? to - 1 - nth : from + nth
      const ordinal = this.#ordinalAt(at)
      if (this.#base.has(ordinal, layer)) yield { ordinal, tuple: this.#packed.tupleAt(at), key: '' }
    }
  }

  #ordinalAt(position: number): Ordinal {
    return this.#base.ordinalAt(this.#packed.ordinalAt(position))
  }

  #compare({ tuple, ordinal }: OrdinalTuple, other: OrdinalTuple): number {
    return compareTuples(tuple, other.tuple) || compareKeys(this.#base.keyAt(ordinal), other.key)
  }
}

/** Decodes each object, and keeps none. The index must be empty; it is empty afterwards. */
export function* packedValuesOf<T>(index: StoreIndex<T>, base: KeptBase<T>): Generator<void, PackedIndex> {
  const { size } = base.snapshot
  let captured: CapturedIndex | undefined
  try {
    for (let at = 0; at < size; at++) {
      const entry = base.entryAt(base.ordinalAt(at))
      if (entry !== undefined) index.set(at, entry)
      yield
    }
    if (index.prepare !== undefined) yield* index.prepare()
    captured = index.capture?.()
  } finally {
    index.clear()
  }
  if (captured === undefined) throw new Error('an index cannot be packed')
  const same = (ordinal: Ordinal): Ordinal => ordinal
  const parts = captured.kind === 'hash' ? packHash(captured, '', size, same, 0) : packOrder(captured, '', same)
  const sections = new Map<string, Uint8Array>()
  for (const part of parts) {
    if (part !== undefined) sections.set(part.name, joined(part.length, part.chunks))
    yield
  }
  const reader = new SectionReader(sections)
  return captured.kind === 'hash' ? new PackedHashIndex(reader, '', '', 0) : new PackedSortedIndex(reader, '', '')
}

function joined(length: number, chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
