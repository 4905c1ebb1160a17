import { expect, onTestFinished, test, vi } from 'vitest'
import { memoryDatabase, memorySource } from '../../../../adapters/memory/index.js'
import { type HttpCollectionsOptions, httpCollections, httpSource, serveHttp } from '../../../../serving/http/index.js'
import { ServedMirror } from '../../../../serving/http/served-mirror.js'
import type { IndexBuilder, Informer } from '../../../../src/index.js'
import { createInformer, derive, groupInformers, OptionError } from '../../../../src/index.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'
import { ACCOUNTS, type Account, AMOUNT, BANK_TIMEOUT_MS, judgeBank } from '../../../support/bank.js'
import { FaultyDatabase } from '../../../support/histories.js'
import { sliceEachStep } from '../../../support/slice-clock.js'
import { fetchFrom, get, listOf, running } from './mirror.js'

interface Row {
  readonly tenant: string
  readonly n: number
}

const url = 'http://mirror.test/shop'

/** Two collections of one history, a view of them, and their server. */
function shop() {
  const database = memoryDatabase({ heartbeatMs: 200 })
  const sources = {
    orders: database.collection<Row>('orders', [['1', { tenant: 'acme', n: 1 }]]),
    limits: database.collection<Row>('limits', [['1', { tenant: 'birch', n: 1 }]]),
  }
  const mirrorOf = (source: (typeof sources)['orders']) =>
    running(createInformer<Row, object>({ source, indexes: (ix) => ({ tenant: ix.equal(({ tenant }) => tenant) }) }))
  const [orders, limits] = [mirrorOf(sources.orders), mirrorOf(sources.limits)]
  const sums = running(derive({ from: orders, reads: [limits], each: ({ n }, key) => n + (limits.get(key)?.n ?? 0) }))
  const mirror = serveHttp({ orders, limits, sums }, { heartbeatMs: 200 })
  const follow = (options: Partial<HttpCollectionsOptions> = {}, served = mirror) => {
    const followed = httpCollections({ url, heartbeatMs: 200, fetch: fetchFrom(() => served), ...options })
    const follower = <T>(name: string) =>
      running(createInformer<T, object, T>({ source: followed.collection<T>(name), freeze: true }))
    return {
      followed,
      orders: follower<Row>('orders'),
      limits: follower<Row>('limits'),
      sums: follower<number>('sums'),
    }
  }
  const write = (n: number): string =>
    database.commit((tx) => {
      for (const source of Object.values(sources)) tx.put(source, '1', { tenant: 'acme', n })
    })
  return { database, sources, orders, limits, sums, mirror, follow, write }
}

test('[V28] followers of several collections and of a view of them show one state of the server, and take its marks', async () => {
  const { sources, sums: view, follow, write } = shop()
  const upstream = sources.orders as never
  const { orders, limits, sums } = follow({ upstream })
  const fetch = fetchFrom(() => alone)
  const alone = serveHttp(view, { heartbeatMs: 200 })
  const single = running(createInformer({ source: httpSource<number>({ url, heartbeatMs: 200, fetch, upstream }) }))
  await groupInformers([orders, limits, sums, single]).synced({ timeoutMs: 5_000 })
  const seen = new Set<string>()
  const look = (): void => void seen.add([orders.get('1')?.n, limits.get('1')?.n, sums.get('1')].join())
  for (const each of [orders, limits]) each.subscribe({ add: look, update: look })
  sums.subscribe({ update: look })
  for (let n = 2; n <= 50; n++) {
    await limits.waitFor(write(n), { timeoutMs: 5_000 })
    look()
  }
  const wrong = [...seen].filter((each) => {
    const [order, limit, sum] = each.split(',').map(Number)
    return order !== limit || sum !== 2 * Number(order)
  })
  expect([wrong, orders.get('1')?.n, seen.size]).toEqual([[], 50, 50])
  await sums.fresh({ timeoutMs: 5_000 })
  await single.waitFor(write(51), { timeoutMs: 5_000 })
  expect(single.get('1')).toBe(102)
})

