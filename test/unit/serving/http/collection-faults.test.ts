import { expect, onTestFinished, test, vi } from 'vitest'
import { memoryDatabase, memorySource } from '../../../../adapters/memory/index.js'
import { type HttpCollectionsOptions, httpCollections, httpSource, serveHttp } from '../../../../serving/http/index.js'
import { ServedMirror } from '../../../../serving/http/served-mirror.js'
import { splitSource } from '../../../../src/contract/split-source.js'
import type { IndexBuilder, Informer, InformerOptions, ListerWatcher } from '../../../../src/index.js'
import { createInformer, groupInformers, SourceError } from '../../../../src/index.js'
import { internalsOf } from '../../../../src/informer/internals.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'
import { FaultyDatabase } from '../../../support/histories.js'
import { SliceClock, sliceEachStep } from '../../../support/slice-clock.js'
import { fetchFrom, get, listOf, running } from './mirror.js'

interface Row {
  readonly tenant: string
}

type Handler = (request: Request) => Promise<Response>

const url = 'http://mirror.test/shop'
const acme = { tenant: 'acme' }

const mirrorOf = (source: InformerOptions<Row, object>['source'], given: Partial<InformerOptions<Row, object>> = {}) =>
  running(
    createInformer<Row, object>({
      source,
      indexes: (ix: IndexBuilder<Row>) => ({ tenant: ix.equal(({ tenant }) => tenant) }),
      ...given,
    }),
  )

/** Two collections of one history, each with one object, and informers of them. */
function shop(given: Partial<InformerOptions<Row, object>> = {}, rows: [string, Row][] = [['1', acme]]) {
  const database = memoryDatabase({ heartbeatMs: 200 })
  const sources = [database.collection<Row>('orders', rows), database.collection<Row>('limits', rows)] as const
  const orders = mirrorOf(sources[0], given)
  const limits = mirrorOf(sources[1], given)
  const upstream: HttpCollectionsOptions['upstream'] = {
    hasReached: (at, mark) => sources[0].hasReached?.(at, mark) === true,
  }
  return { database, sources, orders, limits, upstream }
}

/** Followers of two collections, and a group of them. */
function follow(handler: () => Handler, options: Partial<HttpCollectionsOptions> = {}) {
  const { collection } = httpCollections({ url, heartbeatMs: 200, fetch: fetchFrom(handler), ...options })
  const [orders, limits] = [mirrorOf(collection<Row>('orders')), mirrorOf(collection<Row>('limits'))]
  return { orders, limits, both: groupInformers([orders, limits]) }
}

test.each(['constructor', '__proto__'])('a collection may have the name "%s"', async (name) => {
  const { orders, limits } = shop()
  const mirror = serveHttp({ [name]: orders, limits })
  const follower = mirrorOf(httpCollections({ url, fetch: fetchFrom(() => mirror) }).collection<Row>(name))
  await follower.synced({ timeoutMs: 2_000 })
  expect(follower.size).toBe(1)
})

test('[V18] a scope that selects whole collections by their names has their invalid objects', async () => {
  const source = memorySource<Row>({ entries: [['1', { tenant: '' }]] })
  const transform = (row: Row): Row => {
    if (row.tenant === '') throw new Error('no tenant')
    return row
  }
  const orders = mirrorOf(source, { transform })
  const mirror = serveHttp(
    { orders, limits: mirrorOf(memorySource<Row>()) },
    { scope: () => ({ where: { orders: {}, limits: {} } }) },
  )
  expect((await listOf(mirror(get('/list')))).events.map(({ type }) => type)).toContain('invalid')
})

test('a frame of several collections compares invalid objects only if they have changed', async () => {
  const source = memorySource<Row>({ entries: [['1', acme]] })
  const transform = (): Row => {
    throw new Error('invalid')
  }
  const orders: Informer<unknown, object> = mirrorOf(source, { transform })
  await orders.synced()
  const mirror = new ServedMirror(new Map([['orders', orders]]), new VirtualClock())
  const { invalid } = mirror
  expect(mirror.invalid).toBe(invalid)
  source.put('2', acme)
  await vi.waitFor(() => expect([...mirror.invalid.keys()]).toEqual(['orders/1', 'orders/2']))
})

