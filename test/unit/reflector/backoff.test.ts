import { describe, expect, test } from 'vitest'
import { backoff, delayOf, drawDelay, grown, reset } from '../../../src/reflector/backoff.js'

describe('backoff', () => {
  test('it begins with the initial distance', () => {
    expect(backoff(800, 30_000).currentMs).toBe(800)
  })

  test('it doubles up to the ceiling and stays there', () => {
    const distances: number[] = []
    for (let at = backoff(800, 30_000); distances.length < 8; at = grown(at)) distances.push(at.currentMs)
    expect(distances).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
  })

  test('reset goes back to the initial distance', () => {
    expect(reset(grown(grown(backoff(800, 30_000)))).currentMs).toBe(800)
  })

  test('after a reset it grows as from the beginning', () => {
    expect(grown(reset(grown(grown(backoff(800, 30_000))))).currentMs).toBe(1_600)
  })

  test('a backoff that has not grown is its own reset', () => {
    const fresh = backoff(800, 30_000)
    expect(reset(fresh)).toBe(fresh)
  })

  test('it is a value: growing one leaves it as it was', () => {
    const first = backoff(800, 30_000)
    grown(first)
    expect(first).toEqual({ initialMs: 800, maxMs: 30_000, currentMs: 800 })
  })

  test.each([
    [0, 400],
    [0.5, 600],
    [0.75, 700],
  ])('a chance of %d delays an 800 ms distance by %d ms', (chance, delay) => {
    expect(delayOf(backoff(800, 30_000), chance)).toBe(delay)
  })

  test('drawDelay draws one chance', () => {
    const chances = [0.5, 0]
    const random = { next: () => chances.shift() ?? Number.NaN }
    const at = backoff(800, 30_000)
    expect([drawDelay(at, random), drawDelay(at, random)]).toEqual([600, 400])
  })
})
