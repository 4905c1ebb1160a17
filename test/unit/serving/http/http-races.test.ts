import { expect, test, vi } from 'vitest'
import { serverSentEvents } from '../../../../serving/http/event-stream.js'
import { httpSource } from '../../../../serving/http/index.js'
import { type Clock, systemClock } from '../../../../src/adapter.js'
import { type IndexBuilder, type ListerWatcher, SourceError, sourceSet } from '../../../../src/index.js'
import { memorySource, VirtualClock } from '../../../../testing/index.js'
import { type Account, bodyOf, fetchFrom, get, listOf, served, servedAccounts } from './mirror.js'

const one = [['0', { tenant: 'acme', balance: 0 }]] as const

test('[V1] a list that ends early fails, and is read again', async () => {
  await using accounts = servedAccounts(one)
  const fetch = fetchFrom(() => accounts.mirror)
  let cuts = 1
  const follower = accounts.follow({
    upstream: accounts.source,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (!url.includes('/list') || cuts-- <= 0) return response
      void response.body?.cancel()
      return new Response('', response)
    },
  })
  await follower.synced()
  expect([...follower.keys()]).toEqual(['0'])
  expect(follower.status.lastError?.message).toContain('ended early')
})

test('a request that waits while the mirror is closed is answered with 503, and begins no feed', async () => {
  let admit: (scope: object) => void = () => {}
  await using accounts = servedAccounts(one, { scope: () => new Promise((resolve) => (admit = resolve)) })
  await accounts.informer.synced()
  const changes = vi.spyOn(accounts.informer, 'changes')
  const response = accounts.mirror(get('/list'))
  await accounts.mirror.close()
  admit({})
  expect((await response).status).toBe(503)
  expect(changes).not.toHaveBeenCalled()
})

test('[V3] while a batch is sent in parts, a list does not have the upstream version of that batch', async () => {
  await using accounts = servedAccounts(one)
  await accounts.informer.synced()
  const { version } = await bodyOf(accounts.mirror(get('/version')))
  const { body } = await accounts.mirror(get(`/watch?after=${encodeURIComponent(version)}`))
  const reader = body?.getReader()
  const mark = accounts.source.transaction((tx) => {
    for (let i = 1; i < 30_000; i++) tx.put(`${i}`, { tenant: 'acme', balance: i })
  })
  let text = ''
  while (!text.includes('event: part')) text += new TextDecoder().decode((await reader?.read())?.value)
  const compare = httpSource({ url: 'http://mirror.test', upstream: accounts.source })
  const list = await listOf(accounts.mirror(get('/list')))
  const isApplied = Number(list.version.split('.')[2]) > Number(version.split('.')[2]) + 29
  expect(compare.hasReached(list.version, mark)).toBe(isApplied)
  await reader?.cancel()
})

/** Reads the version of a list, and no object. */
async function beginOf({ body }: Response): Promise<{ readonly version: string }> {
  for await (const received of body === null ? [] : serverSentEvents(body))
    if (received !== undefined) return JSON.parse(received.data)
  throw new Error('the list is empty')
}

const acme = { where: { tenant: 'acme' } }

test.each([
  ['all objects', {}, 1],
  ['a scope', acme, 1],
  ['a scope of several sources', acme, 2],
])('[V13] while a large commit is queued for a feed of %s, requests wait for it', async (_what, scope, count) => {
  const source = memorySource<Account>({ entries: one, name: 'a' })
  const sources = sourceSet<Account>({ source, b: memorySource<Account>({ name: 'b' }) })
  const indexes = (ix: IndexBuilder<Account>) => ({ tenant: ix.equal(({ tenant }) => tenant) })
  const options = { scope: () => scope, heartbeatMs: 60_000 }
  await using all = served({ source: count === 1 ? source : sources, indexes }, options)
  await all.informer.synced()
  const before = (await listOf(all.mirror(get('/list')))).version
  const mark = source.transaction((tx) => {
    for (let i = 1; i < 25_000; i++) tx.put(`${i}`, { tenant: 'acme', balance: i })
  })
  const compare = httpSource({ url: 'http://mirror.test', upstream: source })
  while (!all.informer.has('24999')) await new Promise((resolve) => setImmediate(resolve))
  const list = all.mirror(get('/list')).then(beginOf)
  for (const { version } of [await bodyOf(all.mirror(get('/version'))), await list]) {
    expect(version).not.toBe(before)
    if (count === 1) expect(compare.hasReached(version, mark)).toBe(true)
  }
})

