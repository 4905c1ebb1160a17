import { describe, expect, test } from 'vitest'
import { derive, deriveMany, groupBy } from '../../../src/derive/derive.js'
import { contentOf, errorsOf, type Order, shop } from '../../support/views.js'

const order = (customer: string, total: number, tags: readonly string[] = []): Order => ({ customer, total, tags })

/** One object, whose function reads `orders` with `read`. Returns how often it was called since the last question. */
async function readingOrders<R>(
  read: (orders: ReturnType<typeof shop>['orders']) => R,
  initial: Readonly<Record<string, Order>>,
) {
  const world = shop({ orders: Object.entries(initial), customers: [['one', { name: 'One', country: 'de' }]] })
  let calls = 0
  const view = derive({
    from: world.customers,
    reads: [world.orders],
    each: () => {
      calls++
      return { read: read(world.orders) }
    },
  })
  await world.start(view)
  calls = 0
  const callsAfter = async (write: (source: typeof world.orderSource) => void): Promise<number> => {
    calls = 0
    write(world.orderSource)
    await world.settle()
    return calls
  }
  return { ...world, view, callsAfter }
}

describe('[X6] a function runs again if and only if its object or something that it has read changed', () => {
  test('its own object', async () => {
    const world = await readingOrders(() => 1, { a: order('x', 1) })
    expect(await world.callsAfter(() => world.customerSource.put('one', { name: 'Uno', country: 'de' }))).toBe(1)
    expect(await world.callsAfter(() => world.customerSource.put('one', { name: 'Uno', country: 'de' }))).toBe(0)
    expect(await world.callsAfter((source) => source.put('a', order('x', 2)))).toBe(0)
  })

  test('a key, also an absent one', async () => {
    const { callsAfter } = await readingOrders((orders) => [orders.get('a')?.total, orders.has('none')], {
      a: order('x', 1),
      b: order('x', 1),
    })
    expect(await callsAfter((source) => source.put('b', order('x', 5)))).toBe(0)
    expect(await callsAfter((source) => source.put('a', order('x', 5)))).toBe(1)
    expect(await callsAfter((source) => source.put('none', order('x', 5)))).toBe(1)
    expect(await callsAfter((source) => source.delete('none'))).toBe(1)
    expect(await callsAfter((source) => source.delete('a'))).toBe(1)
    expect(await callsAfter((source) => source.put('a', order('x', 1)))).toBe(1)
  })

  test('an object that was deleted depends on nothing', async () => {
    const { orders, customers, orderSource, customerSource, start, settle } = shop({
      orders: Object.entries({ 1: order('a', 1), 2: order('b', 1) }),
    })
    let calls = 0
    const view = derive({ from: orders, reads: [customers], each: (o) => ++calls > 0 && customers.has(o.customer) })
    await start(view)
    orderSource.delete('1')
    await settle()
    expect([calls, view.inspect().view?.reads, contentOf(view).size]).toEqual([2, 1, 1])
    customerSource.put('a', { name: 'A', country: 'de' })
    orderSource.put('3', order('c', 1))
    await settle()
    customerSource.put('c', { name: 'C', country: 'de' })
    await settle()
    expect([calls, view.inspect().view?.reads, view.get('3')]).toEqual([4, 2, true])
  })

  test('a value of an index: its objects, or only their number', async () => {
    const objects = await readingOrders((orders) => orders.by.customer('x').length, {
      a: order('x', 1),
      b: order('y', 1),
    })
    expect(await objects.callsAfter((source) => source.put('b', order('y', 5)))).toBe(0)
    expect(await objects.callsAfter((source) => source.put('a', order('x', 5)))).toBe(1)
    expect(await objects.callsAfter((source) => source.put('b', order('x', 5)))).toBe(1)
    expect(await objects.callsAfter((source) => source.put('b', order('z', 5)))).toBe(1)
    const count = await readingOrders((orders) => orders.by.tag.count('t'), { a: order('x', 1, ['t']) })
    expect(await count.callsAfter((source) => source.put('a', order('x', 5, ['t', 'u'])))).toBe(0)
    expect(await count.callsAfter((source) => source.put('b', order('x', 5, ['u', 't'])))).toBe(1)
    expect(await count.callsAfter((source) => source.put('b', order('x', 5, ['u'])))).toBe(1)
  })

  test('the head of a compound index', async () => {
    const { callsAfter } = await readingOrders((orders) => orders.by.latest(['x']).length, { a: order('x', 1) })
    expect(await callsAfter((source) => source.put('b', order('y', 1)))).toBe(0)
    expect(await callsAfter((source) => source.put('b', order('x', 7)))).toBe(1)
    expect(await callsAfter((source) => source.put('a', order('x', 2)))).toBe(1)
    const count = await readingOrders((orders) => orders.by.latest.count(['x']), { a: order('x', 1) })
    expect(await count.callsAfter((source) => source.put('a', order('x', 2)))).toBe(0)
    expect(await count.callsAfter((source) => source.delete('a'))).toBe(1)
  })

  test('a range', async () => {
    const { callsAfter, view } = await readingOrders(
      (orders) => orders.by.total({ gte: 3, lt: 6 }).map((o) => o.total),
      { a: order('x', 1), b: order('x', 4) },
    )
    expect(await callsAfter((source) => source.put('a', order('x', 2)))).toBe(0)
    expect(await callsAfter((source) => source.put('c', order('x', 6)))).toBe(0)
    expect(await callsAfter((source) => source.put('a', order('x', 3)))).toBe(1)
    expect(await callsAfter((source) => source.put('b', order('x', 5)))).toBe(1)
    expect(await callsAfter((source) => source.put('b', order('x', 9)))).toBe(1)
    expect(view.get('one')).toEqual({ read: [3] })
  })

  test('what lies beyond the last object of a limited range does not matter', async () => {
    // Arguments are copies: the program uses the array of the head again.
    const head: [string] = ['']
    const top = (orders: ReturnType<typeof shop>['orders']) => {
      head[0] = 'x'
      const found = orders.by.latest(head, { reverse: true, limit: 2 }).map((o) => o.total)
      head[0] = 'y'
      return found
    }
    const { callsAfter, view } = await readingOrders(top, { a: order('x', 10), b: order('x', 20), c: order('x', 30) })
    expect(await callsAfter((source) => source.put('a', order('x', 11)))).toBe(0)
    expect(await callsAfter((source) => source.put('d', order('x', 19)))).toBe(0)
    expect(await callsAfter((source) => source.put('d', order('x', 25)))).toBe(1)
    expect(await callsAfter((source) => source.put('b', order('x', 21)))).toBe(0)
    expect(await callsAfter((source) => source.delete('c'))).toBe(1)
    expect(view.get('one')).toEqual({ read: [25, 21] })
  })

  test('a function that reads something else than before no longer depends on that', async () => {
    const { callsAfter } = await readingOrders(
      (orders) => {
        const total = orders.get('switch')?.total
        return total === 1 ? orders.get('a')?.total : total === 2 ? orders.get('b')?.total : undefined
      },
      { switch: order('x', 1), a: order('x', 1), b: order('x', 2) },
    )
    expect(await callsAfter((source) => source.put('b', order('x', 3)))).toBe(0)
    expect(await callsAfter((source) => source.put('switch', order('x', 2)))).toBe(1)
    expect(await callsAfter((source) => source.put('a', order('x', 9)))).toBe(0)
    expect(await callsAfter((source) => source.put('b', order('x', 9)))).toBe(1)
    expect(await callsAfter((source) => source.put('switch', order('x', 3)))).toBe(1)
    expect(await callsAfter((source) => source.put('b', order('x', 1)))).toBe(0)
    expect(await callsAfter((source) => source.put('switch', order('x', 2)))).toBe(1)
    expect(await callsAfter((source) => source.put('b', order('x', 4)))).toBe(1)
  })

  test('a group runs if the number of its objects changes', async () => {
    const { orders, orderSource, start, settle } = shop({ orders: [['1', order('a', 1)]] })
    const calls: string[] = []
    const groups = groupBy({
      index: orders.by.customer,
      each: (customer, { count }) => {
        calls.push(customer)
        return { count }
      },
    })
    await start(groups)
    calls.length = 0
    orderSource.put('1', order('a', 2))
    await settle()
    expect(calls).toEqual([])
    orderSource.put('2', order('b', 2))
    orderSource.put('1', order('b', 2))
    await settle()
    expect(contentOf(groups)).toEqual(new Map([['b', { count: 2 }]]))
  })
})

