import type { Entry } from '../../contract/source.js'
import type { CapturedHash, Ordinal } from '../ordinals.js'
import { type Bucket, HashIndex } from './hash-index.js'
import { grown } from './int32-list.js'
import { type Scalar, sameScalar } from './scalar.js'

const PLACE = 3

export class MultiIndex<T> extends HashIndex<T, readonly Scalar[]> {
  /** The first place of each ordinal, 0 if it has none. A place is the position of one object in one bucket. */
  #first = new Int32Array(0)
  /** Three numbers for each place: the id of its bucket, the position there, the next place of the ordinal. */
  #places = new Int32Array(PLACE)
  #lastPlace = 0
  /** The first of the free places. */
  #free = 0

  set(ordinal: Ordinal, entry: Entry<T>): void {
    const values = this.valueFor(entry)
    if (this.#hasValues(ordinal, values)) {
      for (let place = this.#firstOf(ordinal); place !== 0; place = this.#nextOf(place)) {
        const bucket = this.#bucketOf(place)
        if (bucket !== undefined) this.replace(bucket, this.#positionOf(place), entry.object)
      }
      return
    }
    this.delete(ordinal)
    this.#first = grown(this.#first, ordinal + 1)
    for (const value of values.toReversed()) {
      const bucket = this.bucketOf(value)
      const position = this.add(bucket, ordinal, entry.object)
      const place = this.#newPlace()
      this.#places[place * PLACE] = bucket.id
      this.#places[place * PLACE + 1] = position
      this.#places[place * PLACE + 2] = this.#firstOf(ordinal)
      this.#first[ordinal] = place
    }
  }

  delete(ordinal: Ordinal): void {
    this.recordMove(ordinal)
    let place = this.#firstOf(ordinal)
    if (place !== 0) this.#first[ordinal] = 0
    while (place !== 0) {
      const next = this.#nextOf(place)
      const bucket = this.#bucketOf(place)
      if (bucket !== undefined) this.remove(bucket, this.#positionOf(place))
      this.#places[place * PLACE + 2] = this.#free
      this.#free = place
      place = next
    }
  }

  protected ownValueAt(ordinal: Ordinal): readonly Scalar[] {
    const values: Scalar[] = []
    for (let place = this.#firstOf(ordinal); place !== 0; place = this.#nextOf(place)) {
      const bucket = this.#bucketOf(place)
      if (bucket !== undefined) values.push(bucket.value)
    }
    return values
  }

  protected captured(): CapturedHash['each'] {
    const [first, places] = [this.#first.slice(), this.#places.slice()]
    return (ordinal, visit) => {
      for (let place = first[ordinal] ?? 0; place !== 0; place = places[place * PLACE + 2] ?? 0)
        visit(places[place * PLACE] ?? 0)
    }
  }

  override clear(): void {
    super.clear()
    this.#first = new Int32Array(0)
    this.#places = new Int32Array(PLACE)
    this.#lastPlace = 0
    this.#free = 0
  }

  protected moved(ordinal: Ordinal, bucket: Bucket<T>, position: number): void {
    let place = this.#firstOf(ordinal)
    while (place !== 0 && this.#places[place * PLACE] !== bucket.id) place = this.#nextOf(place)
    if (place !== 0) this.#places[place * PLACE + 1] = position
  }

  #hasValues(ordinal: Ordinal, values: readonly Scalar[]): boolean {
    let place = this.#firstOf(ordinal)
    for (const value of values) {
      if (place === 0 || !sameScalar(this.#bucketOf(place)?.value, value)) return false
      place = this.#nextOf(place)
    }
    return place === 0
  }

  #newPlace(): number {
    const place = this.#free
    if (place !== 0) {
      this.#free = this.#nextOf(place)
      return place
    }
    this.#lastPlace++
    this.#places = grown(this.#places, (this.#lastPlace + 1) * PLACE)
    return this.#lastPlace
  }

  #firstOf(ordinal: Ordinal): number {
    return this.#first[ordinal] ?? 0
  }

  #bucketOf(place: number): Bucket<T> | undefined {
    return this.bucketWith(this.#places[place * PLACE] ?? 0)
  }

  #positionOf(place: number): number {
    return this.#places[place * PLACE + 1] ?? 0
  }

  #nextOf(place: number): number {
    return this.#places[place * PLACE + 2] ?? 0
  }
}
