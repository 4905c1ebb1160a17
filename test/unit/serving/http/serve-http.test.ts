import { describe, expect, test, vi } from 'vitest'
import { serverSentEvents } from '../../../../serving/http/event-stream.js'
import { httpSource, serveHttp } from '../../../../serving/http/index.js'
import { createInformer, type IndexBuilder, OptionError } from '../../../../src/index.js'
import { memorySource, VirtualClock } from '../../../../testing/index.js'
import { type Account, bodyOf, fetchFrom, get, listOf, served, servedAccounts } from './mirror.js'

const accounts = Array.from({ length: 40 }, (_, i): readonly [string, Account] => [
  `${i}`,
  { tenant: i % 2 === 0 ? 'acme' : 'birch', balance: 100 },
])

/** Reads a body until it has this text, or until it ends. */
async function textUntil(body: ReadableStream<Uint8Array> | null, wanted: string): Promise<string> {
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  let text = ''
  while (!text.includes(wanted)) {
    const { value, done = true } = (await reader?.read()) ?? {}
    if (done) break
    text += decoder.decode(value, { stream: true })
  }
  return text
}

type Served = Pick<ReturnType<typeof servedAccounts>, 'mirror'>

async function watchOf({ mirror }: Served, init?: RequestInit): Promise<ReadableStream<Uint8Array> | null> {
  const { version } = await bodyOf(mirror(get('/version')))
  return (await mirror(get(`/watch?after=${version}`, init))).body
}

