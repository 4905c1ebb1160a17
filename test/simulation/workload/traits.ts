import type { Compound, Equal, IndexBuilder, Ordered } from '../../../src/store/indexes/index-types.js'
import type { Scalar } from '../../../src/store/indexes/scalar.js'
import type { Item } from '../backend/history.js'
import { mix } from './random-decisions.js'

/** Values of indexes; neighbours are easily confused. */
const VALUES: readonly (Scalar | null | undefined)[] = [
  2 ** 60,
  2n ** 60n,
  2n ** 60n + 1n,
  Number.MAX_SAFE_INTEGER,
  BigInt(Number.MAX_SAFE_INTEGER),
  Infinity,
  null,
  1e300,
  BigInt(1e300),
  -Infinity,
  Number.NaN,
  new Date(Number.NaN),
  undefined,
  -0,
  0,
  0n,
  false,
  new Date(0),
  '0',
  '',
  null,
  'a',
  'ab',
  'abc',
  'b',
  '\uffff',
  '😀',
  true,
  1,
  1n,
  1.5,
  undefined,
  new Date(1),
  -1n,
  -(2n ** 60n),
]

/** The number of values that one schedule uses. */
const POOL = 7

/** The index values of the objects of one schedule. They follow from the seed and the content. */
export class Traits {
  readonly pool: readonly (Scalar | null | undefined)[]
  readonly #seed: number

  constructor(seed: number) {
    this.#seed = seed
    const from = mix(seed ^ 0x7a17) % VALUES.length
    this.pool = Array.from({ length: POOL }, (_, nth) => VALUES[(from + nth) % VALUES.length])
  }

  owner = ({ n }: Item): Scalar | null | undefined => this.#value(n, 1)

  score = ({ n }: Item): Scalar | null | undefined => this.#value(n, 2)

  pair = ({ n }: Item): readonly (Scalar | null | undefined)[] | null => {
    if (mix(n ^ this.#seed) % 8 === 0) return null
    return [this.#value(n, 3), this.#value(n, 4)]
  }

  labels = ({ n }: Item): readonly Scalar[] =>
    Array.from({ length: mix(n) % 4 }, (_, nth) => this.#value(n, 5 + nth)) as Scalar[]

  #value(n: number, nth: number): Scalar | null | undefined {
    const value = this.pool[mix(Math.imul(n, 31) + nth + this.#seed) % POOL]
    return value instanceof Date ? new Date(value) : value
  }
}

export interface TraitIndexes {
  readonly owner: Equal<Item, Scalar>
  readonly labels: Equal<Item, Scalar>
  readonly score: Ordered<Item, Scalar>
  readonly pair: Compound<Item, readonly Scalar[]>
  readonly age: Ordered<Item, number>
}

export function traitIndexesOf(ix: IndexBuilder<Item>, traits: Traits): TraitIndexes {
  return {
    owner: ix.equal(traits.owner),
    labels: ix.multi(traits.labels),
    score: ix.ordered(traits.score),
    pair: ix.compound(traits.pair) as Compound<Item, readonly Scalar[]>,
    age: ix.ordered(({ n }) => n),
  }
}
