import { describe, expect, test, vi } from 'vitest'
import { serverSentEvents } from '../../../../adapters/http/event-stream.js'
import { httpSource, serveMirror } from '../../../../adapters/http/index.js'
import { createInformer, OptionError } from '../../../../src/index.js'
import { memorySource } from '../../../../testing/index.js'
import { type Account, fetchFrom, servedAccounts } from './mirror.js'

const accounts = Array.from({ length: 40 }, (_, i): readonly [string, Account] => [
  `${i}`,
  { tenant: i % 2 === 0 ? 'acme' : 'birch', balance: 100 },
])

const get = (path: string, init?: RequestInit): Request => new Request(`http://mirror.test/accounts${path}`, init)

interface ResponseBody {
  readonly version: string
  readonly chunks: readonly string[]
  readonly size: number
  readonly error: string
}

async function bodyOf(response: Promise<Response>): Promise<ResponseBody> {
  return (await (await response).json()) as ResponseBody
}

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

describe('the scope of a request', () => {
  const scope = (request: Request) => {
    const tenant = request.headers.get('x-tenant')
    return tenant === null ? Response.json({ error: 'no tenant' }, { status: 403 }) : { where: { tenant } }
  }

  test('selects the objects and the changes of a follower', async () => {
    await using served = servedAccounts(accounts, { scope })
    const follower = served.follow({ headers: { 'x-tenant': 'acme' }, upstream: served.source })
    await follower.synced()
    expect(follower.size).toBe(20)
    served.source.put('1', { tenant: 'acme', balance: 1 })
    served.source.put('3', { tenant: 'birch', balance: 3 })
    await follower.waitFor(served.source.put('0', { tenant: 'birch', balance: 0 }), { timeoutMs: 2_000 })
    expect([follower.has('0'), follower.has('1'), follower.has('3')]).toEqual([false, true, false])
  })

  test('does not hide marks of writes outside the scope', async () => {
    await using served = servedAccounts(accounts, { scope })
    const follower = served.follow({ headers: { 'x-tenant': 'acme' }, upstream: served.source })
    await follower.synced()
    await follower.waitFor(served.source.put('3', { tenant: 'birch', balance: 3 }), { timeoutMs: 2_000 })
    expect(follower.size).toBe(20)
  })

  test('that is refused makes the follower fail with UNAUTHORIZED', async () => {
    await using served = servedAccounts(accounts, { scope })
    await expect(served.follow().synced()).rejects.toMatchObject({
      code: 'UNAUTHORIZED',
      message: expect.stringContaining('no tenant'),
    })
  })

  test('[V8] that changes takes the objects of the earlier one away', async () => {
    await using served = servedAccounts(accounts, { scope, watchMs: 100 })
    let tenant = 'acme'
    const follower = served.follow({ headers: () => ({ 'x-tenant': tenant }) })
    await follower.synced()
    tenant = 'birch'
    await vi.waitFor(() => expect(follower.get('1')).toBeDefined(), { timeout: 4_000 })
    expect(follower.by.tenant('acme')).toEqual([])
    expect(follower.size).toBe(20)
  })

  test('[V8] protects the chunks of a list too', async () => {
    await using served = servedAccounts(accounts, { scope })
    const headers = { 'x-tenant': 'acme' }
    const { chunks } = await bodyOf(served.mirror(get('/list', { headers })))
    expect((await served.mirror(get(`/list/${chunks[0]}`, { headers }))).status).toBe(200)
    expect((await served.mirror(get(`/list/${chunks[0]}`))).status).toBe(403)
    expect((await served.mirror(get(`/list/${chunks[0]}`, { headers: { 'x-tenant': 'birch' } }))).status).toBe(410)
  })

  test('without a value for an index is a mistake, and does not serve all objects', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    await using served = servedAccounts(accounts, { scope: () => ({ where: { tenant: undefined as never } }) })
    expect((await served.mirror(get('/list'))).status).toBe(500)
    expect(warned).toHaveBeenCalledWith(expect.stringContaining('no value for the index "tenant"'), expect.anything())
    warned.mockRestore()
  })

  test('is another one if only the parts of a tuple differ', async () => {
    const source = memorySource<{ readonly pair: readonly [string, string] }>({
      entries: [['1', { pair: ['a', 'b'] }]],
    })
    const informer = createInformer({ source, indexes: (ix) => ({ pair: ix.compound(({ pair }) => pair) }) }).start()
    const pairs: (readonly [string, string])[] = [
      ['a', 'b'],
      ['a,b', ''],
      ['a","b', ''],
    ]
    let pair = pairs[0] ?? ['', '']
    await using mirror = serveMirror(informer, { scope: () => ({ where: { pair } }) })
    const sizes: number[] = []
    for (pair of pairs) sizes.push((await bodyOf(mirror(get('/list')))).size)
    expect(sizes).toEqual([1, 0, 0])
    await informer.stop()
  })

  test('over the limit is refused with 503, until another one is not used any more', async () => {
    await using served = servedAccounts(accounts, { scope, maxScopes: 1 })
    expect((await served.mirror(get('/list', { headers: { 'x-tenant': 'acme' } }))).status).toBe(200)
    const refused = await served.mirror(get('/list', { headers: { 'x-tenant': 'birch' } }))
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  })

  test('with an unknown index, or that is not an object, is a mistake that the server reports', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    for (const wrong of [{ where: { nothing: 1 } }, undefined]) {
      await using served = servedAccounts(accounts, { scope: () => wrong as {} })
      const response = await served.mirror(get('/list'))
      expect([response.status, await response.json()]).toEqual([
        500,
        { error: 'the request failed', code: 'UNAVAILABLE' },
      ])
    }
    expect(warned.mock.calls.map(([message]) => message)).toEqual([
      expect.stringContaining('there is no index "nothing"'),
      expect.stringContaining('"scope" must return a plain object or a Response'),
    ])
    warned.mockRestore()
  })
})

