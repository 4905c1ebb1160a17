import { getEventListeners } from 'node:events'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { MemorySource } from '../../../adapters/memory/index.js'
import type { Change } from '../../../src/queue/change.js'
import { EqualIndex } from '../../../src/store/indexes/hash-index.js'
import type { IndexBuilder } from '../../../src/store/indexes/index-types.js'
import type { Subscription } from '../../../src/subscriptions/subscription-types.js'
import { Fold } from '../../support/fold.js'
import { deferred, mirrorOf, outcomeOf, type World } from '../../support/informers.js'

type Numbers = World<number, object, MemorySource<number>>

async function started(...entries: (readonly [string, number])[]): Promise<Numbers> {
  const world = mirrorOf<number, object>(entries)
  world.informer.start()
  await world.clock.advance(0)
  return world
}

describe('subscribe', () => {
  test('a subscription from before start receives the first list, then every change', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers)
    informer.start()
    await clock.advance(0)
    source.put('a', 2)
    await clock.advance(0)
    expect(fold.changes.map(({ type, key, origin }) => `${type} ${key} ${origin}`)).toEqual([
      'add a initial',
      'update a watch',
    ])
  })

  // I13
  test('a subscription to a running informer receives the stored objects, then every later change exactly once', async () => {
    const { clock, source, informer } = await started(['a', 1], ['b', 1])
    const folds: Fold<number>[] = []
    for (let i = 0; i < 20; i++) {
      const fold = new Fold<number>()
      folds.push(fold)
      informer.subscribe(fold.handlers)
      source.put('a', 100 + i)
      source.put(`k${i}`, i)
      if (i % 3 === 0) source.delete(`k${i - 1}`)
      if (i % 2 === 0) await clock.advance(0)
    }
    await clock.advance(0)
    const held = new Map(informer.entries())
    for (const fold of folds) expect(fold.objects).toEqual(held)
  })

  test('a change that the store has when a subscription begins is delivered once', async () => {
    const { clock, source, informer } = await started(['a', 1])
    const version = source.put('a', 2)
    await informer.waitFor(version)
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers)
    await clock.advance(0)
    expect(fold.changes).toMatchObject([{ type: 'add', object: 2 }])
  })

  test('[I13] a subscription that begins during a relist has no gap and no duplicate', async () => {
    const { clock, source, informer } = await started(['a', 1], ['b', 1])
    source.disconnect()
    source.put('a', 2)
    source.delete('b')
    source.put('c', 1)
    source.compact()
    const folds: Fold<number>[] = []
    for (let ms = 0; ms < 4_000; ms += 100) {
      const fold = new Fold<number>()
      folds.push(fold)
      informer.subscribe(fold.handlers)
      await clock.advance(100)
    }
    for (const fold of folds)
      expect(fold.objects).toEqual(
        new Map([
          ['a', 2],
          ['c', 1],
        ]),
      )
    expect(informer.status.relists).toBe(1)
  })

  test('[B2] a subscription that begins inside a handler receives all objects', async () => {
    const { clock, source, informer } = await started(['a', 1])
    const inner = new Fold<number>()
    const begun: Subscription[] = []
    informer.subscribe({
      add: () => {
        if (begun.length === 0) begun.push(informer.subscribe(inner.handlers))
      },
    })
    await clock.advance(0)
    source.put('b', 2)
    await clock.advance(0)
    expect(inner.told).toEqual(['add a', 'add b'])
  })

  test('a subscription that begins inside a filter, during the delivery of the first list, receives each object once', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    const inner = new Fold<number>()
    const begun: Subscription[] = []
    const filter = (): boolean => {
      if (begun.length === 0) begun.push(informer.subscribe(inner.handlers))
      return true
    }
    informer.subscribe({}, { filter })
    informer.start()
    await clock.advance(0)
    source.put('b', 2)
    await clock.advance(0)
    expect(inner.told).toEqual(['add a', 'add b'])
  })

  test.each(['before start', 'after the first list'])(
    '[law 8e] a subscription without an add handler that begins %s is synced at once, and receives the later changes in its scope',
    async (moment) => {
      const { clock, source, informer } = mirrorOf<number, object>([
        ['a', 1],
        ['b', 10],
      ])
      if (moment === 'after the first list') {
        informer.start()
        await clock.advance(0)
      }
      const changes: string[] = []
      const record = ({ type, key, object }: Change<number>) => void changes.push(`${type} ${key} ${object}`)
      const all = informer.subscribe({ update: record, delete: record })
      const small = informer.subscribe({ delete: record }, { filter: (n) => n < 5 })
      informer.start()
      await clock.advance(0)
      await Promise.all([all.synced(), small.synced()])
      expect([all.version, small.version, all.backlog.keys, changes]).toEqual([
        informer.version,
        informer.version,
        0,
        [],
      ])
      // No handler was called for the objects of the replay.
      expect(informer.inspect().subscriptions.first.map(({ succeeded }) => succeeded)).toEqual([0, 0])
      source.put('a', 20)
      source.put('b', 1)
      source.delete('b')
      await clock.advance(0)
      expect(changes.sort()).toEqual(['delete a 1', 'delete b 1', 'delete b 1', 'update a 20', 'update b 1'])
      expect(all.version).toBe(informer.version)
    },
  )

  test('[B27] a delete of an unknown key is not delivered', async () => {
    const { clock, source, informer } = await started(['a', 1])
    const fold = new Fold<number>()
    const subscription = informer.subscribe(fold.handlers)
    const version = source.delete('nobody')
    await clock.advance(0)
    expect([fold.told, subscription.version]).toEqual([['add a'], version])
  })

  // I2
  test('a delete missed while disconnected is delivered after the relist', async () => {
    const { clock, source, informer } = await started(['a', 1], ['b', 2])
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers)
    await clock.advance(0)
    source.disconnect()
    source.delete('a')
    source.compact()
    await clock.advance(5_000)
    expect(fold.changes.at(-1)).toMatchObject({
      type: 'delete',
      key: 'a',
      previous: 1,
      finalState: 'unknown',
      origin: 'relist',
    })
  })

  test('no change is delivered twice when a watch resumes', async () => {
    const { clock, source, informer } = await started(['a', 1])
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers)
    await clock.advance(0)
    for (let i = 2; i < 12; i++) {
      source.put('a', i)
      if (i % 3 === 0) source.disconnect()
      await clock.advance(i % 2 === 0 ? 2_000 : 0)
    }
    await clock.advance(30_000)
    expect(fold.changes.map(({ object }) => object)).toEqual(Array.from({ length: 11 }, (_, i) => i + 1))
    expect(informer.status.reconnects).toBeGreaterThan(1)
  })

  // I4
  test('a key that was deleted and recreated during a disconnection is an update, or a delete and an add if identities are known', async () => {
    const { clock, source, informer } = await started(['a', 1])
    const fold = new Fold<number>()
    informer.subscribe(fold.handlers)
    await clock.advance(0)
    source.disconnect()
    source.delete('a')
    source.put('a', 2)
    source.compact()
    await clock.advance(5_000)
    expect(fold.told).toEqual(['add a', 'delete a', 'add a'])
  })
})

