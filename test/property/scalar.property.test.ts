import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareScalars, type Scalar, ScalarMap, sameScalar } from '../../src/store/indexes/scalar.js'
import { runs, scalars } from '../support/property.js'

describe('compareScalars is a total order', () => {
  test('[S11] it is reflexive and antisymmetric, and two scalars compare as equal exactly when they are the same', () => {
    fc.assert(
      fc.property(scalars, scalars, (a, b) => {
        expect([compareScalars(a, a), sameScalar(a, a)]).toEqual([0, true])
        expect(Math.sign(compareScalars(a, b))).toBe(0 - Math.sign(compareScalars(b, a)))
        expect([sameScalar(a, b), sameScalar(b, a)]).toEqual(Array(2).fill(compareScalars(a, b) === 0))
      }),
      runs(2_000),
    )
  })

  test('it is transitive, and equal scalars have the same order relative to others', () => {
    fc.assert(
      fc.property(scalars, scalars, scalars, (a, b, c) => {
        fc.pre(compareScalars(a, b) <= 0 && compareScalars(b, c) <= 0)
        expect(compareScalars(a, c)).toBeLessThanOrEqual(0)
        if (compareScalars(a, b) === 0) expect(Math.sign(compareScalars(a, c))).toBe(Math.sign(compareScalars(b, c)))
      }),
      runs(2_000),
    )
  })

  test('a number and a bigint are compared by value, exactly', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.maxSafeInteger(), (a, b) => {
        expect(Math.sign(compareScalars(a, b))).toBe(a < BigInt(b) ? -1 : a > BigInt(b) ? 1 : 0)
      }),
      runs(500),
    )
  })
})

test('ScalarMap is a map in which equal scalars are one key', () => {
  const step = fc.record({ key: scalars, does: fc.constantFrom('set', 'set', 'delete', 'clear') })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const map = new ScalarMap<number>()
      let model: { readonly key: Scalar; readonly value: number }[] = []
      steps.forEach(({ key, does }, value) => {
        if (does !== 'clear') model = model.filter((each) => !sameScalar(each.key, key))
        if (does === 'set') {
          map.set(key, value)
          model.push({ key, value })
        } else if (does === 'delete') map.delete(key)
        else {
          map.clear()
          model = []
        }
        expect(map.get(key)).toBe(does === 'set' ? value : undefined)
      })
      for (const { key, value } of model) expect(map.get(key)).toBe(value)
      const values = [...map.values()].toSorted((a, b) => a - b)
      expect([map.size, values]).toEqual([model.length, model.map(({ value }) => value).toSorted((a, b) => a - b)])
    }),
    runs(500),
  )
})