describe('a list', () => {
  test('[V9] is encoded once for all followers that join', async () => {
    await using served = servedAccounts(accounts)
    await served.informer.synced()
    const snapshots = vi.spyOn(served.informer, 'snapshot')
    const followers = Array.from({ length: 50 }, () => served.follow())
    await Promise.all(followers.map((each) => each.synced()))
    served.source.put('0', { tenant: 'acme', balance: 0 })
    const late = served.follow()
    await late.fresh()
    expect(snapshots).toHaveBeenCalledTimes(1)
    expect(late.get('0')?.balance).toBe(0)
  })

  test('[V1] is one state of the mirror, whatever is written meanwhile', async () => {
    await using served = servedAccounts(accounts, { historyBytes: 1 << 20 })
    let isWriting = true
    let seed = 1
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647
      return seed % below
    }
    const transfers = (async () => {
      const balances = new Map(accounts.map(([key, { balance }]) => [key, balance]))
      while (isWriting) {
        served.source.transaction((tx) => {
          const [from, to] = [`${random(40)}`, `${random(40)}`]
          balances.set(from, (balances.get(from) ?? 0) - 1)
          balances.set(to, (balances.get(to) ?? 0) + 1)
          for (const key of [from, to]) tx.put(key, { tenant: 'acme', balance: balances.get(key) ?? 0 })
        })
        if (random(3) === 0) await new Promise((resolve) => setTimeout(resolve, 0))
      }
    })()
    for (let i = 0; i < 15; i++) {
      const follower = served.follow()
      const sums = new Set<number>()
      const sum = (): number => follower.list().reduce((total, { balance }) => total + balance, 0)
      for await (const _batch of follower.changes()) {
        sums.add(sum())
        if (sums.size > 1 || follower.status.state === 'live') break
      }
      expect(sums).toEqual(new Set([4_000]))
      await follower.stop()
    }
    isWriting = false
    await transfers
  })

  test('waits for the first list of the mirror', async () => {
    const source = memorySource<Account>({ entries: accounts })
    const informer = createInformer({ source })
    await using mirror = serveMirror(informer)
    const response = mirror(get('/list'))
    informer.start()
    expect((await response).status).toBe(200)
    await informer.stop()
  })
})

