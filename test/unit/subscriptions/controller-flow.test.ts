import { describe, expect, test } from 'vitest'
import type { ReconcileContext, ReconcileOptions } from '../../../src/subscriptions/controller/controller-types.js'
import { numbers, Runs, reconcile, reconciling } from '../../support/controllers.js'
import { outcomeOf } from '../../support/informers.js'

test('[N7] a paused controller starts no run, and continues to receive changes', async () => {
  const { mirror, runs, controller } = await reconciling([['a', 1]], { concurrency: 3 })
  expect(controller.isPaused).toBe(false)
  controller.pause()
  mirror.put('b', 1, '6').put('b', 2, '7')
  await mirror.clock.advance(0)
  controller.enqueue('c')
  controller.enqueue('d', { delayMs: 10 })
  await mirror.clock.advance(60_000)
  expect([runs.begun, controller.isPaused, controller.backlog.keys]).toEqual([['a=1'], true, 4])
  controller.resume()
  await mirror.clock.advance(0)
  expect([runs.begun, controller.isPaused]).toEqual([['a=1', 'b=2', 'c=undefined'], false])
})

test('[N7] a paused controller that is drained waits for the runs in progress only', async () => {
  const { mirror, runs, controller } = await reconciling(Object.entries({ a: 1, b: 1 }))
  controller.pause()
  const closed = controller.close({ drain: true })
  expect(await outcomeOf(closed, mirror.clock)).toBe('pending')
  runs.succeed()
  expect([await outcomeOf(closed, mirror.clock), runs.begun]).toEqual(['resolved', ['a=1']])
})

test('a paused controller ends a drain that waits for ready keys', async () => {
  const mirror = numbers(['a', 1], ['b', 1])
  const controller = reconcile(mirror, async () => {}, { rateLimit: { perSecond: 0.001 } })
  await mirror.clock.advance(0)
  const closed = controller.close({ drain: true })
  expect(await outcomeOf(closed, mirror.clock)).toBe('pending')
  controller.pause()
  expect(await outcomeOf(closed, mirror.clock)).toBe('resolved')
})

test.each([
  [undefined, [0, 100, 200]],
  [3, [0, 0, 0, 100, 200]],
])(
  '[N8] the option rateLimit spaces the starts of runs after the burst %s, also after a pause',
  async (burst, expected) => {
    const mirror = numbers(...Array.from({ length: 12 }, (_, n) => [`k${n}`, n] as const))
    const start = mirror.clock.now()
    const at: number[] = []
    const controller = reconcile(mirror, async () => void at.push(mirror.clock.now() - start), {
      concurrency: 3,
      rateLimit: { perSecond: 10, ...(burst && { burst }) },
    })
    await mirror.clock.advance(200)
    expect(at.map(Math.round)).toEqual(expected)
    controller.pause()
    await mirror.clock.advance(60_000)
    controller.resume()
    at.length = 0
    await mirror.clock.advance(50)
    expect(at).toHaveLength(burst ?? 1)
  },
)

test('the option rateLimit ends its wait when the controller is closed', async () => {
  const mirror = numbers(['a', 1], ['b', 1])
  const controller = reconcile(mirror, async () => {}, { rateLimit: { perSecond: 0.001 } })
  await mirror.clock.advance(0)
  expect(mirror.clock.sleeping).toBe(1)
  await controller.close()
  await mirror.clock.advance(0)
  expect(mirror.clock.sleeping).toBe(0)
})

describe('the option priority', () => {
  /** The keys in the order of their runs, while `a` holds the only place. */
  async function orderOf(options: ReconcileOptions<number>, act: (enqueue: (key: string) => void) => void) {
    const { mirror, runs, controller } = await reconciling([['a', 1]], options)
    act((key) => controller.enqueue(key))
    mirror.put('changed', 1, '6')
    for (let n = 0; n < 10; n++) {
      await mirror.clock.advance(0)
      runs.succeed()
    }
    return { mirror, order: runs.begun.slice(1).map((run) => run.replace(/=.*/, '')) }
  }

  test('[N9] runs the keys with the highest number first, and those of equal priority in their order', async () => {
    const priority = (key: string, reason: ReconcileContext<unknown>['reason']): number =>
      reason === 'changed' ? 5 : Number(key)
    const { order } = await orderOf({ priority }, (enqueue) => ['1', '9', '5', '-3', '9.5', '01'].forEach(enqueue))
    expect(order).toEqual(['9.5', '9', '5', 'changed', '1', '01', '-3'])
  })

  test('is called again for a further reason', async () => {
    const priority = (key: string, reason: ReconcileContext<unknown>['reason']): number =>
      reason === 'changed' ? 1 : key === 'x' ? 0.5 : 0
    const { order } = await orderOf({ priority }, (enqueue) => ['x', 'changed'].forEach(enqueue))
    expect(order).toEqual(['changed', 'x'])
  })

  test('counts as 0 if it fails, which is reported once', async () => {
    const priority = (key: string): number => (key === 'bad' ? Number.NaN : key === 'low' ? -1 : 0)
    const { mirror, order } = await orderOf({ priority, name: 'mine' }, (enqueue) =>
      ['low', 'bad', 'good', 'bad'].forEach(enqueue),
    )
    expect(order).toEqual(['bad', 'good', 'changed', 'low'])
    expect(mirror.errors.map(({ message, code, key }) => [message, code, key])).toEqual([
      [
        'the priority function of reconcile "mine" on mirror failed at key "bad": it returned NaN; it counts as 0',
        'HANDLER',
        'bad',
      ],
    ])
  })

  test('[N9] may close the controller, which ends at once', async () => {
    const mirror = numbers(['a', 1])
    const runs = new Runs()
    let closed: Promise<void> | undefined
    const priority = (key: string): number => {
      if (key === 'last') closed = controller.close()
      return 1
    }
    const controller = reconcile(mirror, runs.fn, { priority })
    await mirror.clock.advance(0)
    runs.succeed()
    await mirror.clock.advance(0)
    mirror.put('last', 1, '6')
    await mirror.clock.advance(0)
    expect(await outcomeOf(closed ?? Promise.reject(), mirror.clock)).toBe('resolved')
    expect(runs.begun).toEqual(['a=1'])
  })

  test('[N9] without it, resyncs run last', async () => {
    const mirror = numbers(['a', 1], ['b', 1], ['c', 1])
    const runs = new Runs()
    const controller = reconcile(mirror, runs.fn, { resyncMs: 1_000 })
    for (let n = 0; n < 3; n++) {
      await mirror.clock.advance(0)
      runs.succeed()
    }
    await mirror.clock.advance(0)
    controller.pause()
    await mirror.clock.advance(1_000)
    mirror.put('c', 2, '6')
    await mirror.clock.advance(0)
    controller.enqueue('x')
    await mirror.clock.advance(0)
    controller.resume()
    for (let n = 0; n < 4; n++) {
      await mirror.clock.advance(0)
      runs.succeed()
    }
    expect(runs.begun.slice(3)).toEqual(['c=2', 'x=undefined', 'a=1', 'b=1'])
    await controller.close()
  })
})
