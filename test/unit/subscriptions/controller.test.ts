import { describe, expect, test } from 'vitest'
import { OptionError, type ReconcileOptions } from '../../../src/index.js'
import { Feed } from '../../../src/subscriptions/feed.js'
import { numbers, type Reconcile, Runs, reconcile, reconciling } from '../../support/controllers.js'
import { Mirror } from '../../support/feeds.js'
import { mirrorOf, type Order, order, outcomeOf } from '../../support/informers.js'

const SAME = order(1)

test.each([
  ['another number', 1, 2],
  ['the same number', 1, 1],
  ['the same object', SAME, SAME],
])('a key that is deleted again while its deletion is reconciled is run again: with %s', async (_, state, later) => {
  const mirror = new Mirror<unknown>().list([['a', state]], '5')
  const seen: unknown[] = []
  reconcile(mirror, async (_key, { lastObject }) => {
    seen.push(lastObject)
    await mirror.clock.sleep(100)
  })
  await mirror.clock.advance(100)
  mirror.delete('a', '6')
  await mirror.clock.advance(0)
  mirror.put('a', later, '7').delete('a', '8')
  await mirror.clock.advance(100)
  expect(seen).toEqual([undefined, state, later])
})

test('runs of an fn that throws at once or returns no promise count like any other', async () => {
  const mirror = numbers(['a', 1], ['b', 2])
  const fn = (key: string): unknown => {
    if (key === 'a') throw new Error('no')
    return undefined
  }
  const controller = reconcile(mirror, fn as unknown as Reconcile<number>)
  await mirror.clock.advance(0)
  expect(mirror.errors).toMatchObject([{ code: 'HANDLER', key: 'a' }])
  expect(controller.backlog.keys).toBe(1)
})

test('a run that fails is reported with the next step, and retried with the next attempt number', async () => {
  const mirror = numbers(['a', 1])
  const attempts: number[] = []
  reconcile(
    mirror,
    async (_key, { attempt }) => {
      attempts.push(attempt)
      if (attempt < 3) throw new Error('no')
    },
    { name: 'mine' },
  )
  await mirror.clock.advance(1_000)
  expect(attempts).toEqual([1, 2, 3])
  expect(mirror.errors).toMatchObject([{ code: 'HANDLER', phase: 'handle', key: 'a' }, { code: 'HANDLER' }])
  expect(mirror.errors[0]?.message).toMatch(
    /^reconcile "mine" on mirror failed at key "a" \(attempt 1\): no; again in 0\.1 s$/,
  )
})

test.each<[string, number, (fail: () => void, put: () => void, enqueue: () => void) => void]>([
  ['a change of the key', 2, (fail, put) => void [fail(), put()]],
  ['a change during the run', 2, (fail, put) => void [put(), fail()]],
  ['an enqueue during the run', 1, (fail, _put, enqueue) => void [enqueue(), fail()]],
])('%s shortens the delay to 100 ms, and no further', async (_, value, act) => {
  const { mirror, runs, controller } = await reconciling([['a', 1]])
  for (let i = 0; i < 8; i++) {
    runs.fail()
    await mirror.clock.advance(30_000)
  }
  const before = runs.begun.length
  act(
    () => runs.fail(),
    () => void mirror.put('a', 2, '6'),
    () => controller.enqueue('a'),
  )
  await mirror.clock.advance(99)
  expect(runs.begun).toHaveLength(before)
  await mirror.clock.advance(1)
  expect(runs.begun.slice(before)).toEqual([`a=${value}`])
})

test.each(['1', -1, Number.NaN, Number.POSITIVE_INFINITY])('requeueAfter of %s makes the run fail', async (delayMs) => {
  const mirror = numbers(['a', 1])
  reconcile(mirror, async (_key, { requeueAfter }) => requeueAfter(delayMs as number))
  await mirror.clock.advance(0)
  expect(mirror.errors[0]?.message).toContain('requeueAfter: option "delayMs" must be a finite number of at least 0')
})

test('[N1a] a delay of 0 runs the key again soon', async () => {
  const mirror = numbers(['a', 1])
  const runs: string[] = []
  const controller = reconcile(mirror, async (key, { reason, requeueAfter }) => {
    if (runs.push(`${key} ${reason}`) < 3) requeueAfter(0)
  })
  controller.enqueue('b', { delayMs: 0 })
  await mirror.clock.advance(10)
  expect(runs.toSorted()).toEqual(['a initial', 'a requeued', 'b enqueued', 'b requeued'])
})

