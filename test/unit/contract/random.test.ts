import { expect, test } from 'vitest'
import { systemRandom } from '../../../src/contract/random.js'

test('systemRandom returns numbers in [0, 1)', () => {
  const drawn = Array.from({ length: 1_000 }, () => systemRandom.next())
  expect(drawn.every((value) => value >= 0 && value < 1)).toBe(true)
})
