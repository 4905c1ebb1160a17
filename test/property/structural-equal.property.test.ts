import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { structuralEqual } from '../../src/store/structural-equal.js'
import { runs } from '../support/property.js'

/** Everything that plain data is made of, and Dates, typed arrays, Maps, Sets. */
const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
})

/** JSON values so small that two of them are often equal, or nearly so. JSON has no -0. */
const json = fc
  .letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.constantFrom(null, true, false, 0, 1, '', 'a'),
      fc.array(tie('value'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'constructor', ''), tie('value'), {
        maxKeys: 2,
        noNullPrototype: true,
      }),
    ),
  }))
  .value.map((value): unknown => JSON.parse(JSON.stringify(value)))

test('structuralEqual is reflexive and symmetric', () => {
  const pairs = fc.oneof(fc.tuple(anything, anything), fc.tuple(json, json))
  fc.assert(
    fc.property(pairs, ([a, b]) => {
      expect([structuralEqual(a, a), structuralEqual([a], [a])]).toEqual([true, true])
      expect(structuralEqual(a, b)).toBe(structuralEqual(b, a))
    }),
    runs(3_000),
  )
})

test('structuralEqual agrees with node:assert on JSON values', () => {
  fc.assert(
    fc.property(json, json, (a, b) => void expect(structuralEqual(a, b)).toBe(isDeepStrictEqual(a, b))),
    runs(3_000),
  )
})

test('JSON values, Dates and typed arrays equal their copies', () => {
  const value = fc.oneof(fc.jsonValue(), fc.anything({ withDate: true, withTypedArray: true, withBigInt: true }))
  fc.assert(
    fc.property(value, (original) => structuralEqual(original, structuredClone(original))),
    runs(1_000),
  )
})
