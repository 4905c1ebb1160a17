import { describe, expect, test, vi } from 'vitest'
import { type Change, derive, groupBy, groupInformers, SourceError } from '../../../src/index.js'
import { internalsOf } from '../../../src/informer/internals.js'
import { outcomeOf } from '../../support/informers.js'
import { SliceClock, sliceEachStep } from '../../support/slice-clock.js'
import { type Customer, contentOf, errorsOf, type Order, shop } from '../../support/views.js'

const order = (customer: string, total: number): Order => ({ customer, total })
const ORDERS = Object.entries({ 1: order('a', 1), 2: order('b', 2) })
const CUSTOMERS = [['a', { name: 'A', country: 'de' }]] as const

function joined({ orders, customers }: ReturnType<typeof shop>) {
  return derive({
    from: orders,
    reads: [customers],
    each: (o) => ({ total: o.total, name: customers.get(o.customer)?.name }),
  })
}

/** The join of both, live. */
async function live() {
  const world = shop({ orders: ORDERS, customers: CUSTOMERS })
  const view = joined(world)
  errorsOf(world.customers)
  await world.start(view)
  return { world, view }
}

test('[X2] in a diamond a view changes at most once for each commit, with the changes of one state', async () => {
  const { orders, orderSource, start, settle } = shop({ orders: ORDERS })
  const doubled = derive({ from: orders, each: (o) => ({ total: 2 * o.total }) })
  const groups = groupBy({ index: orders.by.customer, each: (_customer, { count }) => ({ count }) })
  const both = derive({
    from: orders,
    reads: [doubled, groups],
    each: (o, key) => ({ doubled: doubled.get(key)?.total, count: groups.get(o.customer)?.count, total: o.total }),
  })
  const changes: Change<unknown>[] = []
  await start(doubled, groups, both)
  both.subscribe({ update: (change) => void changes.push(change), delete: (change) => void changes.push(change) })
  await settle()
  orderSource.put('1', order('b', 5))
  await settle()
  expect(changes.map(({ key, object }) => [key, object])).toEqual([
    ['1', { doubled: 10, count: 2, total: 5 }],
    ['2', { doubled: 4, count: 2, total: 2 }],
  ])
})

test('[X2] views that are started in another order are evaluated after what they read', async () => {
  const { orders, orderSource, start, settle } = shop({ orders: ORDERS })
  const below = derive({ from: orders, each: (o) => ({ total: o.total }) })
  const above = derive({ from: orders, reads: [below], each: (_o, key) => ({ total: below.get(key)?.total }) })
  await start(above, below)
  orderSource.put('1', order('a', 7))
  await settle()
  expect([below.get('1')?.total, above.get('1')?.total]).toEqual([7, 7])
})