test('[V28] a large commit reaches the followers of a scope in one step, also if its changes are queued in slices', async () => {
  const database = memoryDatabase({ heartbeatMs: 200 })
  const keys = Array.from({ length: 1_000 }, (_, i) => `${i}`)
  const sources = [database.collection<Row>('orders'), database.collection<Row>('limits')] as const
  const write = (n: number): string =>
    database.commit((tx) => {
      for (const source of sources) for (const key of keys) tx.put(source, key, { tenant: 'acme', n })
    })
  write(0)
  const mirrorOf = (source: (typeof sources)[number]) => {
    const indexes = (ix: IndexBuilder<Row>) => ({ tenant: ix.equal(({ tenant }) => tenant) })
    return running(createInformer({ source, indexes, slices: sliceEachStep(50) }))
  }
  const [orders, limits] = [mirrorOf(sources[0]), mirrorOf(sources[1])]
  const where = { tenant: 'acme' }
  const mirror = serveHttp({ orders, limits }, { scope: () => ({ where: { orders: where, limits: where } }) })
  const shop = httpCollections({ url, fetch: fetchFrom(() => mirror), upstream: sources[0] as never })
  const followers = ['orders', 'limits'].map((name) =>
    running(createInformer({ source: shop.collection<Row>(name), freeze: true })),
  )
  await groupInformers(followers).synced({ timeoutMs: 10_000 })
  const seen = new Set<string>()
  const look = (): void => void seen.add(followers.flatMap((each) => [each.get('0')?.n, each.get('999')?.n]).join())
  for (const each of followers) each.subscribe({ update: look })
  for (let n = 1; n <= 3; n++) await followers[0]?.waitFor(write(n), { timeoutMs: 20_000 })
  await vi.waitFor(() => expect([...seen].toSorted()).toEqual(['1,1,1,1', '2,2,2,2', '3,3,3,3']))
}, 60_000)

test('[V28] if a collection has left its history, there is no upstream version of all', async () => {
  const clock = new VirtualClock()
  const database = new FaultyDatabase()
  const version = database.write({ orders: { 1: 1 }, limits: { 1: 1 } })
  const informers = ['orders', 'limits'].map((name) => {
    const informer = createInformer({ source: database.collection(name), clock })
    return [name, running(informer) as Informer<unknown, object>] as const
  })
  const [[, from], [, limits]] = informers as [(typeof informers)[0], (typeof informers)[0]]
  const view = running(derive({ from, reads: [limits], each: (row) => row }))
  onTestFinished(async () => void (await clock.advance(1_000)))
  await clock.advance(1_000)
  const mirror = new ServedMirror(new Map(informers), clock)
  const ofView = new ServedMirror(new Map([['', view]]), clock)
  expect([mirror.upstreamAt(mirror.version), ofView.upstreamAt(ofView.version)]).toEqual([version, version])
  database.lost.set('limits', 'NOT_FOUND')
  database.write({ orders: { 1: 2 }, limits: { 1: 2 } })
  await clock.advance(10)
  expect([mirror.entry('orders/1')?.object, mirror.upstreamAt(mirror.version)]).toEqual([{ at: 2 }, ''])
  expect([ofView.entry('1')?.object, ofView.upstreamAt(ofView.version)]).toEqual([{ at: 2 }, ''])
})

test(
  '[V28] of a bank all followers over HTTP see a constant sum, which followers of single collections do not',
  async () => {
    const database = memoryDatabase({ heartbeatMs: 200 })
    const rows = Array.from({ length: ACCOUNTS }, (_, i): [string, Account] => [
      `${i + 1}`,
      { id: i + 1, amount: AMOUNT },
    ])
    const sources = { savings: database.collection('savings', rows), checking: database.collection('checking', rows) }
    const upstream = {
      savings: running(createInformer({ source: sources.savings })),
      checking: running(createInformer({ source: sources.checking })),
    }
    const amounts = { savings: new Map<number, number>(), checking: new Map<number, number>() }
    let cut = new AbortController()
    const through = (mirror: (request: Request) => Promise<Response>) => async (address: string, init: RequestInit) =>
      await fetchFrom(() => mirror)(address, {
        ...init,
        signal: AbortSignal.any([cut.signal, init.signal ?? cut.signal]),
      })
    let both = serveHttp(upstream, { heartbeatMs: 200 })
    const together = httpCollections({
      url,
      heartbeatMs: 200,
      fetch: through((request) => both(request)),
      upstream: sources.savings as never,
    })
    await judgeBank(
      {
        together: (collection) => together.collection<Account>(collection),
        apart: (collection) =>
          httpSource<Account>({ url, heartbeatMs: 200, fetch: through(serveHttp(upstream[collection])) }),
        writer:
          async () =>
          async ({ from, to, debited, credited }) =>
            database.commit((tx) => {
              for (const [collection, id, by] of [
                [from, debited, -1],
                [to, credited, 1],
              ] as const) {
                const amount = (amounts[collection].get(id) ?? AMOUNT) + by
                amounts[collection].set(id, amount)
                tx.put(sources[collection], `${id}`, { id, amount })
              }
            }),
        faults: [
          async () => {
            await both.close()
            both = serveHttp(upstream, { heartbeatMs: 200 })
          },
          async () => {
            cut.abort()
            cut = new AbortController()
          },
          () => upstream.savings.relist(),
          async () => database.disconnect(),
        ],
        rows: async (collection) => upstream[collection].list().toSorted((a, b) => a.id - b.id),
      },
      onTestFinished,
      4,
      4,
    )
  },
  BANK_TIMEOUT_MS,
)

