import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { derive, deriveMany, groupBy } from '../../../src/derive/derive.js'
import { contentOf, errorsOf, type Order, shop } from '../../support/views.js'

const order = (customer: string, total: number): Order => ({ customer, total })
const HOUR = 3_600_000

test('[X23] the audit of a view calls the function again, corrects what differs, and reports that the function is not pure', async () => {
  let factor = 1
  const { orders, orderSource, clock, start, settle } = shop({
    orders: Object.entries({ 1: order('a', 1), 2: order('b', 2) }),
  })
  const view = derive({ from: orders, each: (o) => ({ total: o.total * factor }), name: 'scaled' })
  const above = derive({ from: view, each: ({ total }) => ({ total }), audit: false })
  const errors = errorsOf(view)
  await start(view, above)
  await clock.advance(HOUR)
  expect(errors).toEqual([])
  factor = 10
  orderSource.put('2', order('b', 3))
  await settle()
  expect([view.get('1')?.total, view.get('2')?.total]).toEqual([1, 30])
  await clock.advance(300_000)
  expect(contentOf(view)).toEqual(new Map(Object.entries({ 1: { total: 10 }, 2: { total: 30 } })))
  expect(contentOf(above)).toEqual(contentOf(view))
  expect(errors).toMatchObject([{ code: 'PROTOCOL', phase: 'derive', key: '1' }])
  expect(errors[0]?.message).toMatch('the audit of scaled found another result or other reads for "1": its function')
  await clock.advance(HOUR)
  expect(errors).toHaveLength(1)
})

test.each(['other reads', 'a throw instead of a result', 'a result instead of a throw'])(
  '[X23] the audit of a view finds %s',
  async (kind) => {
    const { orders, customers, clock, start } = shop({ orders: [['1', order('a', 1)]] })
    let calls = 0
    const each = (): object => {
      const isFirst = ++calls === 1
      if (kind === 'other reads') customers.get(isFirst ? 'a' : 'b')
      else if (isFirst === kind.startsWith('a result')) throw new Error('once')
      return {}
    }
    const view = derive({ from: orders, reads: [customers], each })
    const errors = errorsOf(view)
    await start(view)
    await clock.advance(300_000)
    expect(errors.filter(({ code }) => code === 'PROTOCOL')).toMatchObject([{ key: '1' }])
  },
)

test('[X23] the rests between audits of a view are not kept', async () => {
  const { orders, clock, start } = shop({ orders: [['1', order('a', 1)]] })
  const rests: WeakRef<object>[] = []
  await start(derive({ from: orders, each: (o) => o, audit: { periodMs: 1_000 } }))
  const sleep = clock.sleep.bind(clock)
  clock.sleep = async (...args) => {
    await sleep(...args)
    const rest = {}
    rests.push(new WeakRef(rest))
    return rest as never
  }
  await clock.advance(60_000)
  await new Promise(setImmediate)
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  expect(rests.length).toBeGreaterThan(50)
  expect(rests.filter((rest) => rest.deref() !== undefined).length).toBeLessThan(10)
})

test('[X23] the audit of a view calls each row of a large view in small parts within about one period', async () => {
  const entries = Array.from({ length: 1_500 }, (_, i) => [`${i}`, order(`c${i % 50}`, i)] as const)
  const { orders, orderSource, clock, start, settle } = shop({ orders: entries })
  const called = new Map<unknown, number>()
  const count = (row: unknown): void => void called.set(row, (called.get(row) ?? 0) + 1)
  const views = [
    derive({
      from: orders,
      each: (o, key) => {
        count(`one ${key}`)
        return { total: o.total }
      },
      audit: { periodMs: 60_000 },
    }),
    deriveMany({
      from: orders,
      each: (o, key) => {
        count(`many ${key}`)
        return [['x', o]]
      },
      audit: { periodMs: 60_000 },
    }),
  ]
  await start(...views)
  await clock.advance(90_000)
  expect(new Set(called.values())).toEqual(new Set([2]))
  for (const [key] of entries) if (key !== '0') orderSource.delete(key)
  await settle()
  called.clear()
  await clock.advance(60_000)
  expect(called.get('one 0')).toBeGreaterThan(0)
  expect(views[0]?.inspect().view).toMatchObject({ inputs: { count: 1, first: ['orders'] }, reads: 0 })
})

test('[X24] sums are exact, and equal those of a new view, whatever was added and removed before', async () => {
  const { orders, orderSource, start, settle } = shop()
  const sums = { total: (o: Order) => o.total / 10, tags: (o: Order) => o.tags?.length }
  const view = groupBy({
    index: orders.by.customer,
    sums,
    each: (_c, { count, total, tags }) => ({ count, total, tags }),
  })
  await start(view)
  for (const total of [1, 2, 3e21, -3e21, Infinity, 4])
    orderSource.put(`${total}`, { customer: 'a', total, tags: ['x'] })
  orderSource.put('big', order('b', 1e300))
  await settle()
  expect(view.invalid.get('a')?.message).toMatch(
    'the object "Infinity": the sum "total" needs a finite number, null or undefined',
  )
  for (const key of ['3e+21', 'Infinity', 'big']) orderSource.delete(key)
  orderSource.put('4', { customer: 'a', total: 4 })
  orderSource.put('-3e+21', order('b', 0.5))
  await settle()
  expect(contentOf(view)).toEqual(
    new Map([
      ['a', { count: 3, total: 0.7000000000000001, tags: 2 }],
      ['b', { count: 1, total: 0.05, tags: 0 }],
    ]),
  )
})

test('[X24] an object whose number cannot be computed makes its groups invalid until it changes, or leaves them', async () => {
  const { orders, orderSource, customers, customerSource, clock, start, settle } = shop({
    orders: Object.entries({ 1: order('a', 1), 2: order('a', 2) }),
  })
  const doubled = (o: Order): number => {
    if (o.total < 0) throw new RangeError('negative')
    return o.total * 2
  }
  let calls = 0
  const view = groupBy({
    index: orders.by.customer,
    reads: [customers],
    sums: { doubled },
    each: (customer, group) => {
      calls++
      return { doubled: group.doubled, known: customers.has(customer) }
    },
  })
  const errors = errorsOf(view)
  await start(view)
  orderSource.put('1', order('a', -1))
  await settle()
  expect(view.invalid.get('a')?.message).toMatch('the object "1": negative')
  expect(view.get('a')).toEqual({ doubled: 6, known: false })
  customerSource.put('a', { name: 'A', country: 'de' })
  await settle()
  expect(view.invalid.size).toBe(1)
  orderSource.put('1', order('b', -1))
  await settle()
  expect([view.get('a')?.doubled, view.invalid.has('a'), view.invalid.has('b')]).toEqual([4, false, true])
  orderSource.put('1', order('b', 5))
  await settle()
  expect([view.get('b')?.doubled, view.invalid.size]).toEqual([10, 0])
  calls = 0
  orderSource.put('1', { ...order('b', 5), tags: ['new'] })
  await settle()
  expect(calls).toBe(0)
  await clock.advance(HOUR)
  expect(errors.every(({ code }) => code === 'DECODE')).toBe(true)
})

test('[X24] an option that is not a function, or is called count, is refused', () => {
  const { orders } = shop()
  const wrong = (sums: object) => () => groupBy({ index: orders.by.customer, sums, each: () => ({}) })
  expect(wrong({ total: 1 })).toThrow('option "sums" must have functions')
  expect(wrong({ count: () => 1 })).toThrow('option "sums" must not have "count"')
})
