import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { createInformer, derive, deriveMany, groupBy, type Informer, OptionError } from '../../../src/index.js'
import { breakEqualIndexes } from '../../support/broken-index.js'
import { outcomeOf } from '../../support/informers.js'
import { contentOf, errorsOf, type Order, shop } from '../../support/views.js'

const order = (customer: string, total: number): Order => ({ customer, total })

describe('[X7] in a function, reads that depend on everything throw a TypeError', () => {
  const calls: Readonly<Record<string, (orders: ReturnType<typeof shop>['orders']) => unknown>> = {
    list: (orders) => orders.list(),
    size: (orders) => orders.size,
    keys: (orders) => orders.keys(),
    entries: (orders) => orders.entries(),
    entry: (orders) => orders.entry('1'),
    snapshot: (orders) => orders.snapshot(),
    'values of an equal index': (orders) => orders.by.customer.values(),
    'values of an ordered index': (orders) => orders.by.total.values(),
    'values of a compound index': (orders) => orders.by.latest.values(),
    subscribe: (orders) => orders.subscribe({}),
    addIndex: (orders) => orders.addIndex('x', (ix) => ix.equal((o) => o.total)),
  }
  test.each(Object.entries(calls))('%s', async (_name, call) => {
    const { orders, customers, customerSource, start, settle } = shop({ orders: [['1', order('a', 1)]] })
    const view = derive({ from: customers, reads: [orders], each: () => ({ read: call(orders) !== undefined }) })
    const errors = errorsOf(view)
    await start(view)
    customerSource.put('a', { name: 'A', country: 'de' })
    await settle()
    expect(view.size).toBe(0)
    expect(errors.map(({ cause }) => cause)).toEqual([expect.any(TypeError)])
    expect(orders.list()).toHaveLength(1)
  })
})

test('[X13] a view whose first evaluation reads an informer that `reads` does not name is `failed`, and says so', async () => {
  const { clock, orders, customers, start } = shop({ orders: [['1', order('a', 1)]] })
  const views = [
    derive({ from: orders, each: (o) => ({ name: customers.get(o.customer)?.name }) }),
    derive({ from: orders, reads: [customers], each: () => ({ size: customers.size }) }),
  ]
  for (const view of views) errorsOf(view)
  await start()
  for (const [view, message] of [
    [views[0], 'which the option "reads" does not name'],
    [views[1], 'it would depend on all objects'],
  ] as const) {
    const synced = view?.start().synced()
    await expect(Promise.all([synced, clock.advance(0)])).rejects.toThrow(OptionError)
    expect(view?.status).toMatchObject({ state: 'failed', lastError: { message: expect.stringContaining(message) } })
    expect(view?.health()).toMatchObject({ isReady: false, reason: expect.stringContaining(message) })
    await Promise.all([view?.stop(), clock.advance(1_000)])
  }
})

test('[X8] after the first evaluation, a read of an informer that `reads` does not name makes its key invalid', async () => {
  const { orders, customers, orderSource, start, settle } = shop()
  const other = derive({ from: customers, each: (c) => c })
  const reads = [
    (key: string) => customers.get(key),
    (key: string) => customers.by.country(key),
    (key: string) => other.has(key),
  ]
  const views = reads.map((read) => derive({ from: orders, each: (o) => ({ found: read(o.customer) }) }))
  for (const view of views) errorsOf(view)
  await start(other, ...views)
  orderSource.put('1', order('a', 1))
  await settle()
  for (const view of views) {
    expect(view.invalid.get('1')?.cause).toBeInstanceOf(TypeError)
    expect(view.invalid.get('1')?.message).toMatch('which the option "reads" does not name')
  }
  expect(customers.get('a')).toBeUndefined()
})

test('[X9] a wrong option is an OptionError: an informer that is not of this library, or was stopped', async () => {
  const { orders, start } = shop()
  const stopped = createInformer({
    source: memorySource<Order>(),
    indexes: (ix) => ({ total: ix.equal((o) => o.total) }),
  })
  await stopped.stop()
  const each = () => ({})
  const foreign = { get: () => undefined } as unknown as Informer<Order>
  expect(() => derive({ from: foreign, each })).toThrow(OptionError)
  expect(() => derive({ from: stopped, each })).toThrow('stopped')
  expect(() => derive({ from: orders, reads: [orders, foreign], each })).toThrow('element 1')
  expect(() => groupBy({ index: stopped.by.total, each })).toThrow(OptionError)
  expect(() => groupBy({ index: orders as never, each })).toThrow('must be an index')
  expect(() => deriveMany({ each: () => [] })).toThrow('must name an informer')
  expect(() => derive({ from: orders } as never)).toThrow('"each" is missing')
  expect(() => derive({ from: orders, each, index: 1 } as never)).toThrow('unknown option "index"')
  await start()
})

