import { createCollection, createLiveQueryCollection, eq } from '@tanstack/db'
import { describe, expect, test, vi } from 'vitest'
import { type InformerCollectionOptions, informerCollectionOptions } from '../../../../bindings/tanstack-db/index.js'
import { OptionError, SourceError } from '../../../../src/contract/errors.js'
import { begun, mirrorOf, type Order, order } from '../../../support/informers.js'

const threeOrders = Object.entries({ 1: order(1), 2: order(2), 3: order(3, 'birch') })

function ordersOf(entries: Iterable<readonly [string, Order]> = threeOrders, options = {}) {
  return mirrorOf(entries, { indexes: (ix) => ({ tenant: ix.equal((o: Order) => o.tenant) }), ...options })
}

type World = ReturnType<typeof ordersOf>

function collectionOf(
  { informer }: Pick<World, 'informer'>,
  options: Omit<InformerCollectionOptions<Order, World['informer']['by']>, 'informer'> = {},
) {
  return createCollection({ ...informerCollectionOptions({ ...options, informer }), startSync: true })
}

async function ready(options = {}) {
  const world = ordersOf(threeOrders, options)
  const collection = collectionOf(world)
  world.informer.start()
  await world.clock.advance(0)
  const loseAccess = async (): Promise<void> => {
    world.source.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }), 1_000)
    world.source.disconnect()
    await world.clock.advance(5_000)
  }
  /** The keys and types of the changes of each transaction. */
  const transactions: string[][] = []
  collection.subscribeChanges((changes) => transactions.push(changes.map(({ type, key }) => `${type} ${key}`)), {
    includeInitialState: true,
  })
  transactions.length = 0
  return { ...world, collection, transactions, loseAccess }
}

const totals = (rows: Iterable<readonly [unknown, Order]>): Record<string, number> =>
  Object.fromEntries(Array.from(rows, ([key, { total }]) => [key, total]))

describe('a collection', () => {
  test.each([0, 3])('[U7] is loading until the first list, and then has %i objects, as later ones', async (count) => {
    const world = ordersOf(threeOrders.slice(0, count))
    const early = collectionOf(world)
    const preloaded = early.preload()
    expect([early.id, early.status, early.size]).toEqual([world.informer.name, 'loading', 0])
    world.informer.start()
    await world.clock.advance(0)
    const late = collectionOf(world)
    await Promise.all([preloaded, late.preload()])
    const content = totals(threeOrders.slice(0, count))
    for (const each of [early, late]) expect([each.status, totals(each.entries())]).toEqual(['ready', content])
  })

  test('[U6] has one transaction for the initial content, however large it is', async () => {
    const many = Array.from({ length: 5_000 }, (_, n) => [`${n}`, order(n)] as const)
    const world = ordersOf(many)
    const collection = collectionOf(world)
    const sizes: number[] = []
    collection.subscribeChanges(() => sizes.push(collection.size))
    world.informer.start()
    await world.clock.advance(100)
    expect(collection.status).toBe('ready')
    expect(new Set(sizes.filter((size) => size > 0))).toEqual(new Set([5_000]))
  })

  test('[U6] has one transaction for each batch', async () => {
    const { source, clock, collection, transactions } = await ready()
    source.transaction((tx) => {
      tx.put('1', order(10))
      tx.put('4', order(4))
      tx.delete('2')
    })
    await clock.advance(0)
    source.put('4', order(40))
    await clock.advance(0)
    expect(transactions.map((changes) => changes.toSorted())).toEqual([
      ['delete 2', 'insert 4', 'update 1'],
      ['update 4'],
    ])
    expect(totals(collection.entries())).toEqual({ 1: 10, 3: 3, 4: 40 })
  })

  test('replaces objects as a whole, and has the objects of the informer', async () => {
    const { source, clock, informer, collection } = await ready()
    source.put('1', { tenant: 'acme', total: 10 })
    await clock.advance(0)
    expect(collection.get('1')).not.toHaveProperty('tags')
    const rows = (collection as unknown as { readonly _state: { readonly syncedData: Map<string, Order> } })._state
    for (const [key, object] of informer.entries()) expect(rows.syncedData.get(key)).toBe(object)
  })

  test('[U7] continues after a subscriber has thrown, with a process warning', async () => {
    using warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { source, clock, collection, transactions } = await ready()
    collection.subscribeChanges(() => {
      throw new Error('the chart is broken')
    })
    for (const total of [10, 20]) {
      source.put('1', order(total))
      await clock.advance(0)
    }
    expect([collection.status, transactions]).toEqual(['ready', [['update 1'], ['update 1']]])
    expect(totals(collection.entries())).toEqual({ 1: 20, 2: 2, 3: 3 })
    expect(warn.mock.calls).toEqual([
      [expect.stringMatching(/subscriber .* threw: the chart is broken/), expect.objectContaining({ code: 'HANDLER' })],
    ])
  })

  test('[U6] receives only the differences of a relist', async () => {
    const { source, clock, informer, transactions } = await ready()
    source.restore(Object.entries({ 1: order(1), 2: order(20), 5: order(5) }))
    await clock.advance(5_000)
    expect(informer.status.relists).toBe(1)
    expect(transactions.map((changes) => changes.toSorted())).toEqual([['delete 3', 'insert 5', 'update 2']])
  })

  test('with `where` has the objects of one scope, and objects enter and leave it', async () => {
    const world = ordersOf()
    const collection = collectionOf(world, { where: { tenant: 'acme' } })
    world.informer.start()
    await world.clock.advance(0)
    expect(totals(collection.entries())).toEqual({ 1: 1, 2: 2 })
    world.source.put('1', order(1, 'birch'))
    world.source.put('3', order(3))
    await world.clock.advance(0)
    expect(totals(collection.entries())).toEqual({ 2: 2, 3: 3 })
  })
})