describe('the scope of a request', () => {
  const scope = (request: Request) => {
    const tenant = request.headers.get('x-tenant')
    return tenant === null ? Response.json({ error: 'no tenant' }, { status: 403 }) : { where: { tenant } }
  }

  test('[S6] selects by a Date of its own, which the program may change', async () => {
    const source = memorySource({ entries: Object.entries({ a: 5, b: 6 }) })
    const [first, second] = [new Date(5), new Date(5)]
    const dates = [first, second]
    const scope = () => ({ where: { at: dates.shift() } }) as {}
    await using days = served({ source, indexes: (ix) => ({ at: ix.equal((n: number) => new Date(n)) }) }, { scope })
    await days.mirror(get('/version'))
    first.setTime(6)
    expect((await listOf(days.mirror(get('/list')))).events.map(({ key }) => key)).toEqual(['a'])
  })

  test('selects the objects and the changes of a follower', async () => {
    await using all = servedAccounts(accounts, { scope })
    const follower = await all.joined({ headers: { 'x-tenant': 'acme' }, upstream: all.source })
    expect(follower.size).toBe(20)
    all.source.put('1', { tenant: 'acme', balance: 1 })
    all.source.put('3', { tenant: 'birch', balance: 3 })
    await follower.waitFor(all.source.put('0', { tenant: 'birch', balance: 0 }), { timeoutMs: 2_000 })
    expect([follower.has('0'), follower.has('1'), follower.has('3')]).toEqual([false, true, false])
    // Also the mark of a write outside the scope is reached.
    await follower.waitFor(all.source.put('3', { tenant: 'birch', balance: 4 }), { timeoutMs: 2_000 })
  })

  test('[V8] that changes takes the objects of the earlier one away', async () => {
    await using all = servedAccounts(accounts, { scope, watchMs: 100 })
    let tenant = 'acme'
    const follower = await all.joined({ headers: () => ({ 'x-tenant': tenant }) })
    tenant = 'birch'
    await vi.waitFor(() => expect(follower.get('1')).toBeDefined(), { timeout: 4_000 })
    expect([follower.by.tenant('acme'), follower.size]).toEqual([[], 20])
  })

  test('[V8] is another one if only the parts of a tuple differ, or the joined values are equal', async () => {
    type Pair = readonly [string, string]
    const pairs: Pair[] = Object.entries({ a: 'b', 'x,string y': 'z', x: 'y,string z', 'a,b': '', 'a","b': '' })
    const entries = [0, 1, 2, 2].map((nth, at) => [`${at}`, { pair: pairs[nth] as Pair }] as const)
    let pair: Pair = ['', '']
    const indexes = (ix: IndexBuilder<{ readonly pair: Pair }>) => ({ pair: ix.compound((item) => item.pair) })
    await using all = served({ source: memorySource({ entries }), indexes }, { scope: () => ({ where: { pair } }) })
    const sizes: number[] = []
    for (pair of pairs) sizes.push((await listOf(all.mirror(get('/list')))).size)
    expect(sizes).toEqual([1, 1, 2, 0, 0])
  })

  test('[V8] with a signal ends its watch when that aborts, and the follower asks again', async () => {
    const right = new AbortController()
    const { signal } = right
    await using all = servedAccounts(accounts, { scope: () => ({ where: { tenant: 'acme' }, signal }) })
    const follower = await all.joined()
    await vi.waitFor(() => expect(follower.status.state).toBe('live'))
    right.abort()
    await vi.waitFor(() => expect(follower.status.lastError?.code).toBe('UNAUTHORIZED'))
  })

  test('[V25] over the limit takes the place of the one that has had no watch for the longest time', async () => {
    await using all = servedAccounts(accounts, { scope, maxScopes: 2 })
    const listed = async (tenant: string) => await all.mirror(get('/list', { headers: { 'x-tenant': tenant } }))
    const follower = await all.joined({ headers: { 'x-tenant': 'acme' } })
    await vi.waitFor(() => expect(follower.status.state).toBe('live'))
    for (const tenant of ['x', 'y', 'z', 'birch']) {
      expect((await listOf(listed(tenant))).size).toBe(tenant === 'birch' ? 20 : 0)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    all.source.put('new', { tenant: 'acme', balance: 1 })
    await vi.waitFor(() => expect(follower.has('new')).toBe(true))
    expect(follower.status.reconnects).toBe(0)
  })

  test('[V25] over the limit is refused with 503, until another one is not used any more', async () => {
    await using all = servedAccounts(accounts, { scope, maxScopes: 1 })
    expect((await all.mirror(get('/list', { headers: { 'x-tenant': 'acme' } }))).status).toBe(200)
    const refused = await all.mirror(get('/list', { headers: { 'x-tenant': 'birch' } }))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  })

  test('with an unknown index, without a value for an index, or that is not an object, is a mistake that the server reports', async () => {
    using warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    for (const wrong of [{ where: { nothing: 1 } }, { where: { tenant: undefined } }, undefined]) {
      await using all = servedAccounts(accounts, { scope: () => wrong as {} })
      const response = await all.mirror(get('/list'))
      expect([response.status, await response.json()]).toEqual([
        500,
        { error: 'the request failed', code: 'UNAVAILABLE' },
      ])
    }
    expect(warned.mock.calls.map(([message]) => message)).toEqual([
      expect.stringContaining('there is no index "nothing"'),
      expect.stringContaining('no value for the index "tenant"'),
      expect.stringContaining('"scope" must return a plain object or a Response'),
    ])
  })
})

test('[V9] a list is encoded once for all followers that join', async () => {
  await using all = servedAccounts(accounts)
  await all.informer.synced()
  const snapshots = vi.spyOn(all.informer, 'snapshot')
  const followers = Array.from({ length: 50 }, () => all.follow())
  await Promise.all(followers.map((each) => each.synced()))
  all.source.put('0', { tenant: 'acme', balance: 0 })
  const late = all.follow()
  await late.fresh()
  expect(snapshots).toHaveBeenCalledTimes(1)
  expect(late.get('0')?.balance).toBe(0)
})

test('a list waits for the first list of the mirror', async () => {
  const source = memorySource<Account>({ entries: accounts })
  const informer = createInformer({ source })
  await using mirror = serveHttp(informer)
  const response = mirror(get('/list'))
  informer.start()
  expect((await response).status).toBe(200)
  await informer.stop()
})

describe('a watch', () => {
  test('[V2] sends a batch of large objects in parts of a bounded length', async () => {
    await using all = servedAccounts()
    const body = await watchOf(all)
    all.source.transaction((tx) => {
      for (let i = 0; i < 20; i++) tx.put(`${i}`, { tenant: 'x'.repeat(100_000), balance: i })
    })
    const lengths: number[] = []
    for await (const event of body === null ? [] : serverSentEvents(body)) {
      const isHeartbeat = event === undefined || event.data.length < 1_000
      if (isHeartbeat) continue
      lengths.push(event.data.length)
      if (event.type === 'batch') break
    }
    expect(lengths.length).toBeGreaterThan(3)
    expect(Math.max(...lengths)).toBeLessThan(700_000)
  })

  test('whose body has two reads pending delivers a batch to each', async () => {
    await using all = servedAccounts(accounts, { heartbeatMs: 60_000 })
    const body = await watchOf(all)
    const reader = body?.getReader()
    await reader?.read() // The first frame.
    const reads = [reader?.read(), reader?.read(), reader?.read()]
    const texts: string[] = []
    for (const [i, read] of reads.entries()) {
      all.source.put(`new ${i}`, { tenant: 'acme', balance: i })
      texts.push(new TextDecoder().decode((await read)?.value))
    }
    expect(texts).toEqual([0, 1, 2].map((i) => expect.stringContaining(`new ${i}`)))
  })

  test.each(['the request aborts', 'the client cancels'])('that %s is forgotten', async (how) => {
    await using all = servedAccounts(accounts)
    const closing = new AbortController()
    const body = await watchOf(all, { signal: closing.signal })
    if (how === 'the client cancels') await body?.cancel()
    else closing.abort()
    await all.informer.waitFor(all.source.put('0', { tenant: 'acme', balance: 0 }))
    expect(await textUntil(body, 'nothing')).not.toContain('batch')
  })

  test.each([0, 1])(
    '[V2] sends a large batch in parts, which a follower applies at once, also if it breaks %i times within them',
    async (breaks) => {
      await using all = servedAccounts([['0', { tenant: 'acme', balance: 0 }]])
      const fetch = fetchFrom(() => all.mirror)
      let [cuts, parts] = [breaks, 0]
      const follower = await all.joined({
        upstream: all.source,
        fetch: async (url, init) => {
          const response = await fetch(url, init)
          if (!url.includes('/watch')) return response
          let nth = 0
          const cutting = new TransformStream<Uint8Array, Uint8Array>({
            transform(chunk, controller) {
              const isPart = new TextDecoder().decode(chunk).includes('event: part')
              if (isPart) parts++
              if (isPart && ++nth === 2 && cuts-- > 0) controller.error(new TypeError('the connection was lost'))
              else controller.enqueue(chunk)
            },
          })
          return new Response(response.body?.pipeThrough(cutting) ?? null, response)
        },
      })
      const sizes = new Set<number>()
      const subscription = follower.subscribe({ add: () => void sizes.add(follower.size) })
      const mark = all.source.transaction((tx) => {
        for (let i = 1; i < 3_500; i++) tx.put(`${i}`, { tenant: 'acme', balance: i })
      })
      await subscription.waitFor(mark, { timeoutMs: 4_000 })
      expect(parts).toBeGreaterThan(1)
      expect([...sizes].filter((size) => size !== 1)).toEqual([3_500])
      expect(follower.status).toMatchObject({ relists: 0, reconnects: breaks })
    },
  )

  test('[V7] whose reader does not read ends with VERSION_EXPIRED, and others continue', async () => {
    await using all = servedAccounts(accounts, { historyBytes: 200_000 })
    const follower = await all.joined({ upstream: all.source })
    const slow = await watchOf(all)
    const value = { tenant: 'x'.repeat(1_000), balance: 0 }
    for (let i = 0; i < 600; i++) {
      all.source.put('0', { ...value, balance: i })
      if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await follower.waitFor(await all.source.head(), { timeoutMs: 4_000 })
    expect(follower.status.relists).toBe(0)
    const text = await textUntil(slow, 'event: error')
    expect(text).toContain('"code":"VERSION_EXPIRED"')
    expect(text.length).toBeLessThan(100_000)
  })

  test('has a bookmark in each heartbeat period, and ends with the mirror', async () => {
    await using all = servedAccounts(accounts, { heartbeatMs: 40 })
    expect(await textUntil(await watchOf(all), '"events":[]')).toContain('event: batch')
    const second = await watchOf(all)
    await all.informer.stop()
    expect(await textUntil(second, 'event: error')).toContain('"code":"STOPPED"')
    expect((await all.mirror(get('/list'))).status).toBe(503)
  })
})

describe('objects that JSON would change', () => {
  test('[V10] arrive as they are', async () => {
    const map = new Map<unknown, unknown>([[1, new Set(['a'])]])
    const plain = { list: [1, 'two', null, { three: true }], zero: -0, nan: Number.NaN, none: undefined }
    const values = { at: new Date(5), big: 2n ** 70n, bytes: new Uint8Array([1, 2, 255]), map, plain }
    const source = memorySource<object>({ entries: [['1', values]] })
    await using all = served({ source, freeze: false })
    const follower = await all.joined({ upstream: source })
    expect(follower.get('1')).toStrictEqual(values)
    await follower.waitFor(source.put('2', { ...values, more: [undefined] }))
    expect(follower.get('2')).toStrictEqual({ ...values, more: [undefined] })
  })

  test('[V10] that cannot be encoded are invalid in the follower, with the reason', async () => {
    class Money {}
    await using all = served({ source: memorySource<object>({ entries: [['1', { price: new Money() }]] }) })
    const follower = await all.joined()
    expect(follower.invalid.get('1')?.message).toContain('price is an instance of Money')
  })
})

describe('wrong requests and responses', () => {
  test('have errors that name the allowed requests', async () => {
    await using all = servedAccounts(accounts)
    const answers = async (path: string, init?: RequestInit) => {
      const response = await all.mirror(get(path, init))
      return [response.status, (await bodyOf(Promise.resolve(response))).error]
    }
    expect(await answers('/nothing')).toEqual([404, 'allowed are /list, /watch and /version'])
    expect(await answers('/list', { method: 'POST' })).toEqual([405, 'only GET is allowed'])
    expect(await answers('/watch')).toEqual([400, expect.stringContaining('"after" must be a version')])
    expect(await answers('/watch?after=h1.x.1.')).toEqual([400, expect.stringContaining('"after" must be a version')])
    const unknown = `h1.${'x'.repeat(22)}.0.`
    expect(await answers(`/watch?after=${unknown}`)).toEqual([410, expect.stringContaining('another server')])
  })

  test('of another server make the follower fail with a message that names the address', async () => {
    const page = async () => new Response('<html>log in</html>', { headers: { 'content-type': 'text/html' } })
    const from = httpSource({ url: 'http://user:secret@login.test/x', fetch: page })
    const follower = createInformer({ source: from }).start()
    const error: Error = await follower.synced().catch((thrown) => thrown)
    expect(error.message).toContain('"text/html" instead of "text/event-stream"; is serveHttp at http://login.test/x?')
    expect(error.message).not.toContain('secret')
    await follower.stop()
  })

  test('[A5] do not keep a follower whose function for headers never ends', async () => {
    const called = Promise.withResolvers<void>()
    const headers = (): Promise<{}> => new Promise(() => called.resolve())
    const source = httpSource({ url: 'http://mirror.test/accounts', headers })
    const follower = createInformer({ source, clock: new VirtualClock() }).start()
    await called.promise
    await follower.stop()
  })

  test('after close have the status 503', async () => {
    await using all = servedAccounts(accounts)
    await all.mirror.close()
    expect((await all.mirror(get('/list'))).status).toBe(503)
  })

  test('of the options name the option', () => {
    expect(() => httpSource({ url: 'nothing' })).toThrow(OptionError)
    expect(() => httpSource({} as { url: string })).toThrow('option "url" is missing')
    expect(() => httpSource({ url: 'http://a.test', upstream: {} as never })).toThrow('must have the method hasReached')
    expect(() => serveHttp({} as never)).toThrow('must be an informer')
    const informer = createInformer({ source: memorySource() })
    expect(() => serveHttp(informer, { watchMs: 0 })).toThrow('option "watchMs" must be a finite number above 0')
  })
})