test('a scope with an unknown index of one collection leaves no subscription of another', async () => {
  const { orders, limits } = shop()
  using _ = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const mirror = serveHttp({ orders, limits }, { scope: () => ({ where: { orders: {}, limits: { other: 1 } } }) })
  expect((await mirror(get('/list'))).status).toBe(500)
  expect(orders.inspect().subscriptions.count).toBe(0)
})

test('[V29] a follower of a collection that is not served fails, and is not empty', async () => {
  const { orders, limits } = shop()
  let mirror: Handler = serveHttp({ orders, limits })
  const { collection } = httpCollections({ url, fetch: fetchFrom(() => mirror) })
  const follower = mirrorOf(collection<Row>('order'))
  await expect(follower.synced({ timeoutMs: 2_000 })).rejects.toThrow('the collection "order" is not served')
  mirror = serveHttp(orders)
  const ofOne = mirrorOf(collection<Row>('orders'))
  await expect(ofOne.synced({ timeoutMs: 2_000 })).rejects.toThrow('serves one informer: use httpSource')
})

test('a split source of one served informer has its objects', async () => {
  const informer = mirrorOf(memorySource<Row>({ entries: [['a/1', acme]] }))
  const mirror = serveHttp(informer)
  expect((await listOf(mirror(get('/list?collection=a')))).size).toBe(1)
  const source = httpSource({ url, fetch: fetchFrom(() => mirror) })
  const follower = mirrorOf(splitSource(source, (key) => key.split('/')[0]).collection<Row>('a'))
  await follower.synced({ timeoutMs: 2_000 })
  expect(follower.size).toBe(1)
})

test('[V28] the first list of an empty scope waits until later changes follow it', async () => {
  const clock = new SliceClock()
  const { database, sources, orders, limits } = shop({ clock, slices: sliceEachStep(2) }, [])
  orders.subscribe({ add() {} }, { where: { tenant: 'birch' } })
  await clock.advance(2_000)
  const mirror = serveHttp({ orders, limits }, { clock, scope: () => ({ where: { orders: acme, limits: {} } }) })
  const isRouting = (): boolean => internalsOf(orders)?.objects.isRouting === true
  clock.hold()
  database.commit((tx) => {
    for (let i = 0; i < 20; i++) tx.put(sources[0], `${i}`, { tenant: 'birch' })
  })
  await clock.advance(0)
  await clock.slices(isRouting)
  const first = mirror(get('/list'))
  await clock.slices(() => !isRouting())
  const second = mirror(get('/list'))
  await clock.advance(0)
  await clock.slices()
  const mark = database.commit((tx) => tx.put(sources[0], 'new', acme))
  await clock.release()
  await clock.advance(100)
  for (const list of [first, second]) {
    const { version, events } = await listOf(list)
    expect([version.endsWith(`.${mark}`), events.length]).toEqual([true, 1])
  }
  await Promise.all([mirror.close(), clock.advance(10_000)])
})

test('[V28] if a collection that has left shows another epoch, the mirror has no upstream version', async () => {
  const clock = new VirtualClock()
  onTestFinished(async () => void (await clock.advance(5_000)))
  const database = new FaultyDatabase({ holdMs: 1_000 })
  database.write({ orders: { 1: 1 }, limits: { 1: 1 } })
  const informers = ['orders', 'limits'].map((name) => {
    const informer = createInformer({ source: database.collection(name), clock })
    return [name, running(informer) as Informer<unknown, object>] as const
  })
  await clock.advance(2_000)
  const { promise, resolve } = Promise.withResolvers<void>()
  database.slow.set('limits', promise)
  database.database.restore((tx) => tx.put(database.inner('orders'), '1', { at: 9 }))
  await clock.advance(10_000)
  const mirror = new ServedMirror(new Map(informers), clock)
  expect([mirror.entry('orders/1')?.object, mirror.upstreamAt(mirror.version)]).toEqual([{ at: 9 }, ''])
  resolve()
})

