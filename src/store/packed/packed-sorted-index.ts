import { firstIndex } from '../../util/binary-search.js'
import { compareTuples, type Span, type Tuple } from '../indexes/order/sorted-tuples.js'
import { isScalars, type Scalar } from '../indexes/scalar.js'
import type { CapturedOrder, Ordinal } from '../ordinals.js'
import { PackedScalars, ScalarsWriter } from './packed-scalars.js'
import { type SectionReader, type SectionWriter, sectionOf } from './sections.js'

/** Packs the ordinals of an index in its order, and its tuples. `packedOrdinalOf` returns -1 without an entry. */
export function* packOrder(
  { order, columns }: CapturedOrder,
  name: string,
  packedOrdinalOf: (storeOrdinal: Ordinal) => Ordinal,
): SectionWriter {
  const width = columns.length
  const scalars = new ScalarsWriter(order.length * width)
  const ordinals = new Uint32Array(order.length)
  for (const [at, storeOrdinal] of order.entries()) {
    const ordinal = packedOrdinalOf(storeOrdinal)
    if (ordinal < 0) throw new Error('an index has an ordinal without an entry')
    ordinals[at] = ordinal
    for (let k = 0; k < width; k++) scalars.set(at * width + k, columns[k]?.[storeOrdinal])
    yield
  }
  yield* scalars.sections(name)
  yield sectionOf(`${name}.ordinals`, ordinals)
}

export class PackedSortedIndex {
  readonly kind = 'sorted'
  readonly signature: string
  readonly #scalars: PackedScalars
  readonly #ordinals: Uint32Array
  readonly #width: number

  constructor(sections: SectionReader, name: string, signature: string) {
    this.signature = signature
    this.#scalars = new PackedScalars(sections, name)
    this.#ordinals = sections.array(Uint32Array, `${name}.ordinals`)
    this.#width = this.#ordinals.length === 0 ? 0 : this.#scalars.count / this.#ordinals.length
  }

  /** Returns the first position of a span, and the position after its last one. */
  bounds(span: Span): readonly [from: number, to: number] {
    const { length } = this.#ordinals
    const from = firstIndex(length, (at) => !span.isBefore(this.tupleAt(at)))
    return [from, firstIndex(length, (at) => at >= from && !span.isWithin(this.tupleAt(at)))]
  }

  get length(): number {
    return this.#ordinals.length
  }

  /** Whether an ordinal has a tuple; true without one. */
  has(ordinal: Ordinal, tuple: unknown): boolean {
    if (!isScalars(tuple)) return true
    const isBefore = (each: Tuple): boolean => compareTuples(each, tuple) < 0
    const [from, to] = this.bounds({ isBefore, isWithin: (each) => compareTuples(each, tuple) === 0 })
    return this.#ordinals.subarray(from, to).includes(ordinal)
  }

  isAt(position: number, tuple: unknown): boolean {
    return isScalars(tuple) && compareTuples(this.tupleAt(position), tuple) === 0
  }

  ordinalAt(position: number): Ordinal {
    return this.#ordinals[position] ?? 0
  }

  tupleAt(position: number): Tuple {
    const tuple: Scalar[] = []
    for (let k = 0; k < this.#width; k++) {
      const component = this.#scalars.at(position * this.#width + k)
      if (component === undefined) break
      tuple.push(component)
    }
    return tuple
  }
}
