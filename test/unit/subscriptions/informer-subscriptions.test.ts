import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import type { MemorySource } from '../../../adapters/memory/index.js'
import type { Change, IndexBuilder, Subscription } from '../../../src/index.js'
import { EqualIndex } from '../../../src/store/indexes/hash-index.js'
import { Fold } from '../../support/fold.js'
import { mirrorOf, outcomeOf, type World } from '../../support/informers.js'

type Numbers = World<number, object, MemorySource<number>>

async function started(...entries: (readonly [string, number])[]): Promise<Numbers> {
  const world = mirrorOf<number, object>(entries)
  world.informer.start()
  await world.clock.advance(0)
  return world
}

test.each(['a handler', 'a filter, during the delivery of the first list,'])(
  '[B2] a subscription that begins inside %s receives each object once',
  async (where) => {
    const { clock, source, informer } = mirrorOf<number, object>([['a', 1]])
    const inner = new Fold<number>()
    const begun: Subscription[] = []
    const begin = (): boolean => {
      if (begun.length === 0) begun.push(informer.subscribe(inner.handlers))
      return true
    }
    if (where === 'a handler') informer.subscribe({ add: begin })
    else informer.subscribe({}, { filter: begin })
    informer.start()
    await clock.advance(0)
    source.put('b', 2)
    await clock.advance(0)
    expect(inner.told).toEqual(['add a', 'add b'])
  },
)

test.each(['before start', 'after the first list'])(
  '[law 8e] a subscription without an add handler that begins %s is synced at once, and receives the later changes in its scope',
  async (moment) => {
    const { clock, source, informer } = mirrorOf<number | null, object>(Object.entries({ a: null, b: 10 }))
    if (moment === 'after the first list') {
      informer.start()
      await clock.advance(0)
    }
    const changes: string[] = []
    const record = ({ type, key, object }: Change<number | null>) => void changes.push(`${type} ${key} ${object}`)
    const all = informer.subscribe({ update: record, delete: record })
    const small = informer.subscribe({ delete: record }, { filter: (n) => Number(n) < 5 })
    informer.start()
    await clock.advance(0)
    await Promise.all([all.synced(), small.synced()])
    expect([all.version, small.version, all.backlog.keys, changes]).toEqual([informer.version, informer.version, 0, []])
    // No handler was called for the objects of the replay.
    expect(informer.inspect().subscriptions.first.map(({ succeeded }) => succeeded)).toEqual([0, 0])
    source.put('a', 20)
    source.put('b', 1)
    source.delete('b')
    await clock.advance(0)
    expect(changes.sort()).toEqual(['delete a null', 'delete b 1', 'delete b 1', 'update a 20', 'update b 1'])
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

test('[I14][B8] subscriptions are independent: a handler that throws, rejects or hangs changes nothing for the others, and each is reported once', async () => {
  const { clock, source, informer, errors } = await started(['a', 1])
  const fold = new Fold<number>()
  const fail = (): never => {
    throw new Error('thrown')
  }
  const update = vi.fn()
  informer.subscribe({ add: fail, update }, { name: 'throws' })
  informer.subscribe({ add: () => Promise.reject(new Error('rejected')), update }, { name: 'rejects' })
  informer.subscribe({ add: () => new Promise(() => {}) }, { name: 'hangs' })
  informer.subscribe(fold.handlers)
  await clock.advance(0)
  source.put('a', 2)
  await clock.advance(60_000)
  expect([fold.told, update.mock.calls.length]).toEqual([['add a', 'update a'], 2])
  expect(errors.map(({ code, key, message }) => `${code} ${key} ${message.match(/"(\w+)" on/)?.[1]}`)).toEqual([
    'HANDLER a throws',
    'HANDLER a rejects',
    'HANDLER a hangs',
  ])
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
    expect(() => Reflect.apply(informer[call], informer, [what, { filter }])).toThrow(
      expect.objectContaining({ message }),
    )
    source.put('a', 1)
    await clock.advance(0)
    expect(asked, 'calls of the filter').toBe(0)
  })
})

test('a closed subscription waits for its handler when the informer stops', async () => {
  const { clock, informer } = await started(['a', 1])
  const { promise, resolve } = Promise.withResolvers<void>()
  const subscription = informer.subscribe({ add: () => promise })
  await clock.advance(0)
  const closed = subscription.close()
  const stopped = informer.stop()
  expect([await outcomeOf(closed, clock), await outcomeOf(stopped, clock)]).toEqual(['pending', 'pending'])
  resolve()
  expect([await outcomeOf(closed, clock), await outcomeOf(stopped, clock)]).toEqual(['resolved', 'resolved'])
})

test('[I15] a subscription whose index cannot be rebuilt is closed, and leaves no listener on its signal', async () => {
  const indexes = (ix: IndexBuilder<number>) => ({ parity: ix.equal((value) => value % 2) })
  const { clock, source, informer } = mirrorOf<number, ReturnType<typeof indexes>>([['a', 1]], { indexes })
  informer.start()
  await clock.advance(0)
  using _ = vi.spyOn(EqualIndex.prototype, 'set').mockImplementation(() => {
    throw new Error('no memory')
  })
  source.put('b', 2)
  await clock.advance(0)
  const { signal } = new AbortController()
  const scope = { where: { parity: 0 }, signal }
  const all = [informer.subscribe({}, scope), informer.changes(scope), informer.reconcile(async () => {}, scope)]
  await clock.advance(0)
  for (const subscription of all) await expect(subscription.synced()).rejects.toThrow('could not be rebuilt')
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})
