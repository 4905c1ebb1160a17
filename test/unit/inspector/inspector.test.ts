import { once } from 'node:events'
import { type ClientRequest, type IncomingMessage, request as send } from 'node:http'
import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { type Inspector, type InspectorOptions, serveInspector } from '../../../inspector/index.js'
import { ObjectQueries } from '../../../inspector/object-query.js'
import { createInformer, type Informer } from '../../../src/index.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { blocksOf } from '../../support/documents.js'

interface Order {
  readonly tenant: string
  readonly total: number
  readonly kind?: string
  readonly data?: object
  readonly type?: string
}

const indexes = (ix: { equal: (of: (order: Order) => string | number) => unknown }) => ({
  tenant: ix.equal((order) => order.tenant),
  total: ix.equal((order) => order.total),
})

async function world(options: InspectorOptions = {}, isStarted = true) {
  const source = memorySource<Order>({
    entries: [
      ['a', { tenant: 'acme', total: 1 }],
      ['b', { tenant: 'acme', total: 2 }],
      ['c', { tenant: 'birch', total: 2 }],
      ['secret', { tenant: 'birch', total: 3, kind: 'Secret', data: { password: 'hunter2' } }],
    ],
  })
  const orders = createInformer({ name: 'orders', source, indexes })
  const served = await inspectorOf(orders, options)
  if (isStarted) await orders.start().synced()
  return { source, orders, ...served }
}

/** An inspector of one informer, and what sends requests to it. */
async function inspectorOf(informer: Informer<unknown, object>, options: InspectorOptions = {}) {
  const inspector = await serveInspector([informer], options)
  onTestFinished(async () => {
    await inspector.close()
    await informer.stop()
  })
  return { inspector, ...clientOf(inspector) }
}

type Headers = Readonly<Record<string, string>>

const PATHS = ['/', '/page.js', '/api/informers', '/api/session', '/api/changes']
const WEBSOCKET: Headers = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

function clientOf({ origin, token }: Inspector) {
  const bearer: Headers = { authorization: `Bearer ${token}` }
  const open = (path: string, headers: Headers = bearer, method = 'GET'): ClientRequest => {
    const request = send(`${origin}${path}`, { method, headers })
    request.end()
    return request
  }
  const ask = async (path: string, headers?: Headers, method?: string) => {
    const [response] = (await once(open(path, headers, method), 'response')) as [IncomingMessage]
    return { status: response.statusCode, headers: response.headers, body: await text(response) }
  }
  const json = async (path: string): Promise<unknown> => JSON.parse((await ask(path)).body)
  /** Reads the stream of changes until it has a text. */
  const changes = async (until: string, headers: Headers = {}, onOpen = (): void => {}): Promise<string> => {
    const request = open('/api/changes', { ...bearer, ...headers })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    onOpen()
    let received = ''
    for await (const part of response.setEncoding('utf8')) {
      received += part
      if (received.includes(until)) break
    }
    request.destroy()
    return received
  }
  return { open, ask, json, changes, bearer, host: origin.replace('http://', '') }
}

/** The addresses at which other machines find this one. */
function otherAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return all.filter(({ family, internal }) => family === 'IPv4' && !internal).map(({ address }) => address)
}