// I14
describe('subscriptions are independent', () => {
  test('[I14] a handler that throws, rejects or hangs changes nothing for the others, and each is reported once', async () => {
    const { clock, source, informer, errors } = await started(['a', 1])
    const fold = new Fold<number>()
    const fail = (): never => {
      throw new Error('thrown')
    }
    informer.subscribe({ add: fail }, { name: 'throws' })
    informer.subscribe({ add: () => Promise.reject(new Error('rejected')) }, { name: 'rejects' })
    informer.subscribe({ add: () => new Promise(() => {}) }, { name: 'hangs' })
    informer.subscribe(fold.handlers)
    await clock.advance(0)
    source.put('a', 2)
    await clock.advance(60_000)
    expect(fold.told).toEqual(['add a', 'update a'])
    expect(errors.map(({ code, message }) => `${code} ${message.match(/"(\w+)" on/)?.[1]}`)).toEqual([
      'HANDLER throws',
      'HANDLER rejects',
      'HANDLER hangs',
    ])
  })

  // I12
  test('[I12] a stuck handler delays neither the store nor the source nor other subscriptions', async () => {
    const { clock, source, informer } = await started()
    const fold = new Fold<number>()
    const stuck = informer.subscribe({ add: () => new Promise(() => {}) }, { capacity: 100 })
    informer.subscribe(fold.handlers)
    await clock.advance(0)
    for (let i = 0; i < 3_000; i++) source.put(`k${i % 50}`, i)
    await clock.advance(0)
    expect([fold.changes.length, informer.size]).toEqual([3_000, 50])
    expect(stuck.backlog.keys).toBeLessThanOrEqual(101)
  })

  test('each subscription has its own version', async () => {
    const { clock, source, informer } = await started()
    const { promise, resolve } = deferred()
    const slow = informer.subscribe({ add: () => promise })
    const quick = informer.subscribe({ add: () => {} })
    await clock.advance(0)
    const before = informer.version
    const version = source.put('a', 1)
    await clock.advance(0)
    expect([slow.version, quick.version, informer.version]).toEqual([before, version, version])
    resolve()
    await clock.advance(0)
    expect(slow.version).toBe(version)
  })
})