describe('a watch', () => {
  test('[V2] sends a large batch in parts, which a follower applies at once', async () => {
    await using served = servedAccounts([['0', { tenant: 'acme', balance: 0 }]])
    const follower = served.follow({ upstream: served.source })
    await follower.synced()
    const sizes: number[] = []
    const subscription = follower.subscribe({ add: () => void sizes.push(follower.size) })
    const mark = served.source.transaction((tx) => {
      for (let i = 1; i < 3_500; i++) tx.put(`${i}`, { tenant: 'acme', balance: i })
    })
    await subscription.waitFor(mark, { timeoutMs: 4_000 })
    expect(follower.size).toBe(3_500)
    expect(new Set(sizes.slice(1))).toEqual(new Set([3_500]))
  })

  test('[V2] sends a batch of large objects in parts of a bounded length', async () => {
    await using served = servedAccounts()
    const { version } = await bodyOf(served.mirror(get('/version')))
    const { body } = await served.mirror(get(`/watch?after=${version}`))
    served.source.transaction((tx) => {
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

  test('that is not complete yet does not change the version of a list', async () => {
    await using served = servedAccounts([['0', { tenant: 'acme', balance: 0 }]])
    await bodyOf(served.mirror(get('/list')))
    const before = (await bodyOf(served.mirror(get('/version')))).version
    const mark = served.source.transaction((tx) => {
      for (let i = 1; i < 30_000; i++) tx.put(`${i}`, { tenant: 'acme', balance: i })
    })
    const seen = new Set<string>()
    while (!seen.has(mark)) {
      const { version } = await bodyOf(served.mirror(get('/list')))
      const [, sequence, upstream = ''] = /^h1\..{22}\.(\d+)\.(.*)$/.exec(version) ?? []
      if (upstream === mark) expect(Number(sequence)).toBeGreaterThanOrEqual(30)
      seen.add(upstream)
      await new Promise((resolve) => setTimeout(resolve, 0))
    }
    expect(before).not.toContain(mark)
  })

  test('whose body has two reads pending delivers a batch to each', async () => {
    await using served = servedAccounts(accounts, { heartbeatMs: 60_000 })
    const { version } = await bodyOf(served.mirror(get('/version')))
    const { body } = await served.mirror(get(`/watch?after=${version}`))
    const reader = body?.getReader()
    const reads = [reader?.read(), reader?.read(), reader?.read()]
    const texts: string[] = []
    for (const [i, read] of reads.entries()) {
      served.source.put(`new ${i}`, { tenant: 'acme', balance: i })
      texts.push(new TextDecoder().decode((await read)?.value))
    }
    expect(texts).toEqual([0, 1, 2].map((i) => expect.stringContaining(`new ${i}`)))
  })

  test('that the request aborts is forgotten, even if its body is not cancelled', async () => {
    await using served = servedAccounts(accounts)
    const { version } = await bodyOf(served.mirror(get('/version')))
    const closing = new AbortController()
    const { body } = await served.mirror(get(`/watch?after=${version}`, { signal: closing.signal }))
    closing.abort()
    expect(await textUntil(body, 'nothing')).toBe('')
  })

  test('[V2] that breaks within the parts of a batch is resumed before that batch', async () => {
    await using served = servedAccounts([['0', { tenant: 'acme', balance: 0 }]])
    const fetch = fetchFrom(() => served.mirror)
    let cuts = 1
    const follower = served.follow({
      upstream: served.source,
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        if (!url.includes('/watch') || cuts === 0) return response
        let parts = 0
        const cutting = new TransformStream<Uint8Array, Uint8Array>({
          transform(chunk, controller) {
            if (new TextDecoder().decode(chunk).includes('event: part') && ++parts === 2) {
              cuts--
              controller.error(new TypeError('the connection was lost'))
            } else controller.enqueue(chunk)
          },
        })
        return new Response(response.body?.pipeThrough(cutting) ?? null, response)
      },
    })
    await follower.synced()
    const sizes = new Set<number>()
    const subscription = follower.subscribe({ add: () => void sizes.add(follower.size) })
    const mark = served.source.transaction((tx) => {
      for (let i = 1; i < 3_500; i++) tx.put(`${i}`, { tenant: 'acme', balance: i })
    })
    await subscription.waitFor(mark, { timeoutMs: 4_000 })
    expect(cuts).toBe(0)
    expect([...sizes].filter((size) => size !== 1)).toEqual([3_500])
    expect(follower.status.relists).toBe(0)
  })

  test('[V7] whose reader does not read ends with VERSION_EXPIRED, and others continue', async () => {
    await using served = servedAccounts(accounts, { historyBytes: 200_000 })
    const follower = served.follow({ upstream: served.source })
    await follower.synced()
    const { version } = await bodyOf(served.mirror(get('/version')))
    const slow = await served.mirror(get(`/watch?after=${version}`))
    const value = { tenant: 'x'.repeat(1_000), balance: 0 }
    for (let i = 0; i < 600; i++) {
      served.source.put('0', { ...value, balance: i })
      if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await follower.waitFor(await served.source.head(), { timeoutMs: 4_000 })
    expect(follower.status.relists).toBe(0)
    const text = await textUntil(slow.body, 'event: error')
    expect(text).toContain('"code":"VERSION_EXPIRED"')
    expect(text.length).toBeLessThan(100_000)
  })

  test('has a bookmark in each heartbeat period, and ends with the mirror', async () => {
    await using served = servedAccounts(accounts, { heartbeatMs: 40 })
    const { version } = await bodyOf(served.mirror(get('/version')))
    const { body } = await served.mirror(get(`/watch?after=${version}`))
    expect(await textUntil(body, '"events":[]')).toContain('event: batch')
    const { body: second } = await served.mirror(get(`/watch?after=${version}`))
    await served.informer.stop()
    expect(await textUntil(second, 'event: error')).toContain('"code":"STOPPED"')
  })

  test('that the client cancels is forgotten', async () => {
    await using served = servedAccounts(accounts)
    const { version } = await bodyOf(served.mirror(get('/version')))
    const { body } = await served.mirror(get(`/watch?after=${version}`))
    await body?.cancel()
    served.source.put('0', { tenant: 'acme', balance: 0 })
    await served.informer.waitFor(await served.source.head())
  })
})

describe('objects that JSON would change', () => {
  test('[V10] arrive as they are', async () => {
    const values = {
      at: new Date(5),
      big: 2n ** 70n,
      bytes: new Uint8Array([1, 2, 255]),
      zero: -0,
      nan: Number.NaN,
      none: undefined,
      map: new Map<unknown, unknown>([[1, new Set(['a'])]]),
      plain: { list: [1, 'two', null, { three: true }] },
    }
    const source = memorySource<object>({ entries: [['1', values]] })
    const informer = createInformer({ source, freeze: false }).start()
    await using mirror = serveMirror(informer)
    const from = httpSource<object>({ url: 'http://mirror.test', fetch: fetchFrom(() => mirror), upstream: source })
    const follower = createInformer({ source: from, freeze: false }).start()
    await follower.synced()
    expect(follower.get('1')).toStrictEqual(values)
    await follower.waitFor(source.put('2', { ...values, more: [undefined] }))
    expect(follower.get('2')).toStrictEqual({ ...values, more: [undefined] })
    await follower.stop()
    await informer.stop()
  })

  test('[V10] that cannot be encoded are invalid in the follower, with the reason', async () => {
    class Money {}
    const source = memorySource<object>({ entries: [['1', { price: new Money() }]] })
    const informer = createInformer({ source }).start()
    await using mirror = serveMirror(informer)
    const from = httpSource<object>({ url: 'http://mirror.test', fetch: fetchFrom(() => mirror) })
    const follower = createInformer({ source: from }).start()
    await follower.synced()
    expect(follower.invalid.get('1')?.message).toContain('price is an instance of Money')
    await follower.stop()
    await informer.stop()
  })
})

describe('wrong requests and responses', () => {
  test('have errors that name the allowed requests', async () => {
    await using served = servedAccounts(accounts)
    const answers = async (path: string, init?: RequestInit) => {
      const response = await served.mirror(get(path, init))
      return [response.status, (await bodyOf(Promise.resolve(response))).error]
    }
    expect(await answers('/nothing')).toEqual([404, 'allowed are /list, /watch and /version'])
    expect(await answers('/list', { method: 'POST' })).toEqual([405, 'only GET is allowed'])
    expect(await answers('/watch')).toEqual([400, expect.stringContaining('"after" must be a version')])
    expect(await answers('/watch?after=h1.x.1.')).toEqual([400, expect.stringContaining('"after" must be a version')])
    const unknown = `h1.${'x'.repeat(22)}.0.`
    expect(await answers(`/watch?after=${unknown}`)).toEqual([410, expect.stringContaining('another server')])
    const { version } = await bodyOf(served.mirror(get('/version')))
    expect(await answers(`/watch?after=${version}&until=x`)).toEqual([400, expect.stringContaining('"until"')])
    expect(await answers('/list/nothing')).toEqual([410, expect.stringContaining('request the list again')])
  })

  test('of another server make the follower fail with a message that names the address', async () => {
    const page = async () => new Response('<html>log in</html>', { headers: { 'content-type': 'text/html' } })
    const from = httpSource({ url: 'http://user:secret@login.test/x', fetch: page })
    const follower = createInformer({ source: from }).start()
    const error: Error = await follower.synced().then(
      () => new Error('synced'),
      (thrown) => thrown,
    )
    expect(error.message).toContain('"text/html" instead of "application/json"; is serveMirror at http://login.test/x?')
    expect(error.message).not.toContain('secret')
    await follower.stop()
  })

  test('after close have the status 503', async () => {
    await using served = servedAccounts(accounts)
    await served.mirror.close()
    expect((await served.mirror(get('/list'))).status).toBe(503)
  })

  test('of the options name the option', () => {
    expect(() => httpSource({ url: 'nothing' })).toThrow(OptionError)
    expect(() => httpSource({} as { url: string })).toThrow('option "url" is missing')
    expect(() => httpSource({ url: 'http://a.test', upstream: {} as never })).toThrow('must have the method hasReached')
    expect(() => serveMirror({} as never)).toThrow('must be an informer')
    const informer = createInformer({ source: memorySource() })
    expect(() => serveMirror(informer, { watchMs: 0 })).toThrow('option "watchMs" must be a finite number above 0')
  })
})
