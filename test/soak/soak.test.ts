import { describe, expect, test } from 'vitest'
import { slope } from './heap.js'
import { runSoak } from './soak.js'

describe('much of everything', () => {
  test('leaves nothing in the heap, and nothing after stop', { timeout: 120_000 }, async () => {
    const { figures, left } = await runSoak({
      events: 1_000_000,
      reconnects: 2_000,
      relists: 2_000,
      joins: 200,
      behindStuck: 1_000_000,
    })
    expect(figures.filter(({ holds }) => !holds)).toEqual([])
    expect(left).toEqual([])
  })

  test('a slope is found', () => {
    const line = Array.from({ length: 8 }, (_, x) => [x * 100, 5_000 + x * 250 + (x % 2)] as const)
    expect(slope(line)).toBeCloseTo(2.5, 1)
    expect(slope([[1, 5]])).toBe(0)
  })
})
