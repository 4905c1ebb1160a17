import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/queue/change.js'
import { Fold } from '../../support/fold.js'
import { mirrorOf, type Order, order } from '../../support/informers.js'

const entries = Array.from({ length: 20 }, (_, i) => [`k${i}`, order(i, i % 2 === 0 ? 'acme' : 'other')] as const)

function told(changes: readonly Change<Order>[]): readonly string[] {
  return changes.map(({ type, key, origin }) => `${type} ${key} ${origin}`)
}

describe('resyncMs', () => {
  test('[F1] resync delivers each object again once a period, as an update of itself, spread over the period', async () => {
    const { informer, clock, source } = mirrorOf(entries)
    const changes: Change<Order>[] = []
    informer.subscribe({ update: (change) => changes.push(change) }, { resyncMs: 1_000 })
    await informer.start().synced()
    await clock.advance(500)
    const half = changes.length
    await clock.advance(500)
    expect([half > 5 && half < 15, changes.length]).toEqual([true, 20])
    expect(new Set(told(changes))).toEqual(new Set(entries.map(([key]) => `update ${key} resync`)))
    for (const { key, object, previous, version } of changes)
      expect([object === previous, object === informer.get(key), version]).toEqual([true, true, undefined])
    await clock.advance(1_000)
    expect([changes.length, informer.status.relists]).toEqual([40, 0])
    source.disconnect()
  })

  test.each(['every', 'latest'] as const)('[F2] resync adds nothing to a pending change (%s)', async (delivery) => {
    const { informer, clock, source } = mirrorOf(entries, {})
    const fold = new Fold<Order>()
    const stuck = Promise.withResolvers<void>()
    const tell = (change: Change<Order>): Promise<void> | undefined => {
      fold.tell(change)
      return change.key === 'k1' && change.origin === 'watch' ? stuck.promise : undefined
    }
    const sub = informer.subscribe(
      { add: tell, update: tell, delete: tell },
      { resyncMs: 1_000, concurrency: 2, delivery },
    )
    await informer.start().synced()
    await clock.advance(10)
    source.put('k1', order(100))
    await clock.advance(10)
    source.put('k1', order(200))
    await clock.advance(9_000)
    expect(sub.backlog.keys).toBe(1)
    stuck.resolve()
    await clock.advance(0)
    const ofKey = fold.changes.filter(({ key }) => key === 'k1')
    expect(ofKey.map(({ type, origin, object }) => [type, origin, object.total])).toEqual([
      ['add', 'initial', 1],
      ['update', 'watch', 100],
      ['update', 'watch', 200],
    ])
  })

  test('[F3] resync does not shorten the delay of a key whose runs fail', async () => {
    const { informer, clock } = mirrorOf(entries)
    let runs = 0
    informer.on('error', () => {})
    await informer.start().synced()
    informer.reconcile(
      async (key) => {
        if (key !== 'k1' || ++runs === 1) return
        throw new Error('no')
      },
      { resyncMs: 1_000 },
    )
    await clock.advance(60_000)
    expect(runs).toBeLessThanOrEqual(12)
  })

  test('resync of an empty store begins when objects arrive', async () => {
    const { informer, clock, source } = mirrorOf<Order, object>([])
    let updates = 0
    informer.subscribe({ update: () => updates++ }, { resyncMs: 1_000 })
    await informer.start().synced()
    await clock.advance(5_000)
    await informer.waitFor(source.put('a', order(1)))
    await clock.advance(2_000)
    expect(updates).toBeGreaterThan(0)
  })
})
