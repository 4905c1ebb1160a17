import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/contract/random.js'

test('systemRandom returns numbers in [0, 1)', () => {
  const drawn = Array.from({ length: 1_000 }, () => systemRandom.next())
  expect(drawn.every((value) => value >= 0 && value < 1)).toBe(true)
})

test('systemRandom does not repeat itself', () => {
  expect(new Set(Array.from({ length: 100 }, () => systemRandom.next())).size).toBe(100)
})
