import type { OrdinalTuple } from '../indexes/moved-tuples.js'
import { isScalar, type Scalar, ScalarMap } from '../indexes/scalar.js'
import { compareKeys, compareTuples, type Span } from '../indexes/sorted-tuples.js'
import type { CapturedIndex, Layer, Ordinal } from '../ordinals.js'
import type { HashBase, OrderBase, StoreIndex } from '../store-index.js'
import type { KeptBase } from './kept-base.js'
import { PackedHashIndex, packHash } from './packed-hash-index.js'
import type { PackedIndex } from './packed-snapshot.js'
import { PackedSortedIndex, packOrder } from './packed-sorted-index.js'
import { SectionReader } from './sections.js'

/** Returns the packed values of an index as its base. */
export function indexBaseOf<T>(packed: PackedIndex, base: KeptBase<T>): HashBase<T> | OrderBase {
  return packed.kind === 'hash' ? new KeptHash(packed, base) : new KeptOrder(packed, base)
}

/** The values of the entries of a base in an equal or multi-value index. */
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

/** The tuples of the entries of a base in an ordered or compound index. */
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

  /** Returns the ordinal at a position of the order. */
  #ordinalAt(position: number): Ordinal {
    return this.#base.ordinalAt(this.#packed.ordinalAt(position))
  }

  #compare({ tuple, ordinal }: OrdinalTuple, other: OrdinalTuple): number {
    return compareTuples(tuple, other.tuple) || compareKeys(this.#base.keyAt(ordinal), other.key)
  }
}

/**
 * Returns the packed values of an index that the content of a base lacks. It decodes each object, and keeps none. The
 * index must be empty; it is empty afterwards.
 */
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
  const ordinals = { size, storeOrdinalOf: same, packedOrdinalOf: same }
  const parts = captured.kind === 'hash' ? packHash(captured, '', ordinals, 0) : packOrder(captured, '', ordinals)
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