test('[V1] a list has all changes that were written while it was encoded, also if the history is shorter', async () => {
  let write = async (): Promise<void> => {}
  /** Whenever the server lets the event loop turn, more is written than the history has. */
  const clock: Clock = {
    now: () => systemClock.now(),
    sleep: async (ms, signal) => {
      if (ms === 0) for (let nth = 0; nth < 10; nth++) await write()
      await systemClock.sleep(ms, signal)
    },
  }
  await using accounts = servedAccounts(one, { historyBytes: 500, clock })
  const { source, informer } = accounts
  await informer.synced()
  let written = 0
  write = async () => {
    written++
    await informer.waitFor(source.put(`${written % 16}`, { tenant: 'acme', balance: written }))
  }
  const follower = await accounts.joined({ upstream: source })
  expect(written).toBeGreaterThan(0)
  expect(new Map(follower.entries())).toEqual(new Map(informer.entries()))
})

/** A clock with which the event loop turns when the test says so. */
function heldTurns() {
  const turns: (() => void)[] = []
  let isHeld = false
  const clock: Clock = {
    now: () => systemClock.now(),
    sleep: (ms, signal) =>
      isHeld && ms === 0 ? new Promise((resolve) => turns.push(resolve)) : systemClock.sleep(ms, signal),
  }
  return { clock, turns, hold: (is: boolean) => (isHeld = is) }
}

test('[V1] a list that is encoded while access is lost does not have the objects', async () => {
  const { clock, turns, hold } = heldTurns()
  const source = memorySource<Account>({ entries: one, heartbeatMs: 60_000 })
  await using clearing = served({ source, onAccessLost: 'clear' }, { clock, heartbeatMs: 60_000 })
  const { informer, mirror } = clearing
  await vi.waitFor(() => expect(informer.status.state).toBe('live'))
  const snapshots = vi.spyOn(informer, 'snapshot')
  hold(true)
  const list = mirror(get('/list'))
  await vi.waitFor(() => {
    if (snapshots.mock.calls.length === 0) turns.shift()?.()
    expect(snapshots).toHaveBeenCalled()
    expect(turns).toHaveLength(1) // The objects are encoded.
  })
  source.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }), Number.POSITIVE_INFINITY)
  source.disconnect()
  await vi.waitFor(() => expect(informer.size).toBe(0), { timeout: 3_000 })
  hold(false)
  turns[0]?.()
  expect(await (await list).text()).not.toContain('acme')
})

test('[V1] a list that was requested before access was lost ends without its objects', async () => {
  const { clock, turns, hold } = heldTurns()
  const entries = Array.from({ length: 1_500 }, (_, i) => [`${i}`, { tenant: 'acme', balance: i }] as const)
  const source = memorySource<Account>({ entries, heartbeatMs: 60_000 })
  await using clearing = served({ source, onAccessLost: 'clear' }, { clock, heartbeatMs: 60_000 })
  const { informer, mirror } = clearing
  await vi.waitFor(() => expect(informer.status.state).toBe('live'))
  const before = await mirror(get('/list'))
  hold(true)
  source.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }))
  source.disconnect()
  await vi.waitFor(() => expect(turns).toHaveLength(1)) // A part of the deletions was sent.
  await vi.waitFor(() => expect(informer.size).toBe(1_500), { timeout: 3_000 })
  const later = mirror(get('/list'))
  await vi.waitFor(() => expect(turns).toHaveLength(2))
  hold(false)
  for (const turn of turns) turn()
  expect((await later).status).toBe(200)
  expect(await before.text()).toMatch(/^event: error\n.*lost access/)
})

test('a list that is encoded for longer than a minute is sent', async () => {
  const clock = new VirtualClock()
  const busy: Clock = { now: () => clock.now(), sleep: (ms, signal) => clock.sleep(ms === 0 ? 100_000 : ms, signal) }
  await using accounts = servedAccounts(one, { clock: busy, heartbeatMs: 60_000 })
  await accounts.informer.synced()
  let status = 0
  void accounts.mirror(get('/list')).then((response) => (status = response.status))
  await clock.advance(250_000)
  expect(status).toBe(200)
})

