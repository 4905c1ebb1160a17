import { describe, expect, test } from 'vitest'
import type { MemorySource } from '../../../adapters/memory/index.js'
import type { Controller } from '../../../src/index.js'
import { mirrorOf, type Order, order, outcomeOf, type World } from '../../support/informers.js'

/** The function of a controller, which decides how a run ends. */
type EndOfRun = (
  controller: Controller,
  run: { readonly key: string; readonly requeueAfter: (delayMs: number) => void },
) => void

const entries = [1, 2, 3].map((n) => [`k${n}`, order(n)] as const)

describe('stop with drainMs', () => {
  test('[F4] lets handlers finish the pending changes, and takes nothing more from the source', async () => {
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

  test.each([1, 2])('[F4] inside a handler lets this handler finish too (concurrency %d)', async (concurrency) => {
    const { informer, clock, source } = mirrorOf(entries)
    let stopped: Promise<void> | undefined
    const totals: number[] = []
    informer.subscribe(
      {
        update: async ({ object }) => {
          if (object.total === 20) stopped = informer.stop({ drainMs: 10_000 })
          await clock.sleep(100)
          totals.push(object.total)
        },
      },
      { concurrency },
    )
    await informer.start().synced()
    await clock.advance(0)
    for (const total of [10, 20, 30]) source.put('k1', order(total))
    await clock.advance(1_000)
    if (stopped === undefined) throw new Error('it was not stopped')
    expect(
      await outcomeOf(
        stopped.then(() => totals),
        clock,
      ),
    ).toBe('resolved')
    expect(totals).toEqual([10, 20, 30])
  })

  test.each([true, false])('[F4] resolves as soon as nothing waits, before the first list: %s', async (isBefore) => {
    const { informer, clock } = mirrorOf(entries)
    informer.reconcile(async () => {}).enqueue('k1')
    informer.subscribe({})
    informer.start()
    if (!isBefore) await clock.advance(10)
    expect(await outcomeOf(informer.stop({ drainMs: 60_000 }), clock)).toBe('resolved')
  })

  test('lets a controller run the keys that are ready, and a reader have the batches, also if a listener stops it again', async () => {
    const { informer, clock } = mirrorOf<Order, object>(entries)
    const runs: string[] = []
    informer.on('status', ({ state }) => {
      if (state === 'stopped') void informer.stop()
    })
    await informer.start().synced()
    informer.reconcile(async (key) => {
      await clock.sleep(100)
      runs.push(key)
    })
    const stream = informer.changes()
    await clock.advance(0)
    const stopped = informer.stop({ drainMs: 10_000 })
    const keys: string[] = []
    for await (const { changes } of stream) keys.push(...changes.map(({ key }) => key))
    await clock.advance(1_000)
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
    for (const drained of [runs, keys]) expect(drained).toEqual(['k1', 'k2', 'k3'])
  })

  test.each([0, -5, Number.POSITIVE_INFINITY])('%d is an OptionError', async (drainMs) => {
    const { informer } = mirrorOf(entries)
    await expect(informer.stop({ drainMs })).rejects.toThrow('stop: option "drainMs" must be a finite number above 0')
  })
})

describe('close with drain', () => {
  async function busy(): Promise<{ world: World<Order, object, MemorySource<Order>>; write: () => Promise<void> }> {
    const world = mirrorOf<Order, object>(entries)
    await world.informer.start().synced()
    let n = 0
    const write = async (): Promise<void> => {
      world.source.put('k1', order(++n))
      await world.clock.advance(50)
    }
    return { world, write }
  }

  test.each(['subscribe', 'reconcile'] as const)('[F5] of %s ends, also during continuous writes', async (way) => {
    const { world, write } = await busy()
    const { informer, clock } = world
    const handle = (): Promise<void> => clock.sleep(100)
    const sub = way === 'subscribe' ? informer.subscribe({ add: handle, update: handle }) : informer.reconcile(handle)
    for (let i = 0; i < 20; i++) await write()
    const at = informer.version ?? ''
    const closed = sub.close({ drain: true })
    for (let i = 0; i < 100; i++) await write()
    expect(await outcomeOf(closed, clock)).toBe('resolved')
    expect(sub.version).toBe(at)
  })

  test('before the first list of a controller ends after the enqueued keys, however much is written after it', async () => {
    const { informer, clock, source } = mirrorOf(entries)
    const runs: string[] = []
    const controller = informer.reconcile((key) => {
      runs.push(key)
      return clock.sleep(100)
    })
    controller.enqueue('k2')
    const closed = controller.close({ drain: true })
    expect(await outcomeOf(closed, clock)).toBe('pending')
    await informer.start().synced()
    for (let n = 0; n < 100; n++) {
      source.put('k1', order(n))
      await clock.advance(50)
    }
    expect(await outcomeOf(closed, clock)).toBe('resolved')
    expect(runs).toContain('k2')
  })

  describe('[F6] of a controller waits for no delayed key', () => {
    const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)

    test.each([
      ['by requeueAfter', (_, { requeueAfter }) => requeueAfter(30_000)],
      ['by enqueue with delayMs', (controller, { key }) => controller.enqueue(key, { delayMs: 30_000 })],
      [
        'after a failure',
        () => {
          throw new Error('no')
        },
      ],
    ] satisfies [string, EndOfRun][])('%s, however many there are', async (_, ends) => {
      const { informer, clock } = mirrorOf(keys.map((key, n) => [key, order(n)] as const))
      const controller: Controller = informer.reconcile(async (key, { requeueAfter }) => {
        await clock.sleep(400)
        ends(controller, { key, requeueAfter })
      })
      await informer.start().synced()
      await clock.advance(100_000)
      const closed = controller.close({ drain: true })
      await clock.advance(40_000)
      expect(await outcomeOf(closed, clock)).toBe('resolved')
    })
  })

  test.each([
    ['and none that is enqueued after the call', false],
    ['and ends with stop', true],
  ])('[F7] of a controller runs a key again that was enqueued during its run, %s', async (_what, stops) => {
    const { informer, clock } = mirrorOf(entries)
    const runs: string[] = []
    const controller: Controller = informer.reconcile(async (key) => {
      await clock.sleep(100)
      runs.push(key)
      controller.enqueue(key)
    })
    await informer.start().synced()
    await clock.advance(0)
    controller.enqueue('k1')
    const closed = controller.close({ drain: true })
    controller.enqueue('other')
    if (stops) void informer.stop()
    await clock.advance(1_000)
    expect(await outcomeOf(closed, clock)).toBe('resolved')
    expect(runs).toEqual(stops ? ['k1'] : ['k1', 'k2', 'k3', 'k1'])
  })

  describe.each([
    ['subscribe', 1],
    ['subscribe', 2],
    ['reconcile', 1],
  ] as const)('[F8] of %s (concurrency %d) behind a handler that hangs', (way, concurrency) => {
    function follow(hang: () => Promise<void>) {
      const world = mirrorOf<Order, object>(entries)
      const caller = new AbortController()
      const options = { concurrency, signal: caller.signal }
      const { informer } = world
      const sub = way === 'subscribe' ? informer.subscribe({ add: hang }, options) : informer.reconcile(hang, options)
      return { ...world, caller, sub }
    }

    test.each([
      ['stop', ({ informer }) => void informer.stop()],
      ['a close without it', ({ sub }) => void sub.close()],
      ['its signal', ({ caller }) => caller.abort()],
    ] satisfies [string, (world: ReturnType<typeof follow>) => void][])('ends a second after %s', async (_, end) => {
      const world = follow(() => new Promise(() => {}))
      const { clock, informer, sub } = world
      await informer.start().synced()
      await clock.advance(0)
      const closed = sub.close({ drain: true })
      await clock.advance(60_000)
      expect(await outcomeOf(closed, clock)).toBe('pending')
      end(world)
      await clock.advance(1_000)
      expect(await outcomeOf(closed, clock)).toBe('resolved')
    })

    test('that waits for its own close ends a second after stop, and the handler continues', async () => {
      let hasContinued = false
      const { clock, informer, sub } = follow(async () => {
        await sub.close({ drain: true })
        hasContinued = true
      })
      await informer.start().synced()
      await clock.advance(0)
      void informer.stop()
      await clock.advance(1_000)
      expect(hasContinued).toBe(true)
    })
  })

  test('of a controller reports that a failed run is not retried', async () => {
    const { informer, clock, errors } = mirrorOf(entries)
    const controller = informer.reconcile(() => Promise.reject(new Error('no')), { key: 'k1' })
    await informer.start().synced()
    const closed = controller.close({ drain: true })
    expect(await outcomeOf(closed, clock)).toBe('resolved')
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('failed at key "k1" (attempt 1): no; not again, for the controller is being closed'),
    ])
  })
})