describe('[X12] an exception of a function', () => {
  test('makes its key invalid, which is reported once; the previous result stays, and all others commit', async () => {
    const { orders, customers, orderSource, customerSource, start, settle } = shop({
      orders: Object.entries({ 1: order('a', 1), 2: order('b', 2) }),
    })
    const view = derive({
      from: orders,
      reads: [customers],
      each: (o) => {
        if (customers.get(o.customer)?.name === 'bad') throw new Error('bad customer')
        return { total: o.total }
      },
    })
    const errors = errorsOf(view)
    await start(view)
    customerSource.put('a', { name: 'bad', country: 'de' })
    orderSource.put('2', order('b', 3))
    await settle()
    expect(contentOf(view)).toEqual(new Map(Object.entries({ 1: { total: 1 }, 2: { total: 3 } })))
    orderSource.put('1', order('a', 5))
    await settle()
    expect([view.get('1'), errors.length]).toEqual([{ total: 1 }, 1])
    expect(errors[0]).toMatchObject({ code: 'DECODE', phase: 'derive', key: '1' })
    expect([...view.invalid.keys()]).toEqual(['1'])
    customerSource.put('a', { name: 'good', country: 'de' })
    await settle()
    expect([view.get('1'), view.invalid.size]).toEqual([{ total: 5 }, 0])
  })

  test("with `onInvalid: 'omit'` its results are removed", async () => {
    const { orders, orderSource, start, settle } = shop({ orders: [['1', order('a', 1)]] })
    const each = (o: Order) => {
      if (o.total < 0) throw new Error('negative')
      return { total: o.total }
    }
    const one = derive({ from: orders, each, onInvalid: 'omit' })
    const many = deriveMany({ from: orders, each: (o) => [['x', each(o)]] as const, onInvalid: 'omit' })
    for (const view of [one, many]) errorsOf(view)
    await start(one, many)
    expect([one.size, many.size]).toEqual([1, 1])
    orderSource.put('1', order('a', -1))
    await settle()
    expect([one.size, many.size]).toEqual([0, 0])
    orderSource.delete('1')
    await settle()
    expect([one.invalid.size, many.invalid.size]).toEqual([0, 0])
  })

  test('and its previous results survive an evaluation of all rows', async () => {
    const { clock, orders, orderSource, start, settle } = shop({ orders: [['1', order('a', 1)]] })
    const many = deriveMany({
      from: orders,
      each: (o) => {
        if (o.total < 0) throw new Error('negative')
        return [['x', o]] as const
      },
    })
    errorsOf(many)
    await start(many)
    orderSource.put('1', order('a', -1))
    await settle()
    const relisted = many.relist()
    await clock.advance(5_000)
    await relisted
    expect([[...contentOf(many).keys()], [...many.invalid.keys()]]).toEqual([['1/x'], ['1']])
  })
})

test('[X13] a function that returns a promise makes the view `failed`, and `synced` rejects with an OptionError', async () => {
  const { clock, orders, orderSource, start, settle } = shop({ orders: [['1', order('a', 1)]] })
  const view = derive({ from: orders, each: async (o: Order) => o })
  errorsOf(view)
  await start()
  view.start()
  const synced = view.synced()
  await expect(Promise.all([synced, clock.advance(0)])).rejects.toThrow(OptionError)
  expect(view.status).toMatchObject({ state: 'failed', lastError: { code: 'PROTOCOL', phase: 'derive' } })
  expect(view.size).toBe(0)
  orderSource.put('2', order('a', 2))
  await settle()
  expect(orders.size).toBe(2)
  await Promise.all([view.stop(), clock.advance(1_000)])
})

test('[X21] a view that cannot commit rolls back alone, and is evaluated again', async () => {
  const { clock, orders, orderSource, start, settle } = shop({ orders: [['1', order('a', 1)]] })
  const view = deriveMany({
    from: orders,
    each: (o) => [['x', { total: o.total }]] as const,
    indexes: (ix) => ({ total: ix.equal((row) => row.total) }),
  })
  const beside = derive({ from: orders, each: (o) => ({ total: o.total }) })
  const above = derive({ from: view, each: (row) => ({ total: row.total }) })
  const errors = errorsOf(view)
  await start(view, beside, above)
  let isBroken = true
  const mend = breakEqualIndexes((_ordinal, key) => isBroken && key === '1/x', new Error('broken'))
  orderSource.put('1', order('b', 2))
  await settle()
  expect([orders.get('1')?.total, beside.get('1')?.total]).toEqual([2, 2])
  expect([view.get('1/x')?.total, above.get('1/x')?.total]).toEqual([1, 1])
  expect([view, above, beside].map((each) => each.health().isReady)).toEqual([false, false, true])
  expect(errors.length).toBeGreaterThan(0)
  const waiting = view.waitFor(orders.version ?? '')
  expect(await outcomeOf(waiting, clock)).toBe('pending')
  isBroken = false
  mend()
  await clock.advance(60_000)
  expect([view.get('1/x')?.total, above.get('1/x')?.total, view.by.total.count(2)]).toEqual([2, 2, 1])
  await waiting
  expect(view.health().isReady).toBe(true)
})

test('[X22] a function that reads more than 100 000 keys makes its key invalid', async () => {
  const { orders, customers, start } = shop({ orders: [['1', order('a', 1)]] })
  const view = derive({
    from: orders,
    reads: [customers],
    each: () => {
      for (let i = 0; i <= 100_000; i++) customers.has(String(i))
      return {}
    },
  })
  errorsOf(view)
  await start(view)
  expect(view.invalid.get('1')?.message).toMatch('more than 100000 keys')
})