describe('the status of a collection', () => {
  test('[U7] is error while the informer fails before the first list, and ready after its recovery', async () => {
    const world = ordersOf()
    world.source.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }), 2)
    const collection = collectionOf(world)
    const preloaded = collection.preload()
    const failed = expect(preloaded).rejects.toMatchObject({ code: 'UNAUTHORIZED' })
    world.informer.start()
    await world.clock.advance(0)
    await failed
    expect(collection.status).toBe('error')
    await world.clock.advance(60_000)
    expect([collection.status, collection.size]).toEqual(['ready', 3])
  })

  test.each([
    ['keep', 3],
    ['clear', 0],
  ])('stays ready if access is lost later, and has the objects of onAccessLost %s', async (onAccessLost, count) => {
    const { informer, collection, loseAccess } = await ready({ onAccessLost })
    await loseAccess()
    expect([informer.status.state, collection.status, collection.size]).toEqual(['failed', 'ready', count])
  })

  test('[U7] is error after the informer was stopped, and the objects stay', async () => {
    const { clock, informer, collection } = await ready()
    await Promise.all([informer.stop(), clock.advance(1_000)])
    expect([collection.status, collection.size]).toEqual(['error', 3])
  })

  test('is error if the informer is stopped before the first list', async () => {
    const world = ordersOf()
    const collection = collectionOf(world)
    const failed = expect(collection.preload()).rejects.toMatchObject({ code: 'STOPPED' })
    await Promise.all([world.informer.stop(), failed, world.clock.advance(1_000)])
    expect(collection.status).toBe('error')
  })
})

test('[U8] the cleanup of a collection closes its subscription, and a later use fills it again', async () => {
  const { source, clock, informer, collection } = await ready()
  expect(informer.inspect().subscriptions.count).toBe(1)
  await collection.cleanup()
  await clock.advance(0)
  expect(informer.inspect().subscriptions.count).toBe(0)
  source.put('4', order(4))
  await clock.advance(0)
  expect(collection.size).toBe(0)
  collection.startSyncImmediate()
  await clock.advance(0)
  expect([collection.status, collection.size, informer.inspect().subscriptions.count]).toEqual(['ready', 4, 1])
})

test('[U8] the cleanup of a collection happens when it has had no subscriber for the time gcTime', async () => {
  const world = ordersOf()
  const collection = createCollection({ ...informerCollectionOptions({ informer: world.informer }), gcTime: 1 })
  world.informer.start()
  const subscription = collection.subscribeChanges(() => {})
  await world.clock.advance(0)
  expect([collection.status, world.informer.inspect().subscriptions.count]).toEqual(['ready', 1])
  subscription.unsubscribe()
  await vi.waitFor(() => expect(collection.status).toBe('cleaned-up'), { timeout: 4_000 })
  expect(world.informer.inspect().subscriptions.count).toBe(0)
})

test('[U8] a wait for a mark continues while its collection is cleaned up, and can begin after that', async () => {
  const { source, clock, collection } = await ready()
  const during = collection.utils.waitFor(source.put('4', order(4)))
  const cleaned = collection.cleanup()
  const after = collection.utils.waitFor(source.put('5', order(5)))
  await Promise.all([during, cleaned, after, clock.advance(100)])
  expect(collection.size).toBe(0)
})