test('[X11] an equal result changes nothing: the object stays, and views above do not run', async () => {
  const { orders, customers, customerSource, start, settle } = shop({
    orders: [['1', order('a', 1)]],
    customers: [['a', { name: 'A', country: 'de' }]],
  })
  const view = derive({
    from: orders,
    reads: [customers],
    each: (o) => ({ country: customers.get(o.customer)?.country }),
  })
  let calls = 0
  const above = derive({
    from: view,
    each: (row) => {
      calls++
      return row
    },
  })
  const rounded = derive({ from: orders, each: (o) => ({ total: o.total }), equals: () => true })
  await start(view, above, rounded)
  const before = view.get('1')
  calls = 0
  customerSource.put('a', { name: 'B', country: 'de' })
  await settle()
  expect(view.get('1')).toBe(before)
  expect([calls, rounded.get('1')]).toEqual([0, { total: 1 }])
})

test('[X10] results of two inputs never have one key, and a name twice makes the input invalid', async () => {
  const { orders, orderSource, start, settle } = shop({
    orders: Object.entries({ a: order('x', 1, ['b/c']), 'a/b': order('x', 2, ['c']) }),
  })
  const view = deriveMany({
    from: orders,
    each: ({ tags = [], ...o }) => [...tags, ...(o.total === 9 ? tags : [])].map((tag) => [tag, o] as const),
  })
  const errors = errorsOf(view)
  await start(view)
  expect([...contentOf(view).keys()]).toEqual(['a/b\\/c', 'a\\/b/c'])
  orderSource.put('a', order('x', 9, ['d']))
  await settle()
  expect([...contentOf(view).keys()]).toEqual(['a/b\\/c', 'a\\/b/c'])
  expect(view.invalid.get('a')?.message).toMatch('the name "d" twice')
  expect(errors.map(({ phase }) => phase)).toEqual(['derive'])
  orderSource.put('a', order('x', 1, ['d']))
  await settle()
  expect([[...contentOf(view).keys()], view.invalid.size]).toEqual([['a/d', 'a\\/b/c'], 0])
  orderSource.delete('a/b')
  await settle()
  expect([...contentOf(view).keys()]).toEqual(['a/d'])
})

