import { expect, test } from 'vitest'
import { derive, deriveMany, groupBy } from '../../../src/derive/derive.js'
import { contentOf, shop } from '../../support/views.js'

const ACME = { name: 'Acme', country: 'de' }
const order = (customer: string, total: number, tags: readonly string[] = []) => ({ customer, total, tags })

test('[X1] a left join shows its function on what its inputs show', async () => {
  const { orders, customers, orderSource, customerSource, start, settle } = shop({
    orders: Object.entries({ 1: order('acme', 10), 2: order('globex', 20) }),
    customers: [['acme', ACME]],
  })
  const view = derive({
    from: orders,
    reads: [customers],
    each: (o) => ({ total: o.total, customer: customers.get(o.customer)?.name }),
  })
  await start(view)
  expect(contentOf(view)).toEqual(
    new Map(Object.entries({ 1: { total: 10, customer: 'Acme' }, 2: { total: 20, customer: undefined } })),
  )
  customerSource.put('globex', { name: 'Globex', country: 'us' })
  await settle()
  expect(view.get('2')).toEqual({ total: 20, customer: 'Globex' })
  customerSource.delete('acme')
  orderSource.put('3', order('globex', 30))
  orderSource.delete('2')
  await settle()
  expect(contentOf(view)).toEqual(
    new Map(Object.entries({ 1: { total: 10, customer: undefined }, 3: { total: 30, customer: 'Globex' } })),
  )
})

test('[X1] groups, the first objects of an order and several results show their functions', async () => {
  const { orders, orderSource, start, settle } = shop({
    orders: Object.entries({ 1: order('acme', 10, ['a', 'b']), 2: order('globex', 20), 3: order('acme', 30, ['b']) }),
  })
  const groups = groupBy({
    index: orders.by.customer,
    reads: [orders],
    each: (customer, { count }) => ({
      customer,
      count,
      top: orders.by.latest([customer], { reverse: true, limit: 1 }).map((o) => o.total),
    }),
  })
  const largest = deriveMany({ reads: [orders], each: () => orders.by.total.entriesIn({ reverse: true, limit: 2 }) })
  const tags = deriveMany({
    from: orders,
    each: (o) => (o.tags ?? []).map((tag) => [tag, { tag, total: o.total }] as const),
  })
  const byTag = groupBy({ index: orders.by.tag, each: (tag, { count }) => ({ tag, count }) })
  await start(groups, largest, tags, byTag)
  expect([...contentOf(groups).values()]).toEqual([
    { customer: 'acme', count: 2, top: [30] },
    { customer: 'globex', count: 1, top: [20] },
  ])
  expect([...contentOf(largest).keys()]).toEqual(['2', '3'])
  expect([...contentOf(tags).keys()]).toEqual(['1/a', '1/b', '3/b'])
  expect([...contentOf(byTag)]).toEqual(Object.entries({ a: { tag: 'a', count: 1 }, b: { tag: 'b', count: 2 } }))
  orderSource.put('4', order('globex', 25, ['a']))
  orderSource.delete('3')
  await settle()
  expect([...contentOf(groups).values()]).toEqual([
    { customer: 'acme', count: 1, top: [10] },
    { customer: 'globex', count: 2, top: [25] },
  ])
  expect([...contentOf(largest).keys()]).toEqual(['2', '4'])
  expect([...contentOf(tags).keys()]).toEqual(['1/a', '1/b', '4/a'])
  expect([...contentOf(byTag)]).toEqual(Object.entries({ a: { tag: 'a', count: 2 }, b: { tag: 'b', count: 1 } }))
})
