import { describe, expect, test } from 'vitest'
import { mirrorOf, type Order, order, outcomeOf } from '../support/informers.js'

const entries = [1, 2, 3].map((n) => [`k${n}`, order(n)] as const)

describe('stop with drainMs', () => {
  test('lets handlers have what waits, and takes nothing more from the source', async () => {
    const { informer, clock, source } = mirrorOf(entries)
    const keys: string[] = []
    informer.subscribe({
      add: async ({ key }) => {
        await clock.sleep(100)
        keys.push(key)
      },
    })
    await informer.start().synced()
    await clock.advance(150)
    const stopped = informer.stop({ drainMs: 10_000 })
    source.put('k4', order(4))
    await clock.advance(1_000)
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
    expect(keys).toEqual(['k1', 'k2', 'k3'])
  })

  test('resolves as soon as nothing waits', async () => {
    const { informer, clock } = mirrorOf(entries)
    await informer.start().synced()
    informer.subscribe({})
    await clock.advance(0)
    expect(await outcomeOf(informer.stop({ drainMs: 60_000 }), clock)).toBe('resolved')
  })

  test('gives a handler that hangs so long, and the second of every stop', async () => {
    const { informer, clock } = mirrorOf(entries)
    await informer.start().synced()
    informer.subscribe({ add: () => new Promise(() => {}) })
    await clock.advance(0)
    const stopped = informer.stop({ drainMs: 5_000 })
    await clock.advance(5_900)
    expect(await outcomeOf(stopped, clock)).toBe('pending')
    await clock.advance(100)
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
  })

  test('lets a controller run the keys that are ready', async () => {
    const { informer, clock } = mirrorOf(entries)
    const runs: string[] = []
    await informer.start().synced()
    informer.reconcile(async (key) => {
      await clock.sleep(100)
      runs.push(key)
    })
    await clock.advance(0)
    const stopped = informer.stop({ drainMs: 10_000 })
    await clock.advance(1_000)
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
    expect(runs).toEqual(['k1', 'k2', 'k3'])
  })

  test('lets whoever iterates have what waits', async () => {
    const { informer, clock } = mirrorOf<Order, object>(entries)
    await informer.start().synced()
    const stream = informer.changes()
    const stopped = informer.stop({ drainMs: 10_000 })
    const keys: string[] = []
    for await (const { changes } of stream) keys.push(...changes.map(({ key }) => key))
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
    expect(keys).toEqual(['k1', 'k2', 'k3'])
  })

  test('drains, also where a listener that hears of it stops the informer again', async () => {
    const { informer, clock } = mirrorOf(entries)
    const keys: string[] = []
    informer.on('status', ({ state }) => {
      if (state === 'stopped') void informer.stop()
    })
    await informer.start().synced()
    informer.subscribe({ add: ({ key }) => keys.push(key) })
    const stopped = informer.stop({ drainMs: 10_000 })
    expect([await outcomeOf(stopped, clock), keys]).toEqual(['resolved', ['k1', 'k2', 'k3']])
  })

  test.each([0, -5, Number.POSITIVE_INFINITY])('%d is a TypeError', (drainMs) => {
    const { informer } = mirrorOf(entries)
    expect(() => informer.stop({ drainMs })).toThrow('stop: option "drainMs" must be a finite number above 0')
  })
})