describe('a refused subscription is a TypeError with the reason, and its filter is never called', () => {
  const reconcile = 'reconcile: the first argument must be a function'
  test.each<['subscribe' | 'reconcile', unknown, string]>([
    ['subscribe', undefined, 'subscribe: the handlers must be an object'],
    ['subscribe', null, 'subscribe: the handlers must be an object'],
    ['subscribe', { add: 5 }, 'subscribe: the handlers: option "add" must be a function, got 5'],
    ['subscribe', { ad: () => {} }, 'subscribe: the handlers: unknown option "ad"; allowed are add, update, delete'],
    ['reconcile', 5, reconcile],
    ['reconcile', undefined, reconcile],
  ])('%s of %j', async (call, what, message) => {
    const { clock, source, informer } = await started()
    let asked = 0
    const filter = (): boolean => {
      asked++
      return true
    }
    expect(() => Reflect.apply(informer[call], informer, [what, { filter }])).toThrow(new TypeError(message))
    source.put('a', 1)
    await clock.advance(0)
    expect(asked, 'calls of the filter').toBe(0)
  })
})

describe('changes', () => {
  test('the iterator of changes yields one batch for each transaction', async () => {
    const { clock, source, informer } = await started(['a', 1])
    const batches: string[] = []
    const control = new AbortController()
    const read = async (): Promise<void> => {
      for await (const { changes, version, isSynced } of informer.changes({ signal: control.signal }))
        batches.push(
          `${changes.map(({ type, key }) => `${type} ${key}`).join(', ')} @${version?.split('.')[2]} ${isSynced}`,
        )
    }
    const end = read()
    await clock.advance(0)
    source.transaction((tx) => {
      tx.put('a', 2)
      tx.put('b', 1)
    })
    await clock.advance(0)
    await clock.advance(10_000)
    control.abort()
    await end
    expect(batches).toEqual(['add a @0 true', 'update a, add b @1 true', ' @1 true'])
  })

  test('a fold of the iterated changes equals the store', async () => {
    const { clock, source, informer } = await started(['a', 1])
    const fold = new Fold<number>()
    const read = async (): Promise<void> => {
      for await (const { changes } of informer.changes({ delivery: 'latest' })) {
        for (const change of changes) fold.tell(change)
        await clock.sleep(50)
      }
    }
    const end = read()
    for (let i = 0; i < 100; i++) {
      source.put(`k${i % 7}`, i)
      if (i % 5 === 0) source.delete(`k${(i + 3) % 7}`)
      await clock.advance(10)
    }
    await clock.advance(1_000)
    expect(fold.objects).toEqual(new Map(informer.entries()))
    await informer.stop()
    await clock.advance(1_000)
    await end
  })
})

