import { firstIndex } from '../../util/binary-search.js'
import { isScalar, type Scalar, sameScalar, scalarsOf } from '../indexes/scalar.js'
import type { CapturedHash, Ordinal } from '../ordinals.js'
import { fillSlot, findSlot, hashScalar, newSlots } from './hash-slots.js'
import { PackedScalars, ScalarsWriter } from './packed-scalars.js'
import { type SectionReader, type SectionWriter, sectionOf } from './sections.js'

/** A step of the work counts this number of ordinals or values. */
const STEP = 16

/** Packs the values of a hash index, a hash table of them, and the ordinals of each value: 0, 1, … below `size`. */
export function* packHash(
  { values, each }: CapturedHash,
  name: string,
  size: number,
  storeOrdinalOf: (ordinal: Ordinal) => Ordinal,
  seed: number,
): SectionWriter {
  const counts = new Uint32Array(values.length)
  for (let ordinal = 0; ordinal < size; ordinal++) {
    each(storeOrdinalOf(ordinal), (id) => {
      counts[id] = (counts[id] ?? 0) + 1
    })
    if (ordinal % STEP === 0) yield
  }
  const used: number[] = []
  for (const [id, count] of counts.entries()) {
    if (count > 0) used.push(id)
    if (id % STEP === 0) yield
  }
  const packed = new ScalarsWriter(used.length)
  const slots = newSlots(used.length)
  const starts = new Uint32Array(used.length + 1)
  /** By id: the place of the next ordinal of the value. */
  const next = counts
  let start = 0
  for (const [at, id] of used.entries()) {
    const value = values[id]
    if (value === undefined) throw new Error('an index lost a value')
    packed.set(at, value)
    fillSlot(slots, hashScalar(value, seed), at)
    starts[at] = start
    start += counts[id] ?? 0
    next[id] = starts[at] ?? 0
    yield
  }
  starts[used.length] = start
  const ordinals = new Uint32Array(start)
  for (let ordinal = 0; ordinal < size; ordinal++) {
    each(storeOrdinalOf(ordinal), (id) => {
      const at = next[id] ?? 0
      ordinals[at] = ordinal
      next[id] = at + 1
    })
    if (ordinal % STEP === 0) yield
  }
  yield* packed.sections(name)
  yield sectionOf(`${name}.slots`, slots)
  yield sectionOf(`${name}.starts`, starts)
  yield sectionOf(`${name}.ordinals`, ordinals)
}

export class PackedHashIndex {
  readonly kind = 'hash'
  readonly signature: string
  readonly #values: PackedScalars
  readonly #slots: Int32Array
  readonly #starts: Uint32Array
  readonly #ordinals: Uint32Array
  readonly #seed: number

  constructor(sections: SectionReader, name: string, signature: string, seed: number) {
    this.signature = signature
    this.#values = new PackedScalars(sections, name)
    this.#slots = sections.array(Int32Array, `${name}.slots`)
    this.#starts = sections.array(Uint32Array, `${name}.starts`)
    this.#ordinals = sections.array(Uint32Array, `${name}.ordinals`)
    this.#seed = seed
  }

  ordinalsWith(value: Scalar): Ordinal[] {
    // A caller without types may pass any value, as to an index of the store.
    const found = isScalar(value) ? this.#find(value) : undefined
    return found === undefined ? [] : Array.from(this.#ordinals.subarray(...this.#range(found)))
  }

  *buckets(): Generator<readonly [value: Scalar, ordinals: Uint32Array]> {
    for (let at = 0; at < this.#values.count; at++) {
      const value = this.#values.at(at)
      if (value !== undefined) yield [value, this.#ordinals.subarray(...this.#range(at))]
    }
  }

  /** The number of pairs of an ordinal and one of its values. */
  get length(): number {
    return this.#ordinals.length
  }

  ordinalAt(position: number): Ordinal {
    return this.#ordinals[position] ?? 0
  }

  /** Whether an ordinal has all values of a scalar or of an array. */
  has(ordinal: Ordinal, remembered: unknown): boolean {
    return scalarsOf(remembered).every((value) => {
      const found = this.#find(value)
      if (found === undefined) return false
      const [start, end] = this.#range(found)
      const at = start + firstIndex(end - start, (nth) => this.ordinalAt(start + nth) >= ordinal)
      return at < end && this.ordinalAt(at) === ordinal
    })
  }

  /** Whether the value of a pair is one of a scalar or of an array. */
  isAt(position: number, remembered: unknown): boolean {
    const value = this.#values.at(firstIndex(this.#values.count, (at) => this.#range(at)[1] > position))
    return scalarsOf(remembered).some((each) => sameScalar(each, value))
  }

  #find(value: Scalar): number | undefined {
    return findSlot(this.#slots, hashScalar(value, this.#seed), (each) => sameScalar(this.#values.at(each), value))
  }

  #range(at: number): readonly [start: number, end: number] {
    return [this.#starts[at] ?? 0, this.#starts[at + 1] ?? 0]
  }
}
