import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { createInformer, type ReconcileContext, terminal } from '../../../src/index.js'
import { testController } from '../../../testing/test-controller.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'

describe('testController', () => {
  test('records the runs, with their reasons and results', async () => {
    await using it = testController({
      objects: [['a', 1]],
      reconcile: async (_key, { attempt, object }) => {
        if (object === 2 && attempt === 1) throw new Error('no')
      },
    })
    await it.untilIdle()
    it.source.put('a', 2)
    await it.untilIdle()
    it.source.delete('a')
    await it.untilIdle()
    const told = it.runs.map(({ key, reason, attempt, object, lastObject, gone, result }) =>
      [key, reason, attempt, object, lastObject, gone, result].join(' '),
    )
    expect(told).toEqual([
      'a initial 1 1   success',
      'a changed 1 2   failure',
      'a retry 2 2   success',
      'a changed 1  2 deleted success',
    ])
    expect(it.errors.map(({ code }) => code)).toEqual(['HANDLER'])
  })

  test('runs keys of objects that were written before the watch began, or during a fault', async () => {
    await using it = testController<number>({ reconcile: async () => {} })
    it.source.put('a', 1)
    await it.untilIdle()
    it.source.disconnect()
    it.source.put('b', 1)
    await it.untilIdle()
    expect(it.runs.map(({ key }) => key)).toEqual(['a', 'b'])
  })

  test('does not wait for requeueAfter, nor for a key that is given up', async () => {
    await using it = testController({
      objects: Object.entries({ a: 1, b: 1 }),
      reconcile: async (key, { requeueAfter }) => {
        if (key === 'b') throw terminal('no')
        requeueAfter(5_000)
      },
    })
    await it.untilIdle()
    expect(it.runs).toHaveLength(2)
    await it.clock.advance(5_000)
    expect(it.runs.map(({ reason }) => reason)).toEqual(['initial', 'initial', 'requeued'])
  })

  test('untilIdle fails after its limit, and names failing keys, or an informer that was not started', async () => {
    const clock = new VirtualClock()
    await using it = testController({
      objects: [['a', 1]],
      reconcile: async () => Promise.reject(new Error('no room')),
      retry: { minMs: 1_000 },
      clock,
    })
    const since = clock.now()
    await expect(it.untilIdle({ limitMs: 200 })).rejects.toThrow(
      'untilIdle: not idle after 200 ms; 1 keys wait; "a", attempt 2: no room',
    )
    expect(clock.now() - since).toBe(200)
    it.controller.pause()
    await expect(it.untilIdle({ limitMs: 0 })).rejects.toThrow('not idle after 0 ms; it is paused')
    const after = [createInformer({ source: memorySource({ name: 'limits' }) })]
    await using late = testController({ objects: [['a', 1]], reconcile: async () => {}, name: 'mine', after })
    await expect(late.untilIdle({ limitMs: 0 })).rejects.toThrow('"mine" waits for "limits", which was not started')
  })

  test('leaves no timer when it is disposed of, also if a run hangs', async () => {
    const clock = new VirtualClock()
    {
      await using it = testController({ objects: [['a', 1]], reconcile: () => new Promise(() => {}), clock })
      await clock.advance(0)
      expect(it.runs[0]?.result).toBeUndefined()
    }
    expect(clock.sleeping).toBe(0)
  })

  test('a run that exceeds timeoutMs is a failure, although it succeeds later', async () => {
    const reconcile = (_key: string, { attempt, signal }: ReconcileContext<number>): Promise<void> =>
      attempt > 1 ? Promise.resolve() : new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
    await using it = testController({ objects: [['a', 1]], reconcile, timeoutMs: 1_000 })
    await it.untilIdle()
    expect(it.runs.map(({ reason, result }) => `${reason} ${result}`)).toEqual(['initial failure', 'retry success'])
  })

  test('refuses wrong options', async () => {
    await using it = testController({ reconcile: async () => {} })
    await expect(it.untilIdle({ limitMs: Number.NaN })).rejects.toThrow('untilIdle: option "limitMs" must be')
    expect(() => testController({ reconcile: async () => {}, concurrency: 0 })).toThrow('option "concurrency"')
    for (const options of [undefined, null, {}, { reconcile: 'orders' }])
      expect(() => testController(options as never)).toThrow('testController: reconcile must be a function')
  })
})
