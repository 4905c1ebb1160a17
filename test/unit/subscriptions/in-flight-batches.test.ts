import { describe, expect, test } from 'vitest'
import { type InFlightBatch, InFlightBatches } from '../../../src/subscriptions/in-flight-batches.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { Mirror } from '../../support/feeds.js'

/** A feed of which batches are taken one by one, and done in whatever order. */
class Taking {
  readonly mirror = new Mirror<number>().list([], '5')
  readonly feed = this.mirror.feed()
  readonly open = new InFlightBatches(this.feed)
  /** What is left of each, from version 6 on. */
  readonly taken: { readonly open: InFlightBatch; left: number }[] = []

  constructor() {
    const first = this.feed.dequeue()
    if (first !== undefined) this.feed.ack(first)
  }

  take(left: number): void {
    this.mirror.put(`k${this.taken.length}`, 1, `${6 + this.taken.length}`)
    const batch = this.feed.dequeue()
    if (batch === undefined) throw new Error('nothing was there to take')
    const open = this.open.track(batch)
    this.open.expect(open, left)
    this.open.ack(open)
    this.taken.push({ open, left })
  }

  done(at: number): void {
    const one = this.taken[at]
    if (one === undefined || one.left === 0) return
    one.left--
    this.open.ack(one.open)
  }

  /** The version up to which everything is done. */
  get reached(): string {
    const first = this.taken.findIndex(({ left }) => left > 0)
    return `${5 + (first === -1 ? this.taken.length : first)}`
  }
}

describe('batches that are done in whatever order', () => {
  test('one that is done before an earlier one counts when that is done', () => {
    const taking = new Taking()
    taking.take(1)
    taking.take(1)
    taking.done(1)
    expect(taking.feed.version).toBe('5')
    taking.done(0)
    expect(taking.feed.version).toBe('7')
  })

  test('one with nothing to do is done when it is taken', () => {
    const taking = new Taking()
    taking.take(0)
    expect([taking.feed.version, taking.open.size]).toEqual(['6', 0])
  })

  test('one to which more is added meanwhile is done when that is', () => {
    const taking = new Taking()
    taking.take(1)
    const [one] = taking.taken
    if (one !== undefined) taking.open.expect(one.open, 1)
    taking.done(0)
    expect(taking.feed.version).toBe('5')
    if (one !== undefined) taking.open.ack(one.open)
    expect(taking.feed.version).toBe('6')
  })

  // I7, I12
  test('[law 6][I12] the version is always that of the handled batches, and only the others are tracked', () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = new SeededRandom(seed)
      const taking = new Taking()
      for (let step = 0; step < 200; step++) {
        if (taking.taken.length === 0 || random.chance(0.3)) taking.take(random.below(4))
        else taking.done(random.below(taking.taken.length))
        const left = taking.taken.filter(({ left }) => left > 0).length
        expect([taking.feed.version, taking.open.size], `seed ${seed}, step ${step}`).toEqual([taking.reached, left])
      }
      for (let at = 0; at < taking.taken.length; at++) for (let i = 0; i < 4; i++) taking.done(at)
      // Nothing is on its way any more: it follows the store.
      taking.mirror.apply([], '999')
      expect(taking.feed.version, `seed ${seed}`).toBe('999')
    }
  })
})