test('enqueue with delayMs overtakes the delay of a failed run, and is not overtaken itself', async () => {
  const { mirror, runs, controller } = await reconciling([['a', 1]])
  const at: number[] = []
  runs.succeed()
  await mirror.clock.advance(1_000)
  const begun = mirror.clock.now()
  controller.enqueue('a')
  controller.enqueue('a', { delayMs: 10 })
  await mirror.clock.advance(0)
  runs.fail()
  while (runs.begun.length < 3) {
    await mirror.clock.advance(1)
    at.push(mirror.clock.now() - begun)
  }
  runs.succeed()
  await mirror.clock.advance(300_000)
  expect([at.at(-1), runs.begun.length]).toEqual([10, 3])
})

test('enqueue does nothing once the controller is closed', async () => {
  const mirror = numbers()
  const runs: string[] = []
  const controller = reconcile(mirror, async (key) => void runs.push(key))
  await controller.close()
  controller.enqueue('a')
  controller.enqueue('b', { delayMs: 10 })
  await mirror.clock.advance(100)
  expect([runs, mirror.clock.sleeping]).toEqual([[], 0])
})

test.each([
  [[5], 'enqueue: the key must be a string, got number'],
  [['a', { delayMs: -1 }], 'enqueue: option "delayMs" must be a finite number of at least 0, got -1'],
  [['a', { delay: 5 }], 'enqueue: unknown option "delay"; allowed are delayMs'],
])('enqueue with %j throws a TypeError with the reason', (args, message) => {
  const controller = reconcile(numbers(), async () => {})
  expect(() => Reflect.apply(controller.enqueue, controller, args)).toThrow(expect.objectContaining({ message }))
})

describe('the version includes only changes that were reconciled with success', () => {
  test('it waits for a run in progress, and for the one run after it if the key changes meanwhile', async () => {
    const { mirror, runs, controller } = await reconciling([['a', 1]], { concurrency: 4 })
    const synced = controller.synced()
    expect([controller.version, await outcomeOf(synced, mirror.clock)]).toEqual([undefined, 'pending'])
    mirror.put('a', 2, '6').put('a', 3, '7')
    const waited = controller.waitFor('6')
    await mirror.clock.advance(0)
    expect(runs.begun).toEqual(['a=1'])
    runs.succeed()
    expect(await outcomeOf(synced, mirror.clock)).toBe('resolved')
    expect([controller.version, await outcomeOf(waited, mirror.clock)]).toEqual(['5', 'pending'])
    runs.succeed()
    expect(await outcomeOf(waited, mirror.clock)).toBe('resolved')
    expect([controller.version, runs.begun]).toEqual(['7', ['a=1', 'a=3']])
  })

  test('[I12] behind a stuck key the number of tracked batches is bounded', async () => {
    const mirror = numbers(['stuck', 0])
    const controller = reconcile(
      mirror,
      (key) => (key === 'stuck' ? new Promise<void>(() => {}) : mirror.clock.sleep(3)),
      { concurrency: 8 },
    )
    const [feed] = mirror.router.feeds
    let most = 0
    for (let i = 0; i < 1_000; i++) {
      mirror.put(`k${i % 20}`, i, `${6 + i}`)
      await mirror.clock.advance(1)
      most = Math.max(most, feed?.trackedBatches ?? Infinity)
    }
    expect(most).toBeLessThanOrEqual(21)
    const closed = controller.close()
    await mirror.clock.advance(1_000)
    await closed
  })

  test('the backlog has the number of pending keys, and the age of the oldest since it was to run', async () => {
    const mirror = numbers(['a', 1], ['b', 1])
    const runs = new Runs()
    const controller = reconcile(mirror, (key, context) => {
      if (key === 'a') context.requeueAfter(1_000)
      return runs.fn(key, context)
    })
    await mirror.clock.advance(300)
    expect(controller.backlog).toMatchObject({ keys: 2, oldestMs: 300 })
    runs.succeed()
    await mirror.clock.advance(0)
    runs.succeed()
    controller.enqueue('c', { delayMs: 1_000 })
    await mirror.clock.advance(999)
    expect(controller.backlog).toEqual({ keys: 0, oldestMs: 0 })
    await mirror.clock.advance(301)
    expect(controller.backlog).toMatchObject({ keys: 2, oldestMs: 300 })
  })
})