test('[V6] if a collection of a server had left, a follower goes back at another server only as to another history', async () => {
  const source = memorySource<Row>({ entries: ['orders/1', 'limits/1'].map((key) => [key, acme]), heartbeatMs: 200 })
  const behind: ListerWatcher<unknown> = {
    name: 'behind',
    list: (context) => source.list(context),
    async *watch({ after, signal }) {
      yield { events: [], version: after }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
    hasReached: (at, mark) => source.hasReached(at, mark),
  }
  let isLost = false
  const [ahead, other] = [source, behind].map((each) => {
    const split = splitSource(each, (key) => key.split('/')[0])
    const inner = split.collection<Row>('limits')
    const list: typeof inner.list = (context) => {
      if (!isLost) return inner.list(context)
      throw new SourceError('the collection is lost', { code: 'NOT_FOUND' })
    }
    const [orders, limits] = [mirrorOf(split.collection<Row>('orders')), mirrorOf({ ...inner, list })]
    return { mirror: serveHttp({ orders, limits }, { heartbeatMs: 200 }), limits }
  })
  let handler = ahead?.mirror as Handler
  const { orders, both } = follow(() => handler, { upstream: source })
  const seen: string[] = []
  orders.on('error', ({ code }) => void seen.push(code))
  await both.synced({ timeoutMs: 5_000 })
  await other?.limits.synced()
  source.put('orders/2', acme)
  isLost = true
  ahead?.limits.relist().catch(() => {})
  source.put('orders/3', acme)
  await vi.waitFor(() => expect([orders.size, ahead?.limits.status.state]).toEqual([3, 'failed']))
  handler = other?.mirror as Handler
  await ahead?.mirror.close()
  await vi.waitFor(() => expect(orders.size).toBe(1), { timeout: 5_000 })
  expect(seen).toContain('EPOCH_CHANGED')
})

test('[V22] collections behind a balancer that alternates between servers are listed from one of them', async () => {
  const { orders, limits } = shop()
  const servers = [serveHttp({ orders, limits }), serveHttp({ orders, limits })]
  let requests = 0
  const { both } = follow(() => servers[requests++ % 2] as Handler)
  await both.synced({ timeoutMs: 5_000 })
})

test('[V8] no collection keeps objects of the scope that it had before another one was listed', async () => {
  const { orders, limits, upstream } = shop()
  let tenant = 'birch'
  const mirror = serveHttp({ orders, limits }, { scope: () => ({ where: { orders: { tenant }, limits: { tenant } } }) })
  const isListed = Promise.withResolvers<void>()
  let lists = 0
  const handler: Handler = async (request) => {
    if (request.url.includes('/list') && ++lists <= 2) {
      const isFirst = request.url.includes('collection=limits')
      if (!isFirst) await isListed.promise
      tenant = isFirst ? 'acme' : 'birch'
    }
    const response = await mirror(request)
    isListed.resolve()
    return response
  }
  const follower = follow(() => handler, { upstream })
  await follower.both.synced({ timeoutMs: 5_000 })
  expect([follower.orders.size, follower.limits.size]).toEqual([0, 0])
})

test('[V6] collections ask for their lists whether the server has ended their epoch', async () => {
  const { database, sources, orders, limits, upstream } = shop()
  const mirror = serveHttp({ orders, limits }, { heartbeatMs: 200 })
  const requests: string[] = []
  const handler: Handler = (request) => {
    requests.push(request.url)
    return mirror(request)
  }
  const follower = follow(() => handler, { upstream })
  await follower.both.synced({ timeoutMs: 5_000 })
  await vi.waitFor(() => expect(follower.limits.status.state).toBe('live'))
  requests.length = 0
  database.restore((tx) => tx.put(sources[0], '9', acme))
  await vi.waitFor(() => expect([follower.orders.has('9'), follower.limits.size]).toEqual([true, 0]), {
    timeout: 5_000,
  })
  const lists = requests.filter((each) => each.includes('/list'))
  expect(lists.filter((each) => !each.includes('ended='))).toEqual([])
})