test('[V29] a scope of several collections selects the objects of each, and is refused if it names another one, or not each', async () => {
  const { orders, limits, follow } = shop()
  let where: object = { orders: { tenant: 'acme' }, limits: { tenant: 'acme' } }
  const mirror = serveHttp({ orders, limits }, { scope: () => ({ where }) as never })
  const follower = follow({}, mirror)
  await follower.orders.synced({ timeoutMs: 5_000 })
  expect([follower.orders.size, follower.limits.size]).toEqual([1, 0])
  where = { order: { tenant: 'acme' } }
  using warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  expect((await mirror(get('/list'))).status).toBe(500)
  expect(String(warned.mock.calls[0])).toContain('unknown option "order"; allowed are orders, limits')
  where = { orders: { tenant: 'acme' } }
  expect((await mirror(get('/list'))).status).toBe(500)
  expect(String(warned.mock.calls[1])).toContain('"limits" is missing; {} selects all its objects')
})

test('[V29] a list of one collection has no objects of others', async () => {
  const { orders, limits, mirror } = shop()
  await groupInformers([orders, limits]).synced()
  const { size, events } = await listOf(mirror(get('/list?collection=limits')))
  expect([size, events.map(({ key }) => key)]).toEqual([1, ['limits/1']])
  expect((await listOf(mirror(get('/list')))).events.map(({ key }) => key)).toEqual(['orders/1', 'limits/1', 'sums/1'])
})

test('an object that is invalid in one collection is invalid in its followers', async () => {
  const database = memoryDatabase({ heartbeatMs: 200 })
  const rows = database.collection<Row>('rows', [['1', { tenant: 'acme', n: 1 }]])
  const transform = (row: Row): Row => {
    if (row.n < 0) throw new Error('negative')
    return row
  }
  const informer = running(createInformer({ source: rows, transform }))
  const mirror = serveHttp({ rows: informer, other: running(createInformer({ source: memorySource<Row>() })) })
  const { collection } = httpCollections({ url, fetch: fetchFrom(() => mirror) })
  const follower = running(createInformer({ source: collection<Row>('rows') }))
  await follower.synced()
  database.commit((tx) => tx.put(rows, '1', { tenant: 'acme', n: -1 }))
  await vi.waitFor(() => expect([follower.invalid.has('1'), follower.get('1')?.n]).toEqual([true, 1]))
})

test('serveHttp and httpCollections throw an OptionError that names a wrong argument', () => {
  const { orders } = shop()
  expect(() => serveHttp({} as never)).toThrow(
    new OptionError('serveHttp: the first argument must be an informer, or an object of informers by name', {
      option: 'informer',
    }),
  )
  expect(() => serveHttp({ orders: {} as never })).toThrow('serveHttp: the collection "orders" must be an informer')
  expect(() => serveHttp({ 'a/b': orders })).toThrow('serveHttp: a collection: the name must be')
  expect(() => httpCollections({ url: 'x' })).toThrow('httpCollections: option "url" must be an address')
  expect(() => httpCollections({ url, holdMs: -1 })).toThrow('httpCollections: option "holdMs"')
  expect(() => httpCollections({ url }).collection('a/b')).toThrow('without "/"')
})
