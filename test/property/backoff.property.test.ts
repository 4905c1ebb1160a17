import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Backoff, backoff, delayOf, drawDelay, grown, reset } from '../../src/reflector/backoff.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { runs } from '../support/property.js'

const bounds = fc
  .tuple(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 0, max: 100_000 }))
  .map(([initial, more]) => backoff(initial, initial + more))

const steps = fc.array(fc.constantFrom<(from: Backoff) => Backoff>(grown, grown, grown, reset), { maxLength: 30 })

test('[R9] Backoff stays between its initial distance and its ceiling, and a delay between half the distance and all of it', () => {
  const chance = fc.nat({ max: 2 ** 31 - 1 }).map((n) => n / 2 ** 31)
  fc.assert(
    fc.property(bounds, steps, chance, (first, all, drawn) => {
      const at = all.reduce((from, step) => step(from), first)
      expect(at.currentMs).toBeGreaterThanOrEqual(first.initialMs)
      expect(at.currentMs).toBeLessThanOrEqual(first.maxMs)
      expect(reset(at)).toEqual(first)
      const delay = delayOf(at, drawn)
      expect(delay).toBeGreaterThanOrEqual(at.currentMs / 2)
      expect(delay).toBeLessThan(at.currentMs)
    }),
    runs(500),
  )
})

test('drawn delays follow from the seed', () => {
  fc.assert(
    fc.property(bounds, fc.integer(), (at, seed) => {
      const [one, other] = [new SeededRandom(seed), new SeededRandom(seed)]
      expect([drawDelay(at, one), drawDelay(at, one)]).toEqual([drawDelay(at, other), drawDelay(at, other)])
    }),
    runs(100),
  )
})
