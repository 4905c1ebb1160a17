import { expect, test } from 'vitest'
import { SeededRandom } from '../../../testing/seeded-random.js'

const draw = (seed: number, length = 1_000): number[] => {
  const random = new SeededRandom(seed)
  return Array.from({ length }, () => random.next())
}

test('the sequence of a seed is the same in every release: recorded seeds stay reproducible', () => {
  expect(draw(1, 3)).toEqual([0.6270739405881613, 0.002735721180215478, 0.5274470399599522])
})

test.each([0, 1, -1, 2 ** 32, 0.5, Number.NaN])('seed %d returns numbers in [0, 1)', (seed) => {
  expect(draw(seed).every((value) => value >= 0 && value < 1)).toBe(true)
})

test('below(n) returns every integer from 0 to n - 1 and no other', () => {
  const random = new SeededRandom(3)
  const drawn = new Set(Array.from({ length: 500 }, () => random.below(5)))
  expect([...drawn].toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4])
})

test.each([0, 0.25, 1])('chance(%d) is true with that probability', (probability) => {
  const random = new SeededRandom(4)
  const hits = Array.from({ length: 10_000 }, () => random.chance(probability)).filter(Boolean).length
  expect(Math.abs(hits - 10_000 * probability)).toBeLessThanOrEqual(probability === 0.25 ? 200 : 0)
})

test('pick returns every element, and throws a TypeError for none', () => {
  const random = new SeededRandom(6)
  const picked = new Set(Array.from({ length: 200 }, () => random.pick(['a', 'b', undefined])))
  expect(picked).toEqual(new Set(['a', 'b', undefined]))
  expect(() => random.pick([])).toThrow(TypeError)
})