test('the cleanup of a collection writes nothing of a batch that waits', async () => {
  const { source, clock, collection, transactions } = await ready()
  source.put('4', order(4))
  const cleaned = collection.cleanup()
  await clock.advance(0)
  await cleaned
  expect([transactions, collection.status]).toEqual([[], 'cleaned-up'])
})

test('a live query joins the collections of two informers, and follows both', async () => {
  const orders = ordersOf()
  const tenants = mirrorOf<{ readonly name: string; readonly plan: string }, object>([
    ['acme', { name: 'acme', plan: 'free' }],
    ['birch', { name: 'birch', plan: 'team' }],
  ])
  const orderRows = collectionOf(orders)
  const tenantRows = createCollection(informerCollectionOptions({ informer: tenants.informer }))
  const plans = createLiveQueryCollection((query) =>
    query
      .from({ order: orderRows })
      .join({ tenant: tenantRows }, ({ order, tenant }) => eq(order.tenant, tenant.name), 'inner')
      .select(({ order, tenant }) => ({ total: order.total, plan: tenant.plan })),
  )
  const shown = (): string[] => plans.toArray.map(({ total, plan }) => `${total} ${plan}`).toSorted()
  const loaded = plans.preload()
  orders.informer.start()
  tenants.informer.start()
  await orders.clock.advance(0)
  await tenants.clock.advance(0)
  await loaded
  expect(shown()).toEqual(['1 free', '2 free', '3 team'])
  tenants.source.put('acme', { name: 'acme', plan: 'pro' })
  orders.source.delete('2')
  await orders.clock.advance(0)
  await tenants.clock.advance(0)
  expect(shown()).toEqual(['1 pro', '3 team'])
  await plans.cleanup()
  await Promise.all([orderRows.cleanup(), tenantRows.cleanup()])
})

describe('a write', () => {
  type Item = { readonly id: string; readonly total: number }

  test('of a handler is replaced by the state of the source, which the collection has after utils.waitFor', async () => {
    const { clock, source, informer } = mirrorOf<Item, object>([['1', { id: '1', total: 1 }]])
    const options = informerCollectionOptions({ informer, getKey: ({ id }) => id })
    const shown: (number | undefined)[] = []
    const collection = createCollection({
      ...options,
      startSync: true,
      onUpdate: async ({ transaction }) => {
        const { modified } = transaction.mutations[0]
        await options.utils.waitFor(source.put(modified.id, { id: modified.id, total: modified.total + 100 }))
      },
    })
    await begun(informer, clock)
    collection.subscribeChanges(() => shown.push(collection.get('1')?.total))
    const write = collection.update('1', (draft) => void Object.assign(draft, { total: 5 }))
    await clock.advance(10)
    await write.isPersisted.promise
    expect([...new Set(shown)]).toEqual([5, 105])
  })

  test('of a large batch is in the collection when utils.waitFor resolves', async () => {
    const { clock, source, informer } = mirrorOf<Item, object>([['1', { id: '1', total: 1 }]])
    const collection = createCollection({ ...informerCollectionOptions({ informer }), startSync: true })
    await begun(informer, clock)
    const mark = source.transaction((tx) => {
      for (let n = 2; n <= 5_000; n++) tx.put(`${n}`, { id: `${n}`, total: n })
    })
    const size = collection.utils.waitFor(mark).then(() => collection.size)
    await clock.advance(1_000)
    expect(await size).toBe(5_000)
  })

  test('needs getKey: without it the collection is read-only', async () => {
    const { clock, informer } = mirrorOf<Item, object>([['1', { id: '1', total: 1 }]])
    const handlers = { onInsert: async () => {}, onUpdate: async () => {} }
    const collection = createCollection({ ...informerCollectionOptions({ informer }), ...handlers, startSync: true })
    await begun(informer, clock)
    const message = 'getKey: the object is not of the informer; use the option getKey'
    expect(() => collection.insert({ id: '2', total: 2 })).toThrow(message)
    expect(() => collection.update('1', (draft) => void Object.assign(draft, { total: 2 }))).toThrow(message)
    await collection.cleanup()
  })
})

test('informerCollectionOptions rejects an unknown option and a wrong index', () => {
  const { informer } = ordersOf()
  expect(() => informerCollectionOptions({ informer, gcTime: 5 } as never)).toThrow(OptionError)
  const { sync } = informerCollectionOptions<Order>({ informer, where: { region: 'eu' } })
  const unused = (): void => {}
  const collection = { begin: unused, write: unused, commit: unused, markReady: unused, markError: unused }
  expect(() => sync.sync(collection)).toThrow(OptionError)
})