describe('[X4] a commit that needs many evaluations', () => {
  test('runs in slices; readers see inputs and views as before, later commits wait, and a long delay is a warning', async () => {
    using warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const clock = new SliceClock()
    const world = shop({ orders: ORDERS, customers: CUSTOMERS, clock, slices: sliceEachStep(1) })
    const view = joined(world)
    await world.start(view)
    clock.hold()
    world.customerSource.put('a', { name: 'B', country: 'de' })
    world.orderSource.put('2', order('a', 3))
    await clock.advance(0)
    let looks = 0
    while (clock.isPaused && world.customers.get('a')?.name === 'A') {
      expect([view.get('1')?.name, view.get('2')?.total]).toEqual(['A', 2])
      if (++looks === 1) await clock.advance(1_500)
      await clock.slice()
    }
    expect(looks).toBeGreaterThan(0)
    const message = expect.stringMatching(/its function delayed a commit by 1500 ms, in \d+ calls/)
    expect(warned.mock.calls).toEqual([[message, { type: 'ListwatchWarning' }]])
    await clock.release()
    expect(view.get('2')).toEqual({ total: 3, name: 'B' })
  })

  test('is published although its input was stopped meanwhile', async () => {
    const clock = new SliceClock()
    const world = shop({
      orders: Array.from({ length: 9 }, (_, i) => [String(i), order('a', i)]),
      customers: CUSTOMERS,
      clock,
      slices: sliceEachStep(1),
    })
    const view = joined(world)
    await world.start(view)
    clock.hold()
    world.customerSource.put('a', { name: 'B', country: 'de' })
    await clock.advance(0)
    expect(clock.isPaused).toBe(true)
    const stopped = world.customers.stop()
    await clock.release()
    await Promise.all([stopped, clock.advance(1_000)])
    expect(world.customers.get('a')?.name).toBe('B')
    expect(new Set(Array.from(view.list(), ({ name }) => name))).toEqual(new Set(['B']))
  })

  test.each([
    ['a sum', 0],
    ['the first call', 1],
    ['the last call', 2],
  ])('ends if the view is stopped after %s: nothing is called or shown, and nothing is kept', async (_at, calls) => {
    const clock = new SliceClock()
    const world = shop({ customers: CUSTOMERS, clock, slices: sliceEachStep(1) })
    let [called, summed] = [0, 0]
    const view = groupBy({
      index: world.orders.by.customer,
      reads: [world.customers],
      sums: { sum: () => ++summed },
      each: () => ({ called: ++called, countries: world.customers.by.country('de').length }),
    })
    await world.start(view)
    clock.hold()
    world.orderSource.transaction((tx) => {
      for (let i = 0; i < 601; i++) tx.put(String(i), order(i < 600 ? 'a' : 'b', i))
    })
    await clock.advance(0)
    await clock.slices(() => summed > 0 && called === calls)
    const stopped = view.stop()
    await clock.release()
    await Promise.all([stopped, clock.advance(1_000)])
    expect([called, view.size, world.orders.size]).toEqual([calls, 0, 601])
    expect(internalsOf(world.customers)?.input.context.indexer.writer.tracked).toEqual([])
  })

  test('a function never reads what an input had written when it was stopped', async () => {
    const clock = new SliceClock()
    const world = shop({ orders: ORDERS, customers: CUSTOMERS, clock, slices: sliceEachStep(0) })
    const view = derive({
      from: world.customers,
      reads: [world.orders],
      each: (_c, key) => ({ n: world.orders.by.customer.count(key) }),
    })
    await world.start(view)
    clock.hold()
    world.orderSource.transaction((tx) => {
      for (let nth = 0; nth < 9; nth++) tx.put(`new ${nth}`, order('a', nth))
    })
    await clock.advance(0)
    await clock.slice()
    const stopped = world.orders.stop()
    await clock.release()
    await Promise.all([stopped, clock.advance(1_000)])
    world.customerSource.put('a', { name: 'B', country: 'de' })
    await clock.advance(0)
    await Promise.all([view.relist(), clock.advance(10_000)])
    expect(view.get('a')?.n).toBe(world.orders.by.customer.count('a'))
  })
})

describe('[X14] a view starts when all inputs are synced', () => {
  test('and shows nothing before its first evaluation is complete', async () => {
    const world = shop({ orders: ORDERS, customers: CUSTOMERS })
    const view = joined(world)
    view.start()
    world.orders.start()
    const synced = view.synced()
    expect(await outcomeOf(synced, world.clock)).toBe('pending')
    await world.clock.advance(120_000)
    expect(view.size).toBe(0)
    await world.start(view)
    await synced
    expect([view.get('1'), view.status.state]).toEqual([{ total: 1, name: 'A' }, 'live'])
  })

  test('`synced` rejects if that of an input does', async () => {
    const world = shop({ orders: ORDERS })
    const view = joined(world)
    const above = derive({ from: view, each: (row) => row })
    world.customerSource.fail(new SourceError('no', { code: 'UNAUTHORIZED' }))
    for (const each of [world.orders, world.customers]) each.start()
    const rejected = Promise.allSettled([view, above].map((each) => each.start().synced()))
    await world.clock.advance(0)
    expect((await rejected).map((each) => each.status === 'rejected' && each.reason.code)).toEqual([
      'UNAUTHORIZED',
      'UNAUTHORIZED',
    ])
    await world.clock.advance(60_000)
    expect(view.status.state).toBe('live')
    await Promise.all([above.stop(), view.stop(), world.clock.advance(1_000)])
  })

  test('a group starts its inputs first, and stops them last', async () => {
    const world = shop({ orders: ORDERS, customers: CUSTOMERS })
    const view = joined(world)
    const group = groupInformers([view, world.customers, world.orders])
    group.start()
    const synced = group.synced()
    await world.settle()
    await synced
    const ended: string[] = []
    for (const each of [world.orders, world.customers, view])
      each.on('status', ({ state }) => void (state === 'stopped' && ended.push(each.name)))
    await Promise.all([group.stop({ drainMs: 1_000 }), world.clock.advance(2_000)])
    expect(ended[0]).toBe(view.name)
    expect(ended).toHaveLength(3)
  })
})