test('[V9] followers that list again at once share one list', async () => {
  await using accounts = servedAccounts(one, { historyBytes: 300 })
  await accounts.informer.synced()
  await listOf(accounts.mirror(get('/list')))
  for (let i = 0; i < 20; i++) await accounts.informer.waitFor(accounts.source.put('0', { tenant: 'acme', balance: i }))
  await bodyOf(accounts.mirror(get('/version')))
  const snapshots = vi.spyOn(accounts.informer, 'snapshot')
  await Promise.all(Array.from({ length: 10 }, () => listOf(accounts.mirror(get('/list')))))
  expect(snapshots).toHaveBeenCalledTimes(1)
})

test('[V8] a watch ends after `watchMs`, also if that is shorter than the heartbeat', async () => {
  const clock = new VirtualClock()
  await using accounts = servedAccounts(one, { clock, heartbeatMs: 10_000, watchMs: 5_000 })
  await accounts.informer.synced()
  const version = accounts.mirror(get('/version'))
  await clock.advance(100)
  const watch = await accounts.mirror(get(`/watch?after=${encodeURIComponent((await bodyOf(version)).version)}`))
  let isEnded = false
  void watch.text().then(() => (isEnded = true))
  await clock.advance(4_999)
  expect(isEnded).toBe(false)
  await clock.advance(1)
  await vi.waitFor(() => expect(isEnded).toBe(true))
})

test('a scope without requests for 5 minutes ends, also if no other scope is requested', async () => {
  const clock = new VirtualClock()
  await using accounts = servedAccounts(one, { clock, heartbeatMs: 10_000 })
  await accounts.informer.synced()
  const changes = vi.spyOn(accounts.informer, 'changes')
  const list = accounts.mirror(get('/list'))
  await clock.advance(100)
  await listOf(list)
  const signal = changes.mock.calls[0]?.[0]?.signal
  await clock.advance(290_000)
  expect(signal?.aborted).toBe(false)
  await clock.advance(20_000)
  expect(signal?.aborted).toBe(true)
})

test('[V11] requests are answered after an epoch that ended during the first list', async () => {
  const inner = memorySource<Account>({ entries: one })
  let lists = 0
  const source: ListerWatcher<Account> = {
    name: 'accounts',
    async *list(context) {
      if (++lists === 1) throw new SourceError('a backup was restored', { code: 'EPOCH_CHANGED' })
      yield* inner.list(context)
    },
    watch: (context) => inner.watch(context),
  }
  await using ended = served({ source })
  await ended.informer.synced()
  expect((await ended.mirror(get('/list'))).status).toBe(200)
})

test('[V11] requests are answered after a source whose epoch ended was replaced under its name', async () => {
  const a = memorySource<Account>({ entries: one, heartbeatMs: 100 })
  const sources = sourceSet<Account>({ a })
  await using replaced = served({ source: sources })
  const { informer, mirror } = replaced
  await informer.synced()
  const ended = new Promise<void>((resolve) => {
    informer.on('status', ({ lastError }) => lastError?.code === 'EPOCH_CHANGED' && resolve())
  })
  a.restore([['9', { tenant: 'acme', balance: 9 }]])
  await ended
  sources.remove('a')
  sources.add('a', memorySource<Account>({ entries: one, heartbeatMs: 100 }))
  await vi.waitFor(() => expect(informer.status.state).toBe('live'))
  expect((await mirror(get('/list'))).status).toBe(200)
})

test('[V11] of several sources, an error of another one does not repeat the end of an epoch', async () => {
  const a = memorySource<Account>({ entries: one, heartbeatMs: 100, name: 'a' })
  const b = memorySource<Account>({ entries: [['9', { tenant: 'acme', balance: 9 }]], heartbeatMs: 100, name: 'b' })
  await using both = served({ source: sourceSet<Account>({ a, b }) }, { heartbeatMs: 100 })
  const { informer, mirror } = both
  const isLive = () => expect(informer.status.state).toBe('live')
  await vi.waitFor(isLive)
  a.restore([['1', { tenant: 'acme', balance: 1 }]])
  await vi.waitFor(() => expect(informer.status.relists).toBe(1), { timeout: 3_000 })
  await vi.waitFor(isLive, { timeout: 3_000 })
  expect((await mirror(get('/list'))).status).toBe(200)
  b.disconnect()
  await vi.waitFor(() => expect(informer.status.reconnects).toBeGreaterThan(0), { timeout: 3_000 })
  await vi.waitFor(isLive, { timeout: 3_000 })
  expect((await mirror(get('/list'))).status).toBe(200)
})