describe('close', () => {
  test('[F10] starts no more runs, and aborts the signals of the current runs', async () => {
    const { mirror, runs, controller } = await reconciling(Object.entries({ a: 1, b: 1 }))
    const closed = controller.close()
    expect(runs.contexts[0]?.signal.aborted).toBe(true)
    expect(runs.contexts[0]?.signal.reason).toMatchObject({ code: 'STOPPED' })
    runs.succeed()
    await closed
    await mirror.clock.advance(60_000)
    expect(runs.begun).toEqual(['a=1'])
  })

  test('leaves no timer while a large batch is being taken', async () => {
    const mirror = numbers()
    const now = mirror.clock.now.bind(mirror.clock)
    let reads = 0
    Object.assign(mirror.clock, { now: () => now() + 10 * reads++ })
    const controller = reconcile(mirror, async () => {})
    await mirror.clock.advance(0)
    for (let i = 0; i < 100; i++) mirror.put(`k${i}`, i, `${6 + i}`)
    await Promise.resolve()
    await Promise.resolve()
    expect(mirror.clock.sleeping).toBe(1)
    const left = controller.close().then(() => mirror.clock.sleeping)
    await mirror.clock.advance(0)
    expect(await left).toBe(0)
  })

  describe('[F7] with drain, runs receive the current state', () => {
    async function draining(options: ReconcileOptions<Order> = {}) {
      const mirror = new Mirror<Order>((ix) => ({ tenant: ix.equal((o) => o.tenant) }))
      mirror.list(
        [1, 2, 3].map((n) => [`k${n}`, order(n)] as const),
        '5',
      )
      const seen: string[] = []
      const fn: Reconcile<Order> = async (key, { object, lastObject }) => {
        seen.push(`${key} ${object?.total} ${lastObject?.total}`)
        await mirror.clock.sleep(100)
      }
      const controller = reconcile(mirror, fn, options)
      await mirror.clock.advance(0)
      void controller.close({ drain: true })
      return { mirror, seen, controller }
    }

    test.each([
      ['', {}],
      [' of a scope', { where: { tenant: 'acme' } }],
      [' that are filtered', { filter: ({ tenant }: Order) => tenant === 'acme' }],
    ])('also of changed, deleted and recreated objects%s', async (_, options) => {
      const { mirror, seen } = await draining(options)
      mirror.put('k2', order(12), '6').delete('k3', '7').delete('k2', '8').put('k2', order(22), '9')
      await mirror.clock.advance(1_000)
      expect(seen).toEqual(['k1 1 undefined', 'k2 22 undefined', 'k3 undefined 3'])
    })

    test.each([{ where: { tenant: 'acme' } }, { filter: ({ tenant }: Order) => tenant === 'acme' }])(
      'also if an object has left the scope %j',
      async (options) => {
        const { mirror, seen } = await draining(options)
        mirror.put('k2', order(12, 'other'), '6').put('k3', order(13, 'other'), '7').put('k3', order(23), '8')
        await mirror.clock.advance(1_000)
        expect(seen).toEqual(['k1 1 undefined', 'k2 undefined 2', 'k3 23 undefined'])
      },
    )
  })
})

test('options of another kind of subscription are TypeErrors', () => {
  const mirror = numbers()
  expect(() => new Feed(mirror.host, 'reconcile', { delivery: 'latest' })).toThrow(
    `reconcile: unknown option "delivery"; allowed are ${['name', 'signal', 'concurrency', 'timeoutMs', 'resyncMs', 'key', 'where', 'filter'].join(', ')}`,
  )
})

test.each<[string, object, string]>([
  ['retry', { retry: 5 }, 'reconcile: option "retry" must be an object, got 5'],
  ['minMs', { retry: { minMs: 0 } }, 'reconcile: retry: option "minMs" must be a finite number above 0, got 0'],
  ['maxMs', { retry: { maxMs: 99 } }, 'reconcile: retry: option "maxMs" must be at least minMs (100), got 99'],
  ['maxAttempts', { retry: { maxAttempts: 1.5 } }, 'must be a whole number of at least 1, got 1.5'],
  ['perSecond', { rateLimit: {} }, 'reconcile: rateLimit: option "perSecond" is missing'],
  ['perSecond', { rateLimit: { perSecond: 0 } }, 'must be a finite number above 0, got 0'],
  ['burst', { rateLimit: { perSecond: 1, burst: 0 } }, 'must be a whole number of at least 1, got 0'],
  ['priority', { priority: 5 }, 'reconcile: option "priority" must be a function, got 5'],
  ['after', { after: [{}] }, '"after" must be an array of informers or groups (wrong: element 0), got an array'],
  ['watches', { watches: [{ informer: {}, keys: () => [] }] }, 'keys } (wrong: element 0), got an array'],
  ['watches', { watches: {} }, 'must be an array of { informer, keys }, got an object'],
])('a wrong %s is an OptionError (%j)', (option, options, message) => {
  const { informer } = mirrorOf<number, object>([])
  const call = (): unknown => informer.reconcile(async () => {}, options)
  expect(call).toThrow(OptionError)
  expect(call).toThrow(message)
  expect(call).toThrow(expect.objectContaining({ option }))
})