describe('[X15] versions and waits', () => {
  test('a view of one source has its version, and takes its marks', async () => {
    const world = shop({ orders: ORDERS, customers: CUSTOMERS })
    const view = derive({ from: world.orders, each: (o) => ({ total: o.total }) })
    await world.start(view)
    expect(view.version).toBe(world.orders.version)
    expect([...view.versions]).toEqual([...world.orders.versions])
    const mark = world.orderSource.put('1', order('a', 9))
    const reached = view.waitFor(mark).then(() => view.get('1')?.total)
    const handled: unknown[] = []
    const subscription = view.subscribe({ update: ({ object }) => void handled.push(object.total) })
    const delivered = subscription.waitFor(mark).then(() => [...handled])
    await world.settle()
    expect(await reached).toBe(9)
    expect(await delivered).toEqual([9])
    await Promise.all([view.fresh(), world.clock.advance(0)])
    const bookmark = world.orderSource.put('1', order('zz', 9))
    await world.settle()
    expect(view.version).toBe(bookmark)
    expect(subscription.version).toBe(view.version)
  })

  test('of several sources a wait needs the name of one', async () => {
    const { world, view } = await live()
    expect(view.version).toBeUndefined()
    expect([...view.versions.keys()]).toEqual(['orders', 'customers'])
    await expect(view.waitFor('1')).rejects.toThrow(TypeError)
    const handled: unknown[] = []
    const subscription = view.subscribe({ update: ({ object }) => void handled.push(object.name) })
    await world.settle()
    const mark = world.customerSource.put('a', { name: 'Z', country: 'de' })
    const waits = Promise.all([
      view.waitFor(mark, { source: 'customers' }).then(() => view.get('1')?.name),
      subscription.waitFor(mark, { source: 'customers' }).then(() => [...handled]),
      view.fresh(),
    ])
    await world.settle()
    expect((await waits).slice(0, 2)).toEqual(['Z', ['Z']])
    const later = world.orderSource.put('1', order('b', 1))
    const stopping = view.waitFor(later, { source: 'orders' })
    void view.stop()
    const outcome = outcomeOf(stopping, world.clock)
    await Promise.all([view.stop(), world.clock.advance(1_000)])
    expect(await outcome).toMatchObject({ rejected: { code: 'STOPPED' } })
  })

  test('[X6] rows that are added after a `relist` leave the reads of the others alone', async () => {
    const named = (name: string): Customer => ({ name, country: 'de' })
    const keys = ['a', 'b', 'c']
    const world = shop({
      orders: keys.map((key) => [key, { customer: key, total: 1 }]),
      customers: keys.map((key) => [key, named(key)]),
    })
    const { orders, customers, orderSource, customerSource } = world
    const view = derive({ from: orders, reads: [customers], each: (o) => customers.get(o.customer)?.name ?? 'none' })
    await world.start(view)
    orderSource.delete('c')
    await world.settle()
    await Promise.all([view.relist(), world.clock.advance(10_000)])
    for (const key of ['d', 'e']) orderSource.put(key, { customer: 'c', total: 1 })
    await world.settle()
    for (const key of keys) customerSource.put(key, named(`new ${key}`))
    await world.settle()
    expect(Object.fromEntries(contentOf(view))).toEqual({ a: 'new a', b: 'new b', d: 'new c', e: 'new c' })
  })

  test('[B7a] a wait for a view is reported after 10 s if inputs were not started, also below another view', async () => {
    using warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { clock, orders, customers } = shop()
    const totals = derive({ from: orders, each: (o) => ({ total: o.total }) })
    const view = derive({ from: totals, reads: [orders, customers], each: (row) => row })
    totals.start()
    view
      .start()
      .synced()
      .catch(() => {})
    await clock.advance(60_000)
    expect(warned.mock.calls.map(([message]) => String(message))).toEqual([
      expect.stringMatching(/inputs were not started: [^,]*orders[^,]*, [^,]*customers[^,]*: call start\(\)/),
    ])
    await Promise.all([view.stop(), totals.stop(), clock.advance(1_000)])
  })

  test('`relist` evaluates everything again, and delivers the differences', async () => {
    const world = shop({ orders: ORDERS })
    let factor = 1
    const view = derive({ from: world.orders, each: (o) => ({ total: factor * o.total }) })
    await world.start(view)
    const changes: unknown[] = []
    view.subscribe({ update: ({ key, origin }) => void changes.push(`${key} ${origin}`) })
    await world.settle()
    await Promise.all([view.relist(), world.clock.advance(10_000)])
    expect(changes).toEqual([])
    factor = 2
    await Promise.all([view.relist(), world.clock.advance(10_000)])
    expect(changes).toEqual(['1 relist', '2 relist'])
    expect(view.get('2')).toEqual({ total: 4 })
  })
})

