import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { createInformer, SourceError, sourceSet } from '../../../src/index.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { numbers, reconcile } from '../../support/controllers.js'
import { Mirror } from '../../support/feeds.js'
import { assertCleanStop, mirrorOf, type Order, order } from '../../support/informers.js'

test('[N1] the reason of a run is initial for an object of the first list, and changed for each later change', async () => {
  const mirror = numbers(['a', 1])
  const seen: string[] = []
  reconcile(mirror, async (key, { reason }) => void seen.push(`${key} ${reason}`))
  await mirror.clock.advance(0)
  mirror.put('a', 2, '6').put('b', 1, '7')
  await mirror.clock.advance(0)
  mirror.delete('b', '8')
  await mirror.clock.advance(0)
  expect(seen).toEqual(['a initial', 'a changed', 'b changed', 'b changed'])
})

test('the reason of a run is resync for a resync, and not for a key that is pending anyway', async () => {
  const mirror = numbers(['a', 1], ['b', 1])
  const seen: string[] = []
  const controller = reconcile(
    mirror,
    async (key, { object, reason }) => {
      seen.push(`${key} ${reason}`)
      if (object === 2) throw new Error('no')
    },
    { resyncMs: 1_000, concurrency: 2, retry: { minMs: 60_000 } },
  )
  await mirror.clock.advance(0)
  mirror.put('b', 2, '6')
  await mirror.clock.advance(2_000)
  await controller.close()
  expect(seen).toEqual(['a initial', 'b initial', 'b changed', 'a resync', 'a resync'])
})

describe('[N2] without an object, gone is', () => {
  test('deleted for a delete, until a run for it has succeeded, and then unknown', async () => {
    const mirror = numbers(['a', 1], ['b', 1])
    const seen: string[] = []
    const controller = reconcile(mirror, async (key, { gone }) => void seen.push(`${key} ${gone}`))
    await mirror.clock.advance(0)
    mirror.delete('a', '6').list([], '7')
    await mirror.clock.advance(0)
    controller.enqueue('a')
    controller.enqueue('never seen')
    await mirror.clock.advance(0)
    expect(seen).toEqual([
      'a undefined',
      'b undefined',
      'a deleted',
      'b deleted', // A list does not contain it.
      'a unknown',
      'never seen unknown',
    ])
  })

  test('out-of-scope for an object that left the scope, or that never was in it', async () => {
    const mirror = new Mirror<Order>().list(Object.entries({ a: order(1), b: order(1, 'other') }), '5')
    const seen: string[] = []
    const filter = ({ tenant }: Order): boolean => tenant === 'acme'
    const controller = reconcile(mirror, async (key, { gone }) => void seen.push(`${key} ${gone}`), { filter })
    await mirror.clock.advance(0)
    mirror.put('a', order(2, 'other'), '6').delete('a', '7')
    controller.enqueue('b')
    await mirror.clock.advance(0)
    expect(seen.toSorted()).toEqual(['a out-of-scope', 'a undefined', 'b out-of-scope'])
  })

  test('out-of-scope for an object that transform omits, and unknown for one that became invalid', async () => {
    const { informer, source, clock } = mirrorOf<number, object>(Object.entries({ a: 1, b: 1 }), {
      transform: (n) => {
        if (n < 0) throw new Error('negative')
        return n === 0 ? undefined : n
      },
      onInvalid: 'omit',
    })
    const seen: string[] = []
    informer.reconcile(async (key, { gone }) => void seen.push(`${key} ${gone}`))
    await informer.start().synced()
    await clock.advance(0)
    source.put('a', 0)
    source.put('b', -1)
    await clock.advance(0)
    expect(seen.slice(2)).toEqual(['a out-of-scope', 'b unknown'])
  })

  test('source-removed for the objects of a removed source', async () => {
    const [eu, us] = [memorySource({ entries: [['a', 1]] }), memorySource({ entries: [['b', 1]] })]
    const source = sourceSet({ eu, us })
    const clock = new VirtualClock()
    const informer = createInformer({ source, clock })
    const seen: string[] = []
    informer.reconcile(async (key, { gone }) => void seen.push(`${key} ${gone}`))
    await informer.start().synced()
    await clock.advance(0)
    source.remove('us')
    await clock.advance(0)
    expect(seen.slice(2)).toEqual(['b source-removed'])
    await assertCleanStop(informer, clock)
  })

  test('unknown for an object whose source refuses access', async () => {
    const { informer, source, clock } = mirrorOf<number, object>([['a', 1]], { onAccessLost: 'clear' })
    const seen: string[] = []
    informer.reconcile(async (key, { gone }) => void seen.push(`${key} ${gone}`))
    await informer.start().synced()
    await clock.advance(0)
    source.fail(new SourceError('no', { code: 'UNAUTHORIZED' }), 1_000)
    source.disconnect()
    await clock.advance(60_000)
    expect(seen).toEqual(['a undefined', 'a unknown'])
  })
})