describe('reconcile', () => {
  test('a controller begins after the first list, then runs each key that changes', async () => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    const runs: string[] = []
    const controller = informer.reconcile(async (key, { object }) => void runs.push(`${key}=${object}`))
    controller.enqueue('a')
    await clock.advance(1_000)
    expect(runs).toEqual([])
    informer.start()
    await clock.advance(0)
    source.put('a', 2)
    await clock.advance(0)
    source.delete('a')
    await clock.advance(0)
    expect(runs).toEqual(['a=1', 'a=2', 'a=undefined'])
  })

  test('two controllers of one informer are independent', async () => {
    const { clock, informer, errors } = await started(['a', 1])
    const runs: string[] = []
    informer.reconcile(async () => Promise.reject(new Error('no')), { name: 'one' })
    informer.reconcile(async (key) => void runs.push(key))
    await clock.advance(500)
    expect(runs).toEqual(['a'])
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['HANDLER']))
  })

  test('a controller converges after faults of the source', async () => {
    const { clock, source, informer } = await started(['a', 1])
    const applied = new Map<string, number>()
    let runs = 0
    informer.reconcile(async (key, { object }) => {
      if (++runs % 3 === 0) throw new Error('now and then')
      if (object === undefined) applied.delete(key)
      else applied.set(key, object)
    })
    for (let i = 0; i < 30; i++) {
      source.put(`k${i % 5}`, i)
      if (i % 7 === 0) source.delete(`k${(i + 1) % 5}`)
      if (i % 10 === 0) source.disconnect()
      await clock.advance(300)
    }
    source.disconnect()
    source.delete('a')
    source.compact()
    await clock.advance(60_000)
    expect(applied).toEqual(new Map(informer.entries()))
  })
})

describe('a subscription that is closed', () => {
  test('a closed subscription receives no further change, and its informer stops at once', async () => {
    const { clock, source, informer } = await started()
    const told: Change<number>[] = []
    const subscription = informer.subscribe({ add: (change) => void told.push(change) })
    await subscription.close()
    source.put('a', 1)
    await clock.advance(0)
    expect(told).toEqual([])
    expect(await outcomeOf(informer.stop(), clock)).toBe('resolved')
  })

  test('a closed subscription waits for its handler when the informer stops', async () => {
    const { clock, informer } = await started(['a', 1])
    const { promise, resolve } = deferred()
    const subscription = informer.subscribe({ add: () => promise })
    await clock.advance(0)
    const closed = subscription.close()
    const stopped = informer.stop()
    expect([await outcomeOf(closed, clock), await outcomeOf(stopped, clock)]).toEqual(['pending', 'pending'])
    resolve()
    expect([await outcomeOf(closed, clock), await outcomeOf(stopped, clock)]).toEqual(['resolved', 'resolved'])
  })

  // I15
  test('a closed subscription leaves no listener on its signal when the informer stops', async () => {
    const { clock, informer } = await started(['a', 1])
    const { signal } = new AbortController()
    informer.subscribe({}, { signal })
    informer.changes({ signal })
    informer.reconcile(async () => {}, { signal })
    await clock.advance(0)
    expect(getEventListeners(signal, 'abort').length).toBeGreaterThanOrEqual(3)
    await informer.stop()
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  // I15
  test('[I15] a subscription whose index cannot be rebuilt is closed, and leaves no listener on its signal', async () => {
    const indexes = (ix: IndexBuilder<number>) => ({ parity: ix.equal((value) => value % 2) })
    const { clock, source, informer } = mirrorOf<number, ReturnType<typeof indexes>>([['a', 1]], { indexes })
    informer.start()
    await clock.advance(0)
    const set = vi.spyOn(EqualIndex.prototype, 'set').mockImplementation(() => {
      throw new Error('no memory')
    })
    onTestFinished(() => set.mockRestore())
    source.put('b', 2)
    await clock.advance(0)
    const { signal } = new AbortController()
    const scope = { where: { parity: 0 }, signal }
    const all = [informer.subscribe({}, scope), informer.changes(scope), informer.reconcile(async () => {}, scope)]
    await clock.advance(0)
    for (const subscription of all) await expect(subscription.synced()).rejects.toThrow('could not be rebuilt')
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})