test('[X16] status and health are those of the root in the worst state', async () => {
  const { world, view } = await live()
  expect(view.status).toMatchObject({ state: 'live', isSynced: true })
  expect(Object.keys(view.status.sources ?? {})).toEqual(['orders', 'customers'])
  expect(view.health()).toMatchObject({ isLive: true, isReady: true })
  world.customerSource.fail(new SourceError('dropped', { code: 'NOT_FOUND' }), 3)
  world.customerSource.disconnect()
  await world.clock.advance(2_000)
  expect(view.status.state).toBe('failed')
  expect(view.status.reason).toMatch('customers')
  expect(view.get('1')?.name).toBe('A')
  await world.clock.advance(60_000)
  expect(view.status.state).toBe('live')
})

test('[X16][X19] if an input stops, the view keeps its state and is not ready; a stopped view stays readable', async () => {
  const { world, view } = await live()
  await Promise.all([world.customers.stop(), world.clock.advance(1_000)])
  expect(view.health()).toMatchObject({ isLive: true, isReady: false })
  world.orderSource.put('3', order('a', 3))
  await world.settle()
  expect(view.get('3')).toEqual({ total: 3, name: 'A' })
  await Promise.all([view.stop(), world.clock.advance(1_000)])
  world.orderSource.put('3', order('a', 4))
  await world.settle()
  expect([view.get('3'), world.orders.get('3')?.total]).toEqual([{ total: 3, name: 'A' }, 4])
  expect(() => derive({ from: view, each: (row) => row })).toThrow('stopped')
})

describe('[X17] what happens to an input happens to the view in the same commit', () => {
  test('another epoch', async () => {
    const world = shop({ orders: ORDERS, customers: CUSTOMERS })
    const view = derive({ from: world.orders, each: (o) => ({ total: o.total }) })
    errorsOf(world.orders)
    await world.start(view)
    const old = world.orderSource.put('1', order('a', 5))
    await world.settle()
    const origins: unknown[] = []
    view.subscribe({
      add: ({ origin }) => void origins.push(origin),
      delete: ({ origin }) => void origins.push(origin),
    })
    await world.settle()
    origins.length = 0
    world.orderSource.restore([['9', order('z', 9)]])
    await world.clock.advance(10_000)
    expect([contentOf(view), new Set(origins)]).toEqual([new Map([['9', { total: 9 }]]), new Set(['relist'])])
    expect(await outcomeOf(view.waitFor(old), world.clock)).toMatchObject({ rejected: { code: 'EPOCH_CHANGED' } })
  })

  test('lost access', async () => {
    const world = shop({ orders: ORDERS, customers: CUSTOMERS, onAccessLost: 'clear' })
    const view = derive({ from: world.orders, each: (o) => ({ total: o.total }) })
    errorsOf(world.orders)
    await world.start(view)
    const deletes: unknown[] = []
    view.subscribe({ delete: ({ origin, gone }) => void deletes.push(`${origin} ${gone}`) })
    await world.settle()
    world.orderSource.fail(new SourceError('expired', { code: 'UNAUTHORIZED' }))
    world.orderSource.disconnect()
    await world.clock.advance(250)
    expect(deletes).toEqual(['access-lost unknown', 'access-lost unknown'])
    expect([view.size, view.health().isReady]).toEqual([0, false])
    await world.clock.advance(60_000)
    expect([view.size, view.health().isReady]).toEqual([2, true])
  })

  test('[X18] an invalid object: functions read what readers of the input read', async () => {
    const { world, view } = await live()
    world.customerSource.corrupt('a', new Error('bad'))
    await world.settle()
    expect([world.customers.invalid.size, view.get('1')?.name]).toEqual([1, 'A'])
    world.customerSource.delete('a')
    await world.settle()
    expect(view.get('1')?.name).toBeUndefined()
  })
})

test('[X20] a handler of an input that reads a view finds the change, and snapshots of one turn belong together', async () => {
  const { world, view } = await live()
  const seen: unknown[] = []
  const look = ({ key, object }: { readonly key: string; readonly object: Order }): void => {
    using before = world.orders.snapshot()
    using after = view.snapshot()
    seen.push([object.total, view.get(key)?.total, before.get(key)?.total, after.get(key)?.total])
  }
  world.orders.subscribe({ update: look })
  await world.settle()
  world.orderSource.put('1', order('a', 7))
  await world.settle()
  expect(seen).toEqual([[7, 7, 7, 7]])
})
