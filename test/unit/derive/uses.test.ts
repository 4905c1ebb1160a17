import { expect, test } from 'vitest'
import { derive, groupInformers } from '../../../src/index.js'
import { internalsOf } from '../../../src/informer/internals.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { contentOf, type Order, shop } from '../../support/views.js'

const order = (customer: string, total: number): Order => ({ customer, total })

test('[X1] a view is an informer: streams, controllers, scopes, snapshots, indexes, inspection and signals', async () => {
  const clock = new VirtualClock()
  const { orders, customers, orderSource, customerSource, start, settle } = shop({
    orders: [['1', order('a', 1)]],
    customers: [['a', { name: 'A', country: 'de' }]],
    clock,
  })
  const view = derive({
    from: orders,
    reads: [customers],
    each: (o) => ({ total: o.total, country: customers.get(o.customer)?.country ?? 'none' }),
    indexes: (ix) => ({ country: ix.equal((row) => row.country) }),
    name: 'joined',
  })
  await start(view)
  const streamed: unknown[] = []
  const ended = (async () => {
    for await (const { changes, version } of view.changes({ where: { country: 'de' } }))
      streamed.push([changes.map(({ type, key }) => `${type} ${key}`), version])
  })()
  const runs: unknown[] = []
  const controller = view.reconcile(async (key, { object }) => void runs.push([key, object?.total]))
  await settle()
  expect([...view.by.country.entries('de')]).toEqual([['1', { total: 1, country: 'de' }]])
  const byTotal = await Promise.all([view.addIndex('total', (ix) => ix.ordered((row) => row.total)), clock.advance(0)])
  expect(byTotal[0]({ gte: 1 })).toHaveLength(1)
  using snapshot = view.snapshot()
  let signals = 0
  internalsOf(view)?.signal.listen(() => signals++)
  orderSource.put('2', order('a', 2))
  customerSource.put('a', { name: 'A', country: 'us' })
  await settle()
  expect([[...snapshot.keys()], snapshot.by.country.count('de')]).toEqual([['1'], 1])
  expect(contentOf(view)).toEqual(
    new Map(Object.entries({ 1: { total: 1, country: 'us' }, 2: { total: 2, country: 'us' } })),
  )
  expect(signals).toBe(2)
  expect(streamed.flatMap((each) => (each as [string[]])[0])).toEqual(['add 1', 'add 2', 'delete 2', 'delete 1'])
  expect(runs).toEqual(expect.arrayContaining([['2', 2]]))
  const inspection = view.inspect()
  expect(inspection).toMatchObject({ name: 'joined', state: 'live', objects: 2 })
  expect(JSON.stringify(inspection)).toContain('joined')
  await Promise.all([controller.close(), view.stop(), ended, clock.advance(1_000)])
})

test('[X14] a group with a view starts its inputs before it, whatever their order', async () => {
  const { clock, orders, customers } = shop({ orders: [['1', order('a', 1)]] })
  const view = derive({ from: orders, reads: [customers], each: (o) => ({ has: customers.has(o.customer) }) })
  const group = groupInformers([view, customers, orders])
  group.start()
  const synced = group.synced()
  await clock.advance(0)
  await synced
  expect(contentOf(view)).toEqual(new Map([['1', { has: false }]]))
  await Promise.all([group.stop(), clock.advance(1_000)])
})