describe('a request to the inspector', () => {
  test('as the command line with curl in docs/how-to/inspector.md sends it returns the objects of the index', async () => {
    const { ask, inspector } = await world()
    const [block] = blocksOf(['docs/how-to/inspector.md']).filter(({ text }) => text.startsWith('curl '))
    const [, name = '', value = '', url = ''] = /^curl -H "(\w+): ([^"]+)" "([^"]+)"\n$/.exec(block?.text ?? '') ?? []
    const { pathname, search } = new URL(url)
    const { status, body } = await ask(`${pathname}${search}`, { [name]: value.replace('$TOKEN', inspector.token) })
    expect(status).toBe(200)
    expect(body).toMatch(/"a".*"b"/)
    expect(body).not.toContain('birch')
  })

  test.each<readonly [title: string, headers: (host: string) => Headers, status: number]>([
    ['with the Host of another site', (host) => ({ host: host.replace('127.0.0.1', 'evil.example') }), 421],
    ['with the Host of another port', () => ({ host: '127.0.0.1:1' }), 421],
    ['with a Host that ends like an allowed one', (host) => ({ host: `x.${host}` }), 421],
    ['with a Host that begins like an allowed one', (host) => ({ host: `${host}.evil.example` }), 421],
    [
      'with the Host 0.0.0.0, which browsers connect to this machine',
      (host) => ({ host: host.replace('127.0.0.1', '0.0.0.0') }),
      421,
    ],
    ['with a Host without the port', () => ({ host: '127.0.0.1' }), 421],
    ['with the Origin of another site', () => ({ origin: 'https://evil.example' }), 403],
    ['with the Origin null', () => ({ origin: 'null' }), 403],
    ['with the Origin of another port', () => ({ origin: 'http://127.0.0.1:1' }), 403],
    ['with the Origin of https at the same address', (host) => ({ origin: `https://${host}` }), 403],
    ['with an Origin that begins like its own', (host) => ({ origin: `http://${host}.evil.example` }), 403],
    ['that opens a WebSocket for another site', () => ({ ...WEBSOCKET, origin: 'https://evil.example' }), 403],
    ['that the browser marks as cross-site', () => ({ 'sec-fetch-site': 'cross-site' }), 403],
    ['that the browser marks as same-site', () => ({ 'sec-fetch-site': 'same-site' }), 403],
  ])('%s is refused, also with the token', async (_title, headers, status) => {
    const { ask, bearer, host } = await world()
    for (const path of PATHS) {
      const answer = await ask(path, { ...bearer, ...headers(host) })
      expect(answer.status, path).toBe(status)
      expect(answer.body, path).not.toContain('acme')
    }
  })

  test('at all addresses is answered at each of them, and at a host of the option `hosts`', async () => {
    const { ask, bearer, host } = await world({ host: '0.0.0.0', hosts: ['Admin.example'] })
    const [own = '127.0.0.1'] = otherAddresses()
    const statuses: unknown[] = []
    for (const name of [host.replace('0.0.0.0', own), 'admin.example', 'other.example'])
      statuses.push((await ask('/api/informers', { ...bearer, host: name })).status)
    expect(statuses).toEqual([200, 200, 421])
  })

  test.each([
    ['without a Host header in HTTP 1.0', 'HTTP/1.0', 421],
    ['without a Host header in HTTP 1.1', 'HTTP/1.1', 400],
    ['with an empty Host', 'HTTP/1.1\r\nHost:', 421],
  ])('%s is refused', async (_title, protocol, status) => {
    const { inspector, host } = await world()
    const socket = connect(Number(host.split(':')[1]), '127.0.0.1')
    const headers = `Authorization: Bearer ${inspector.token}\r\nConnection: close`
    socket.end(`GET /api/informers ${protocol}\r\n${headers}\r\n\r\n`)
    expect((await text(socket)).slice(0, 13)).toBe(`HTTP/1.1 ${status} `)
  })

  test('that opens a WebSocket of the same site is answered as a request for data, and needs the token', async () => {
    const { ask, bearer, host } = await world()
    const handshake = { ...WEBSOCKET, origin: `http://${host}` }
    expect((await ask('/api/informers', handshake)).status).toBe(401)
    expect((await ask('/api/informers', { ...handshake, ...bearer })).status).toBe(200)
  })

  test('to another address of this machine finds no server', async () => {
    const { host } = await world()
    const port = Number(host.split(':')[1])
    for (const address of ['127.0.0.2', ...otherAddresses()]) {
      const [error] = await once(connect({ port, host: address }), 'error')
      expect(Object(error).code, address).toBe('ECONNREFUSED')
    }
  })

  test('has security headers in its response, and never one that shares it with other sites', async () => {
    const { open, bearer, host } = await world()
    const cases: readonly (readonly [path: string, headers: Headers, method?: string])[] = [
      ...[...PATHS, '/api/object?key=a', '/metrics', '/missing'].map((path) => [path, bearer] as const),
      ['/', {}],
      ['/api/informers', {}],
      ['/api/informers', { ...bearer, host: 'evil.example' }],
      ['/api/informers', { ...bearer, origin: `http://${host}` }],
      ['/api/informers', { ...bearer, 'access-control-request-method': 'GET' }, 'OPTIONS'],
    ]
    for (const [path, headers, method] of cases) {
      const request = open(path, headers, method)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      request.destroy()
      expect(response.headers, path).toMatchObject({
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
          "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
      })
      expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  test.each(['HEAD', 'PATCH', 'TRACE', 'POST', 'PUT', 'DELETE', 'OPTIONS'])('by %s is refused', async (method) => {
    const { ask, bearer } = await world()
    const { status, headers } = await ask('/api/informers', bearer, method)
    expect(status).toBe(405)
    expect(headers['access-control-allow-origin']).toBeUndefined()
  })

  test.each<readonly [string, (token: string) => Headers]>([
    ['no token', () => ({})],
    ['a wrong token', (token) => ({ authorization: `Bearer ${'0'.repeat(token.length)}` })],
    ['a part of the token', (token) => ({ authorization: `Bearer ${token.slice(0, -1)}` })],
    ['a longer token', (token) => ({ authorization: `Bearer ${token}0` })],
    ['the token in another scheme', (token) => ({ authorization: `Basic ${token}` })],
    ['the token in another cookie', (token) => ({ cookie: `token=${token}; listwatch=${token}` })],
  ])('with %s gets no data', async (_title, headers) => {
    const { ask, inspector } = await world()
    // Addresses are logged: a token in the query does not count.
    const inQuery = `/api/informers?token=${inspector.token}`
    const others = '/api/informers /api/object?key=a /api/session /api/changes /metrics /other'.split(' ')
    for (const path of [...others, inQuery]) {
      const { status, body } = await ask(path, headers(inspector.token))
      expect(status, path).toBe(401)
      expect(body).toMatch(/^\{"error":"[^"]*token[^"]*"\}\n$/)
    }
  })

  test('needs a token of 128 random bits, which is in the fragment of the address and another one for each start', async () => {
    const { inspector } = await world()
    const { inspector: other } = await world()
    expect(inspector.token).toMatch(/^[0-9a-f]{32}$/)
    expect(other.token).not.toBe(inspector.token)
    expect(inspector.url).toBe(`${inspector.origin}/#token=${inspector.token}`)
  })

  test('with the cookie of its session is answered', async () => {
    const { ask } = await world()
    const { status, headers } = await ask('/api/session')
    expect(status).toBe(204)
    const [cookie = ''] = headers['set-cookie'] ?? []
    expect(cookie).toMatch(/^listwatch-\d+=[0-9a-f]{32}; Path=\/; HttpOnly; SameSite=Strict$/)
    expect((await ask('/api/informers', { cookie: `a=b; ${cookie.split(';')[0]}` })).status).toBe(200)
  })

  test('for the page needs no token, and has no data', async () => {
    const { status, body } = await (await world()).ask('/', {})
    expect(status).toBe(200)
    expect(body).not.toMatch(/acme|<script>|style=|onload/)
  })

  test.each(['/../package.json', '/%2e%2e/package.json', '/page/../../index.js', '//etc/passwd'])(
    'for %s reads no other file',
    async (path) => {
      const { ask } = await world()
      expect([401, 404]).toContain((await ask(path, {})).status)
    },
  )
})

describe('the inspector', () => {
  test('lists informers with their state', async () => {
    const { json } = await world()
    expect(await json('/api/informers')).toMatchObject([
      {
        name: 'orders',
        indexes: ['tenant', 'total'],
        size: 4,
        changes: 0,
        lagMs: null,
        proofAgeMs: expect.any(Number),
      },
    ])
  })

  test('[B31] has the age of the proof by the clock of the informer, also after the machine has slept', async () => {
    const clock = new VirtualClock(Date.now() - 8 * 3_600_000)
    const orders = createInformer({ name: 'slept', source: memorySource({}), clock }).start()
    const { json } = await inspectorOf(orders)
    await clock.advance(90_000)
    expect(await json('/api/informers')).toMatchObject([{ proofAgeMs: 90_000 }])
    await Promise.all([orders.stop(), clock.advance(1_000)])
  })

  test('returns objects by text and by indexes, in pages', async () => {
    const { json, ask } = await world()
    const keys = async (query: string): Promise<unknown> => {
      const { total, rows } = (await json(`/api/objects?${query}`)) as { total: number; rows: { key: string }[] }
      return [total, ...rows.map(({ key }) => key)]
    }
    expect(await keys('')).toEqual([4, 'a', 'b', 'c', 'secret'])
    expect(await keys('offset=1&limit=2')).toEqual([4, 'b', 'c'])
    expect(await keys('tenant=acme')).toEqual([2, 'a', 'b'])
    expect(await keys('tenant=acme&total=2')).toEqual([1, 'b'])
    expect(await keys('tenant=none')).toEqual([0])
    expect(await keys('q=BIRCH')).toEqual([2, 'c', 'secret'])
    expect(await keys('q=birch&total=2')).toEqual([1, 'c'])
    expect(await ask('/api/objects?city=x')).toMatchObject({
      status: 400,
      body: '{"error":"there is no index \\"city\\"; there are tenant, total"}\n',
    })
    expect((await ask('/api/objects?limit=-1')).status).toBe(400)
    expect((await ask('/api/objects?tenant=acme&tenant=birch')).status).toBe(400)
    expect((await ask('/api/objects?informer=other')).body).toContain('there is no informer')
    expect((await ask('/api/other')).status).toBe(404)
  })

  test('returns objects in the order of a field, those without it last, and the values of the wanted fields', async () => {
    const objects: [string, object][] = [
      ['1', { total: 20, at: new Date(0), customer: { name: 'Zoe', tags: ['x'] } }],
      ['2', { total: '9.5', customer: { name: 'ada' }, long: 'x'.repeat(1_000) }],
      ['10', { total: 3n, 'app.kubernetes.io/name': { dotted: true } }],
      ['3', { total: null }],
    ]
    const informer = createInformer({ source: memorySource<object>({ entries: objects }) })
    const { json, ask } = await inspectorOf(informer)
    await informer.start().synced()
    const keys = async (query: string): Promise<unknown> =>
      Object(await json(`/api/objects?${query}`)).rows.map(({ key }: { key: string }) => key)
    expect(await keys('')).toEqual(['1', '2', '3', '10'])
    expect(await keys('sort=-')).toEqual(['10', '3', '2', '1'])
    expect(await keys('sort=total')).toEqual(['10', '2', '1', '3'])
    expect(await keys('sort=-total')).toEqual(['1', '2', '10', '3'])
    expect(await keys('sort=customer.name')).toEqual(['2', '1', '3', '10'])
    expect(await keys('sort=customer.name&q=x&offset=1&limit=1')).toEqual(['1'])
    expect(await keys('sort=missing')).toEqual(['1', '2', '3', '10'])
    const fields = 'field=at&field=customer&field=app.kubernetes.io/name.dotted&field=long'
    expect(await json(`/api/objects?${fields}`)).toMatchObject({
      rows: [
        { key: '1', cells: ['1970-01-01T00:00:00.000Z', '{"name":"Zoe","tags":["x"]}', null, null] },
        { key: '2', cells: [null, '{"name":"ada"}', null, `${'x'.repeat(200)}…`] },
        { key: '3', cells: [null, null, null, null] },
        { key: '10', cells: [null, null, true, null] },
      ],
    })
    expect((await ask(`/api/objects?${'field=a&'.repeat(51)}`)).status).toBe(400)
  })

  test('searches without blocking the process, and does not repeat a long search for each change', async () => {
    const source = memorySource<Order>({
      entries: Array.from({ length: 40 }, (_, total): [string, Order] => [`x${total}`, { tenant: 'acme', total }]),
    })
    const slow = ({ tenant, total }: Order) => ({
      total,
      get tenant(): string {
        for (const until = performance.now() + 10; performance.now() < until; );
        return tenant
      },
    })
    await using informer = createInformer({ source, transform: slow, freeze: false, equals: () => false })
    await informer.start().synced()
    const queries = new ObjectQueries(informer, false)
    const search = (sort: string) =>
      queries.keys({ text: 'birch', values: new Map(), sort }, 10, new AbortController().signal)
    let turns = 0
    const counting = setInterval(() => turns++)
    expect(await search('')).toMatchObject({ total: 0, ageMs: 0 })
    clearInterval(counting)
    expect(turns).toBeGreaterThan(10)
    await informer.waitFor(source.put('x1', { tenant: 'birch', total: 1 }))
    expect(await search('')).toEqual({ keys: [], total: 0, isCut: false, ageMs: expect.any(Number) })
    expect((await search('')).ageMs).toBeGreaterThanOrEqual(400)
    expect(await search('total')).toMatchObject({ keys: ['x1'], total: 1, ageMs: 0 })
  })

  test('returns the fields of the objects, and which of them fit the columns of a table', async () => {
    const entries = Array.from({ length: 300 }, (_, n): [string, object] => [
      `shop/${n}`,
      {
        id: n,
        namespace: 'shop',
        kind: 'Order',
        uid: crypto.randomUUID(),
        customer: { name: `c${n}`, address: { city: n % 2 === 0 ? 'Oslo' : 'Porto' } },
        cents: `${n * 7}.50`,
        at: new Date(n),
        text: 'x'.repeat(100) + n,
        items: [n],
        ...(n < 10 ? { rare: n } : {}),
      },
    ])
    const informer = createInformer({ source: memorySource<object>({ entries }) })
    const { json } = await inspectorOf(informer)
    expect(await json('/api/fields')).toEqual([])
    await informer.start().synced()
    const fields = (await json('/api/fields')) as { path: string; type: string; isColumn: boolean }[]
    expect(fields.map(({ path, type }) => `${type} ${path}`).join(', ')).toBe(
      'number id, text namespace, text kind, other uid, text customer.name, text customer.address.city, ' +
        'number cents, date at, text text, other items, number rare',
    )
    const columns = fields.filter(({ isColumn }) => isColumn).map(({ path }) => path)
    expect(columns).toEqual(['customer.name', 'customer.address.city', 'cents', 'at'])
  })

  test('returns the digests of all objects, with a number that changes with each write', async () => {
    const { ask, source, orders } = await world()
    const lines = async (query: string): Promise<unknown[]> =>
      (await ask(`/api/digests?${query}`)).body
        .trimEnd()
        .split('\n')
        .map((line): unknown => JSON.parse(line))
    const [first, ...before] = await lines('')
    const [version] = orders.versions.values()
    expect(first).toEqual({
      informer: 'orders',
      versions: { memory: version },
      isSynced: true,
      showsSecrets: false,
      invalid: [],
    })
    expect(before).toEqual(['a', 'b', 'c', 'secret'].map((key) => [key, expect.any(String), expect.any(Number)]))
    expect((await lines('')).slice(1)).toEqual(before)
    const mark = source.put('a', { tenant: 'other', total: 1 })
    const [, changed, ...same] = await lines(`reached=${mark}`)
    expect(same).toEqual(before.slice(1))
    source.put('a', { tenant: 'acme', total: 1 })
    await orders.fresh()
    const [, again] = await lines('')
    const [[key, digest, write]] = before as [[string, string, number]]
    expect(again).toEqual([key, digest, expect.any(Number)])
    expect(changed).not.toMatchObject({ 1: digest })
    expect(again).not.toMatchObject({ 2: write })
  })

  test('answers 409 for a version of another history, and for an informer that was stopped', async () => {
    const { ask, source, orders } = await world()
    const mark = source.put('a', { tenant: 'other', total: 1 })
    orders.on('error', () => {})
    source.restore([])
    await orders.waitFor(source.put('b', { tenant: 'other', total: 1 }))
    expect(await ask(`/api/digests?reached=${encodeURIComponent(mark)}`)).toMatchObject({ status: 409 })
    await orders.stop()
    expect(await ask('/api/digests')).toMatchObject({ status: 409, body: expect.stringContaining('stopped') })
  })

  test('returns the values of indexes with their numbers of objects', async () => {
    const { json } = await world()
    expect(await json('/api/facets')).toMatchObject([
      {
        index: 'tenant',
        size: 2,
        largest: [
          { value: 'acme', count: 2 },
          { value: 'birch', count: 2 },
        ],
      },
      { index: 'total', size: 3 },
    ])
  })

  test('returns an object with its recent changes, field by field', async () => {
    const { json, source, orders } = await world()
    source.put('a', { tenant: 'acme', total: 10 })
    source.delete('b')
    await orders.fresh()
    await expect
      .poll(() => json('/api/object?key=a'))
      .toMatchObject({
        key: 'a',
        object: { tenant: 'acme', total: 10 },
        history: [{ type: 'update', differences: [{ path: ['total'], before: 1, after: 10 }] }],
      })
    await expect
      .poll(() => json('/api/object?key=b'))
      .toMatchObject({ object: null, history: [{ type: 'delete', object: { tenant: 'acme', total: 2 } }] })
  })

  test('continues after a request whose path is not valid', async () => {
    const { ask } = await world()
    expect(await ask('//', {})).toMatchObject({ status: 400 })
    expect((await ask('/api/informers')).status).toBe(200)
  })

  test('shows other objects and changes if one cannot be read', async () => {
    const broken = (): Order => ({
      tenant: 'acme',
      get total(): number {
        throw new Error('no total')
      },
    })
    const entries: [string, Order][] = [['a', { tenant: 'acme', total: 1 }]]
    const source = memorySource<Order>({ entries })
    const orders = createInformer({
      source,
      freeze: false,
      equals: () => false,
      transform: (order: Order) => (order.total < 0 ? broken() : order),
    })
    const { json, changes } = await inspectorOf(orders)
    await orders.start().synced()
    const received = await changes('"key":"c"', {}, () => {
      source.put('b', { tenant: 'acme', total: -1 })
      source.put('c', { tenant: 'acme', total: 3 })
    })
    expect(received).toContain('(cannot be shown: no total)')
    expect(await json('/api/objects?q=acme')).toMatchObject({ total: 2 })
    expect(await json('/api/objects')).toMatchObject({ total: 3 })
  })

  test('filters by an index that has the name of a parameter', async () => {
    const source = memorySource<Order>({
      entries: Object.entries({ a: { tenant: 'acme', total: 1 }, b: { tenant: 'birch', total: 2 } }),
    })
    const orders = createInformer({ source, indexes: (ix) => ({ limit: ix.equal((order: Order) => order.tenant) }) })
    const { json } = await inspectorOf(orders)
    await orders.start().synced()
    expect(await json('/api/objects?by.limit=birch&limit=5')).toMatchObject({ total: 1, rows: [{ key: 'b' }] })
  })

  test('has dates of indexes as ISO times, and selects by values of each type and by the start of a compound one', async () => {
    const entries: [string, Order][] = [
      ['a', { tenant: 'a, b', total: 1 }],
      ['b', { tenant: 'a, b', total: 2 }],
      ['c', { tenant: 'birch', total: 2 }],
    ]
    const informer = createInformer({
      source: memorySource<Order>({ entries }),
      indexes: (ix) => ({
        latest: ix.compound((order: Order) => [order.tenant, new Date(order.total)]),
        at: ix.ordered((order: Order) => new Date(order.total)),
        isLarge: ix.equal((order: Order) => order.total > 1),
        big: ix.equal((order: Order) => BigInt(order.total) + 2n ** 60n),
      }),
    })
    const { json } = await inspectorOf(informer)
    await informer.start().synced()
    const [first, second] = ['1970-01-01T00:00:00.001Z', '1970-01-01T00:00:00.002Z']
    expect(await json('/api/facets')).toMatchObject([
      { index: 'latest', size: 3, largest: [{ value: `a, b, ${first}` }, { value: `a, b, ${second}` }, { count: 1 }] },
      { index: 'at', largest: [{ value: second, count: 2 }, { value: first }] },
      { index: 'isLarge', largest: [{ value: 'true', count: 2 }, { value: 'false' }] },
      { index: 'big', largest: [{ value: '1152921504606846978' }, { count: 1 }] },
    ])
    for (const [query, total] of [
      ['latest=a, b', 2],
      [`latest=a, b, ${second}`, 1],
      ['latest=a, b, other', 0],
      [`at=${second}`, 2],
      ['isLarge=true', 2],
      ['big=1152921504606846978', 2],
      ['big=x', 0],
    ] as const)
      expect(await json(`/api/objects?${encodeURI(query)}`), query).toMatchObject({ total })
  })

  test('does not count the values of a large sorted index, which would sort it', async () => {
    const entries = Array.from({ length: 100_001 }, (_, total): [string, Order] => [`x${total}`, { tenant: '', total }])
    const orders = createInformer({
      source: memorySource<Order>({ entries }),
      indexes: (ix) => ({ total: ix.ordered((order: Order) => order.total) }),
    })
    onTestFinished(() => orders.stop())
    await orders.start().synced()
    const facets = await new ObjectQueries(orders, false).facets(new AbortController().signal)
    expect(facets).toEqual([{ index: 'total', size: null, largest: [] }])
    expect(orders.inspect().indexes.first).toMatchObject([{ values: null }])
  })

  test.each(['__proto__', 'constructor', 'toString', 'by.__proto__'])('%s is not an index', async (name) => {
    const { ask } = await world()
    const { status, body } = await ask(`/api/objects?${name}=x`)
    expect({ status, body }).toEqual({ status: 400, body: expect.stringContaining('there is no index') })
  })

  test('hides the values of a Secret, and does not search in them', async () => {
    const { ask, json } = await world()
    expect((await ask('/api/object?key=secret')).body).toContain('(hidden)')
    expect(await json('/api/objects?q=hunter2')).toMatchObject({ total: 0 })
    const rows = (await json('/api/objects?field=data&field=data.password&limit=500')) as { rows: object[] }
    expect(rows.rows.at(-1)).toEqual({ key: 'secret', cells: ['{"password":"(hidden)"}', '(hidden)'] })
    const shown = await world({ showSecrets: true })
    expect((await shown.ask('/api/object?key=secret')).body).toContain('hunter2')
  })

  test('does not sort by hidden values of a Secret', async () => {
    const entries = ['b', 'c', 'a'].map((password, nth): [string, object] => [
      `${nth}`,
      { kind: 'Secret', data: { password } },
    ])
    const keys = async (options: InspectorOptions): Promise<unknown> => {
      const informer = createInformer({ source: memorySource<object>({ entries }) })
      const { json } = await inspectorOf(informer, options)
      await informer.start().synced()
      return Object(await json('/api/objects?sort=data.password')).rows.map(({ key }: { key: string }) => key)
    }
    expect(await keys({})).toEqual(['0', '1', '2'])
    expect(await keys({ showSecrets: true })).toEqual(['2', '0', '1'])
  })

  test('streams changes, and resumes after the last one, or from the start if that is of an earlier run', async () => {
    const { changes, source } = await world()
    source.put('a', { tenant: 'acme', total: 10 })
    expect(await changes('"after":10')).toMatch(
      /event: sample\ndata: .*"silentMs":\d.*\n[\s\S]*id: 1\nevent: changes\n/,
    )
    source.put('a', { tenant: 'acme', total: 11 })
    const resumed = await changes('"after":11', { 'last-event-id': '1' })
    expect(resumed).toContain('id: 2\n')
    expect(resumed).not.toContain('"after":10')
    expect(await changes('"after":11', { 'last-event-id': '99' })).toContain('"after":10')
  })

  test('has the metrics of Prometheus', async () => {
    const { ask } = await world()
    const { headers, body } = await ask('/metrics')
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(body).toMatch(/^listwatch_objects\{[^}]*informer="orders"[^}]*\} 4$/m)
  })

  test('works before and during the first list, and after the stop of the informer', async () => {
    const { json, orders } = await world({}, false)
    expect(await json('/api/informers')).toMatchObject([{ state: 'idle', size: 0, proofAgeMs: null }])
    expect(await json('/api/objects')).toMatchObject({ total: 0, rows: [] })
    expect(await json('/api/status')).toMatchObject({ state: 'idle' })
    await orders.start().synced()
    expect(await json('/api/objects')).toMatchObject({ total: 4 })
    await orders.stop()
    expect(await json('/api/informers')).toMatchObject([{ state: 'stopped', size: 4 }])
    expect(await json('/api/objects?tenant=acme')).toMatchObject({ total: 2 })
    expect(await json('/api/status')).toMatchObject({ state: 'stopped' })
  })

  test('with an informer instead of an array is a TypeError that says so', async () => {
    const informer = createInformer({ source: memorySource<Order>() })
    await expect(serveInspector(informer as never)).rejects.toThrow(
      new TypeError('serveInspector: the first argument must be an array of informers'),
    )
  })

  test.each([undefined, null, 1, 'orders', {}, []])('with %j as an informer is a TypeError', async (other) => {
    await expect(serveInspector([other] as never)).rejects.toThrow(
      new TypeError('serveInspector: an informer that createInformer returned is needed'),
    )
  })

  test('leaves nothing behind if a member is not an informer that can be shown', async () => {
    const { orders, inspector } = await world()
    const stopped = createInformer({ source: memorySource<Order>(), name: 'stopped' })
    await stopped.stop()
    await inspector.close()
    const port = Number(new URL(inspector.origin).port)
    for (const informers of [
      [orders, stopped],
      [orders, Object({})],
    ])
      await expect(serveInspector(informers, { port })).rejects.toThrow()
    expect(orders.inspect().subscriptions.count).toBe(0)
    const again = await serveInspector([orders, orders], { port })
    expect(orders.inspect().subscriptions.count).toBe(1)
    await expect(serveInspector([orders], { port })).rejects.toThrow('EADDRINUSE')
    expect(orders.inspect().subscriptions.count).toBe(1)
    await again.close()
    expect(orders.inspect().subscriptions.count).toBe(0)
  })

  test('answers at an address that URLs write in another way', async () => {
    const inspector = await serveInspector([], { host: '::FFFF:127.0.0.1' })
    onTestFinished(() => inspector.close())
    expect(inspector.origin).toMatch(/^http:\/\/\[::ffff:7f00:1\]:\d+$/)
    expect((await clientOf(inspector).ask('/')).status).toBe(200)
  })

  test('closes with streams that are open, and its subscriptions end', async () => {
    const { open, orders, inspector } = await world()
    const request = open('/api/changes')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.resume()
    const ended = Promise.race([once(response, 'end'), once(response, 'error'), once(response, 'aborted')])
    expect(orders.inspect().subscriptions.count).toBe(1)
    await inspector.close()
    await ended
    expect(orders.inspect().subscriptions.count).toBe(0)
  })

  test.each<readonly [InspectorOptions, string]>([
    [{ port: 70_000 }, 'option "port" must be a whole number from 0 to 65535, got 70000'],
    [
      { token: 'short' },
      'option "token" must be a string of at least 16 letters, digits, "_", ".", "~" or "-", got a string',
    ],
    [Object({ ports: 1 }), 'unknown option "ports"; allowed are port, host, hosts, token, showSecrets'],
  ])('rejects %o', async (options, message) => {
    await expect(serveInspector([], options)).rejects.toThrow(`serveInspector: ${message}`)
  })
})
