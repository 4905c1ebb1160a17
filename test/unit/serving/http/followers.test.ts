import { describe, expect, test, vi } from 'vitest'
import { serveHttp } from '../../../../serving/http/index.js'
import { createInformer, type ListerWatcher, SourceError, sourceSet } from '../../../../src/index.js'
import { memorySource } from '../../../../testing/index.js'
import { failure } from '../../../support/failure.js'
import { type Account, fetchFrom, served, servedAccounts } from './mirror.js'

const twoTenants = [
  ['1', { tenant: 'acme', balance: 1 }],
  ['2', { tenant: 'birch', balance: 2 }],
] as const

function withBalance<E extends { readonly object: Account }>(event: E, balance: number): E {
  return { ...event, object: { ...event.object, balance } }
}

describe('a follower', () => {
  test('[V22] of two servers that answer in turn lists once, and is fresh', async () => {
    await using accounts = servedAccounts(twoTenants, { watchMs: 1_200 })
    await using second = serveHttp(accounts.informer, { heartbeatMs: 200, watchMs: 1_200 })
    let requests = 0
    const follower = await accounts.joined({
      fetch: fetchFrom(() => (requests++ % 2 === 0 ? accounts.mirror : second)),
    })
    for (let balance = 0; balance < 10; balance++) {
      accounts.source.put('1', { tenant: 'acme', balance })
      await follower.fresh({ timeoutMs: 2_000 })
      expect(follower.get('1')?.balance).toBe(balance)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await vi.waitFor(() => expect(follower.status).toMatchObject({ reconnects: 1, state: 'live' }), { timeout: 3_000 })
    expect(follower.status).toMatchObject({ relists: 0, lastError: undefined })
  })

  test('[V23] refuses the answer to an earlier request, and names caches', async () => {
    await using accounts = servedAccounts(twoTenants)
    const kept = new Map<string, readonly [text: string, response: Response]>()
    const fetch = async (url: string, init: RequestInit): Promise<Response> => {
      const { pathname } = new URL(url)
      const response = await fetchFrom(() => accounts.mirror)(url, init)
      if (pathname.endsWith('/watch')) return response
      const [text, first] = kept.get(pathname) ?? [await response.text(), response]
      kept.set(pathname, [text, first])
      return new Response(text, first)
    }
    const follower = await accounts.joined({ fetch })
    await follower.fresh()
    const refusal = failure('PROTOCOL', 'answer to another request: a proxy or')
    await expect(follower.fresh()).rejects.toMatchObject(refusal)
    await expect(accounts.follow({ fetch }).synced()).rejects.toMatchObject(refusal)
  })

  test('[V3] has the objects of the mirror, and receives its changes', async () => {
    await using accounts = servedAccounts(twoTenants)
    const follower = await accounts.joined({ upstream: accounts.source })
    expect(new Map(follower.entries())).toEqual(new Map(accounts.informer.entries()))
    accounts.source.delete('2')
    await follower.waitFor(accounts.source.put('3', { tenant: 'acme', balance: 3 }), { timeoutMs: 2_000 })
    expect([...follower.keys()].sort()).toEqual(['1', '3'])
    for (const key of ['1', '3']) expect(follower.entry(key)).toEqual(accounts.informer.entry(key))
    expect([follower.by.tenant('acme').length, follower.status.relists]).toEqual([2, 0])
  })

  test('[V14] has an object that a list of the mirror has changed without another version', async () => {
    const inner = memorySource<Account>({ entries: twoTenants, heartbeatMs: 200 })
    let balance = 1
    // After a change of a schema, for example, a server shows an object in another form.
    const source: ListerWatcher<Account> = {
      name: 'accounts',
      async *list(context) {
        for await (const { events, ...page } of inner.list(context))
          yield { ...page, events: events.map((each) => (each.type === 'put' ? withBalance(each, balance) : each)) }
      },
      watch: (context) => inner.watch(context),
      hasReached: (at, mark) => inner.hasReached(at, mark),
      head: () => inner.head(),
    }
    await using changing = served({ source })
    const follower = await changing.joined()
    balance = 5
    await changing.informer.relist()
    expect(changing.informer.get('1')?.balance).toBe(5)
    await follower.fresh({ timeoutMs: 2_000 })
    expect(new Map(follower.entries())).toEqual(new Map(changing.informer.entries()))
  })

  test('[V3] without the option "upstream" rejects marks of the upstream, and says why', async () => {
    await using accounts = servedAccounts(twoTenants)
    const follower = await accounts.joined()
    await expect(follower.waitFor(accounts.source.put('1', twoTenants[0][1]))).rejects.toMatchObject(
      failure('INVALID_MARK', 'the option "upstream"'),
    )
  })

  test('waits for a mark of the upstream while the mirror has no version because access was lost', async () => {
    const source = memorySource<Account>({ entries: twoTenants, heartbeatMs: 200 })
    await using clearing = served({ source, onAccessLost: 'clear' })
    const follower = await clearing.joined({ upstream: source })
    source.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }), 2)
    source.disconnect()
    await vi.waitFor(() => expect(follower.size).toBe(0), { timeout: 4_000 })
    await follower.waitFor(source.put('3', { tenant: 'acme', balance: 3 }), { timeoutMs: 10_000 })
    expect(follower.size).toBe(3)
  }, 20_000)

  test('of a mirror of several sources rejects marks of one of them, and says why', async () => {
    const source = memorySource<Account>({ entries: twoTenants, heartbeatMs: 200 })
    await using several = served({ source: sourceSet({ accounts: source }) })
    const follower = await several.joined({ upstream: source })
    expect(follower.size).toBe(2)
    await expect(follower.waitFor(await source.head())).rejects.toThrow('the mirror has several sources')
  })

  test('[V7] lists once if it is further behind than the history', async () => {
    await using accounts = servedAccounts(twoTenants, { historyBytes: 500 })
    let isCut = false
    let cut = new AbortController()
    const fetch = fetchFrom(() => accounts.mirror)
    const follower = accounts.follow({
      upstream: accounts.source,
      fetch: (url, init) => {
        if (isCut) return Promise.reject(new TypeError('no network'))
        return fetch(url, { ...init, signal: AbortSignal.any([cut.signal, init.signal as AbortSignal]) })
      },
    })
    await vi.waitFor(() => expect(follower.status.state).toBe('live'))
    isCut = true
    cut.abort(new Error('the network is gone'))
    for (let i = 0; i < 20; i++) accounts.source.put('1', { tenant: 'acme', balance: i })
    const mark = accounts.source.delete('2')
    await accounts.informer.waitFor(mark)
    cut = new AbortController()
    isCut = false
    await follower.waitFor(mark, { timeoutMs: 4_000 })
    expect([[...follower.entries()], follower.status.relists]).toEqual([[['1', { tenant: 'acme', balance: 19 }]], 1])
  })

  test('[V4] has a new epoch when the upstream has one, and rejects waits for the old one', async () => {
    await using accounts = servedAccounts(twoTenants)
    const follower = accounts.follow()
    await vi.waitFor(() => expect(follower.status.state).toBe('live'))
    const [, feed, sequence] = /^h1\.(.{22})\.(\d+)\./.exec(follower.version ?? '') ?? []
    const wait = follower.waitFor(`h1.${feed}.${Number(sequence) + 1_000}.`)
    wait.catch(() => {})
    accounts.source.restore([['9', { tenant: 'acme', balance: 9 }]])
    await expect(wait).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    await vi.waitFor(() => expect([...follower.keys()]).toEqual(['9']), { timeout: 4_000 })
  })

  test('[V5] of a server that was restarted lists again', async () => {
    await using accounts = servedAccounts(twoTenants)
    let handler = accounts.mirror
    const follower = accounts.follow({ fetch: fetchFrom(() => handler), upstream: accounts.source })
    await vi.waitFor(() => expect(follower.status.state).toBe('live'))
    await handler.close()
    await using second = serveHttp(accounts.informer, { heartbeatMs: 200 })
    handler = second
    await follower.waitFor(accounts.source.put('3', { tenant: 'acme', balance: 3 }), { timeoutMs: 4_000 })
    expect(follower.status.lastError?.code).toBe('VERSION_EXPIRED')
  })

  test('[V6] with the option "upstream" never goes back to the earlier state of another server', async () => {
    await using accounts = servedAccounts(twoTenants)
    let handler = accounts.mirror
    const follower = accounts.follow({ fetch: fetchFrom(() => handler), upstream: accounts.source })
    await follower.waitFor(accounts.source.put('3', { tenant: 'acme', balance: 3 }))
    const before = follower.version?.replace(/^h1\..{22}\.\d+\./, '') ?? ''
    const older = before.replace(/\d+$/, (sequence) => String(Number(sequence) - 1))
    const held = createInformer({
      source: {
        name: 'held',
        list: () => pages(),
        watch: (context) => silent(context.signal),
        head: () => accounts.source.head(),
        hasReached: (at, mark) => accounts.source.hasReached(at, mark),
      },
    }).start()
    async function* pages() {
      const events = twoTenants.map(([key, object]) => ({ type: 'put' as const, key, object }))
      yield { events, version: older }
    }
    async function* silent(signal: AbortSignal) {
      yield { events: [], version: older }
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    }
    await held.synced()
    await using second = serveHttp(held, { heartbeatMs: 200 })
    await handler.close()
    handler = second
    await vi.waitFor(() => expect(follower.status.lastError?.code).toBe('STALE_LIST'), { timeout: 4_000 })
    expect(follower.size).toBe(3)
    await held.stop()
  })
})