test('[X10] two values with one text make that key invalid, until one of them is gone', async () => {
  const { orders, orderSource, start, settle } = shop({ orders: [['1', order('a', 1)]] })
  const mixed = derive({
    from: orders,
    each: (o) => ({ value: o.total === 7 ? '1' : o.total }),
    indexes: (ix) => ({ value: ix.equal((row) => row.value) }),
  })
  const groups = groupBy({ index: mixed.by.value, each: (value, { count }) => ({ value, count }) })
  errorsOf(groups)
  await start(mixed, groups)
  expect(contentOf(groups)).toEqual(new Map([['1', { value: 1, count: 1 }]]))
  orderSource.put('2', order('a', 7))
  await settle()
  expect([...groups.invalid.keys()]).toEqual(['1'])
  orderSource.transaction((tx) => {
    tx.put('3', order('a', 7))
    tx.delete('1')
  })
  await settle()
  expect([groups.invalid.size, contentOf(groups)]).toEqual([0, new Map([['1', { value: '1', count: 2 }]])])
})

test('[X10] the key of a tuple has the texts of its components', async () => {
  const { orders, start } = shop({ orders: [['1', order('a/b', 1)]] })
  const groups = groupBy({ index: orders.by.latest, each: ([customer, total]) => ({ customer, total }) })
  await start(groups)
  expect(contentOf(groups)).toEqual(new Map([['a\\/b/1', { customer: 'a/b', total: 1 }]]))
})
