import { expect, test } from 'vitest'
import { type ReconcileOptions, TerminalError, terminal } from '../../../src/index.js'
import { numbers, reconcile, reconciling } from '../../support/controllers.js'
import { outcomeOf } from '../../support/informers.js'

test.each<[string, ReconcileOptions<number>, number, readonly number[]]>([
  ['50 to 100 ms', {}, 200_000, [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000]],
  ['minMs', { retry: { minMs: 10, maxMs: 25 } }, 500, [10, 20, ...Array.from({ length: 9 }, () => 25)]],
])('[N3] the first delay is %s, and it doubles up to the largest one', async (_first, options, ms, ceilings) => {
  const mirror = numbers(['a', 1])
  const at: number[] = []
  const fn = async (): Promise<void> => {
    at.push(mirror.clock.now())
    throw new Error('no')
  }
  reconcile(mirror, fn, options)
  await mirror.clock.advance(ms)
  const gaps = at.slice(1).map((time, i) => time - (at[i] ?? 0))
  for (const [i, ceiling] of ceilings.entries()) {
    expect(gaps[i]).toBeGreaterThanOrEqual(ceiling / 2)
    expect(gaps[i]).toBeLessThanOrEqual(ceiling)
  }
})

test('minMs is also the delay of a failed key that changes', async () => {
  const { mirror, runs } = await reconciling([['a', 1]], { retry: { minMs: 5_000 } })
  runs.fail()
  mirror.put('a', 2, '6')
  await mirror.clock.advance(2_499)
  expect(runs.begun).toEqual(['a=1'])
  await mirror.clock.advance(2_501)
  expect(runs.begun).toEqual(['a=1', 'a=2'])
})

test('[N4] maxAttempts is the number of runs until the key is given up', async () => {
  const mirror = numbers(['a', 1])
  const attempts: number[] = []
  const fn = async (_key: string, { attempt }: { attempt: number }): Promise<void> => {
    attempts.push(attempt)
    throw new Error('no')
  }
  reconcile(mirror, fn, { retry: { maxAttempts: 3 } })
  await mirror.clock.advance(600_000)
  mirror.put('a', 2, '6')
  await mirror.clock.advance(600_000)
  expect(attempts).toEqual([1, 2, 3, 1, 2, 3])
  expect(mirror.errors[2]?.message).toMatch(/\(attempt 3\): no; not again before it changes$/)
})

test('[N4] a TerminalError is not retried: the key runs again when it changes or is enqueued', async () => {
  const mirror = numbers(['a', 1])
  const seen: string[] = []
  const controller = reconcile(mirror, async (_key, { reason, attempt }) => {
    seen.push(`${reason} ${attempt}`)
    throw terminal('no such tenant')
  })
  await mirror.clock.advance(600_000)
  mirror.put('a', 2, '6')
  await mirror.clock.advance(600_000)
  controller.enqueue('a')
  await mirror.clock.advance(600_000)
  expect(seen).toEqual(['initial 1', 'changed 1', 'enqueued 1'])
  expect(mirror.errors[0]).toMatchObject({
    message: 'reconcile on mirror failed at key "a" (attempt 1): no such tenant; not again before it changes',
    cause: { name: 'TerminalError', cause: 'no such tenant' },
  })
})

test('[N5] a TerminalError counts as handled: waits for its change end, and it is not in the backlog', async () => {
  const mirror = numbers(['a', 1])
  const controller = reconcile(mirror, async () => {
    throw new TerminalError('no')
  })
  const wait = controller.waitFor('5')
  await mirror.clock.advance(0)
  expect(await outcomeOf(wait, mirror.clock)).toBe('resolved')
  expect([controller.version, controller.backlog.keys]).toEqual(['5', 0])
})

test('a TerminalError is followed by another run, after the first delay, if its key changed during the run', async () => {
  const { mirror, runs, controller } = await reconciling([['a', 1]])
  mirror.put('a', 2, '6')
  await mirror.clock.advance(0)
  runs.fail(terminal('no'))
  await mirror.clock.advance(99)
  expect([runs.begun, controller.version]).toEqual([['a=1'], '5'])
  await mirror.clock.advance(1)
  expect(runs.contexts.map(({ attempt, reason }) => [attempt, reason])).toEqual([
    [1, 'initial'],
    [1, 'changed'],
  ])
  runs.succeed()
  await mirror.clock.advance(0)
  expect(controller.version).toBe('6')
})

test.each([
  [terminal('no'), 11, 11],
  [new Error('no'), 2, 12],
])('[N6] frequent changes of a key that fails with %s do not cause frequent runs', async (error, least, most) => {
  const mirror = numbers(['a', 1])
  let runs = 0
  reconcile(mirror, async () => {
    runs++
    throw error
  })
  for (let n = 6; n < 1_006; n++) {
    mirror.put('a', n, `${n}`)
    await mirror.clock.advance(1)
  }
  expect(runs).toBeGreaterThanOrEqual(least)
  expect(runs).toBeLessThanOrEqual(most)
})

test('failing has the keys whose last run failed, with the time of the retry', async () => {
  const mirror = numbers(['a', 1], ['b', 1])
  const controller = reconcile(mirror, async (key, { attempt }) => {
    if (key === 'a' && attempt < 3) throw new Error('no room')
  })
  expect(controller.failing.size).toBe(0)
  await mirror.clock.advance(0)
  const failure = controller.failing.get('a')
  expect([...controller.failing.keys()]).toEqual(['a'])
  expect(failure).toMatchObject({ attempt: 2, failedAt: mirror.clock.now(), lastError: 'no room' })
  expect((failure?.retryAt ?? 0) - mirror.clock.now()).toBeLessThanOrEqual(100)
  expect(failure?.retryAt).toBeGreaterThan(mirror.clock.now())
  await mirror.clock.advance(1_000)
  expect(controller.failing.size).toBe(0)
})

test('[N5] failing has a key that is given up until a run succeeds, without a time', async () => {
  const mirror = numbers(['a', 1])
  const controller = reconcile(mirror, async (_key, { object }) => {
    if (object === 1) throw terminal('no')
  })
  await mirror.clock.advance(0)
  expect(controller.failing.get('a')).toMatchObject({ attempt: 1, retryAt: undefined, lastError: 'no' })
  mirror.put('a', 2, '6')
  await mirror.clock.advance(100)
  expect(controller.failing.size).toBe(0)
})

test('failing keeps the latest 10 000 keys that are given up, and the last states of deleted ones among them', async () => {
  const keys = Array.from({ length: 10_001 }, (_, n) => [`k${n}`, n] as const)
  const mirror = numbers(...keys)
  const seen: string[] = []
  const controller = reconcile(mirror, async (key, { object, lastObject }) => {
    if (object !== undefined) return
    seen.push(`${key} ${lastObject}`)
    throw terminal('no')
  })
  const reached = async (version: string): Promise<void> => {
    while (controller.version !== version) await mirror.clock.advance(1)
  }
  await reached('5')
  mirror.list([], '6')
  await reached('6')
  expect(controller.failing.size).toBe(10_000)
  expect([controller.failing.has('k0'), controller.failing.has('k1')]).toEqual([false, true])
  seen.length = 0
  controller.enqueue('k0')
  controller.enqueue('k1')
  await mirror.clock.advance(200)
  expect(seen.slice(0, 2)).toEqual(['k0 undefined', 'k1 1'])
})
