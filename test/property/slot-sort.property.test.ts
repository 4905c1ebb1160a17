import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareComponents, SlotSort } from '../../src/store/indexes/order/slot-sort.js'
import type { Scalar } from '../../src/store/indexes/scalar.js'
import { finish } from '../../src/util/steps.js'
import { runs } from '../support/property.js'

type Value = Scalar | undefined

const ascii = fc.string({ maxLength: 20, unit: fc.constantFrom('a', 'b', '\u0000', '\u007f') })
const wide = fc.string({ maxLength: 9, unit: fc.constantFrom('a', '\u0000', '\u0080', '\ud800', '\udc00', '\uffff') })
const prefixed = ascii.map((text) => `a long text that all strings begin with ${text}`)
const strings = fc.oneof(ascii, wide, prefixed)
const numbers = fc.constantFrom(0, -0, 1, -1, 0.5, 2 ** 53, Infinity, -Infinity)
const bigints = fc.bigInt({ min: 2n ** 60n, max: 2n ** 60n + 300n })
const others: fc.Arbitrary<Value> = fc.constantFrom(undefined, NaN, true, false, 10n ** 400n, 1n, 2n ** 53n + 1n)
const dates = fc.constantFrom(0, 1, -1, NaN).map((ms) => new Date(ms))
const values = fc.oneof(strings, numbers, bigints, others, dates)
/** Most columns of an application have values of one kind. */
const column = fc.oneof(
  ...[ascii, wide, prefixed, numbers, bigints, dates, values].map((each) =>
    fc.array<Value>(each, { minLength: 1, maxLength: 200 }),
  ),
)

/** Returns a column with `length` values: those of `some`, repeated. */
function repeated(some: readonly Value[], length: number): Value[] {
  return Array.from({ length }, (_, slot) => some[slot % some.length])
}

test('[I9] slots are in the order of the first column, then of the second, then of the unique keys', () => {
  const keys = fc.uniqueArray(fc.oneof(ascii, wide, prefixed), { minLength: 1, maxLength: 200 })
  fc.assert(
    fc.property(fc.array(column, { maxLength: 2 }), keys, (some, unique) => {
      const columns = [...some.map((each) => repeated(each, unique.length)), unique]
      const slots = Int32Array.from(unique.keys())
      finish(new SlotSort(slots, columns).steps())
      const expected = [...unique.keys()].sort((a, b) => {
        for (const each of columns) {
          const order = compareComponents(each[a], each[b])
          if (order !== 0) return order
        }
        return 0
      })
      expect([...slots]).toEqual(expected)
    }),
    runs(2_000),
  )
})
