import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { httpSource, serveHttp } from '../../../../serving/http/index.js'
import type { Clock } from '../../../../src/adapter.js'
import { createInformer, type Informer, sourceSet } from '../../../../src/index.js'
import { memorySource, SeededRandom, VirtualClock } from '../../../../testing/index.js'
import { type Account, fetchFrom, listOf, served, servedAccounts } from './mirror.js'

const accounts = [
  ['1', { tenant: 'acme', balance: 1 }],
  ['2', { tenant: 'birch', balance: 2 }],
] as const

function balances(follower: Informer<Account>): Record<string, number> {
  return Object.fromEntries(Array.from(follower.entries(), ([key, { balance }]) => [key, balance]))
}

function invalidIn(follower: Informer<Account>): readonly string[] {
  return [...follower.invalid.keys()].sort()
}

test('[V18] an object that is invalid in the mirror is invalid in followers, which keep its last state', async () => {
  await using all = servedAccounts(accounts)
  const follower = await all.joined({ upstream: all.source })
  all.source.corrupt('1', new Error('secret'))
  await follower.waitFor(all.source.corrupt('3', new Error('secret')), { timeoutMs: 2_000 })
  expect([invalidIn(follower), balances(follower)]).toEqual([['1', '3'], { 1: 1, 2: 2 }])
  // An error of a decoder or of a schema can quote what `transform` removes.
  expect(follower.invalid.get('1')?.message).toMatch(/ "1" of .* is invalid: its newest state is invalid in the mirror/)
  // A follower that lists now, too.
  const late = await all.joined({ upstream: all.source })
  expect([invalidIn(late), balances(late)]).toEqual([['1', '3'], { 1: 1, 2: 2 }])
  await follower.relist()
  expect([invalidIn(follower), balances(follower)]).toEqual([['1', '3'], { 1: 1, 2: 2 }])
  all.source.put('1', accounts[0][1])
  const mark = all.source.delete('3')
  for (const each of [follower, late]) {
    await each.waitFor(mark, { timeoutMs: 2_000 })
    expect([invalidIn(each), balances(each)]).toEqual([[], { 1: 1, 2: 2 }])
  }
  expect(follower.status.relists).toBe(1)
})

test('[V18] an object that was valid for one large batch is invalid in followers with its last state', async () => {
  await using all = servedAccounts(accounts)
  const follower = await all.joined({ upstream: all.source })
  await follower.waitFor(all.source.corrupt('1', 'bad'), { timeoutMs: 2_000 })
  // The next write is in the mirror while this batch is sent in parts.
  all.source.transaction((tx) => {
    for (let nth = 0; nth < 2_500; nth++) tx.put(`more ${nth}`, { tenant: 'acme', balance: 0 })
    tx.put('1', { tenant: 'acme', balance: 5 })
  })
  await follower.waitFor(all.source.corrupt('1', 'bad'), { timeoutMs: 2_000 })
  expect([invalidIn(follower), follower.get('1')?.balance]).toEqual([['1'], 5])
})

test('[V18] a list of the mirror that makes an object valid, and changes none, reaches followers', async () => {
  const source = memorySource<Account>({ entries: accounts, heartbeatMs: 200 })
  let isRefused = false
  const transform = (account: Account): Account => {
    if (isRefused) throw new Error('no')
    return account
  }
  await using all = served({ source, transform })
  const follower = await all.joined()
  isRefused = true
  source.put('1', accounts[0][1])
  await vi.waitFor(() => expect(invalidIn(follower)).toEqual(['1']), 2_000)
  isRefused = false
  await all.informer.relist()
  expect(all.informer.invalid.size).toBe(0)
  await vi.waitFor(() => expect(invalidIn(follower)).toEqual([]), 2_000)
  expect(balances(follower)).toEqual({ 1: 1, 2: 2 })
})

test.each([1, 2])('[V18] the first list of a silent mirror of %i sources has its invalid objects', async (count) => {
  const [eu, us] = [memorySource<Account>({ entries: accounts }), memorySource<Account>()]
  await using informer = createInformer({ source: count === 1 ? eu : sourceSet({ eu, us }) }).start()
  await informer.synced()
  eu.corrupt('1', 'bad')
  eu.corrupt('3', 'bad')
  await vi.waitFor(() => expect(invalidIn(informer)).toEqual(['1', '3']), 2_000)
  await setTimeout(20) // No batch follows.
  await using mirror = serveHttp(informer)
  const from = httpSource<Account>({ url: 'http://mirror.test', fetch: fetchFrom(() => mirror) })
  await using follower = createInformer({ source: from }).start()
  await follower.synced()
  const expectInvalid = async (keys: readonly string[]): Promise<void> => {
    await follower.fresh({ timeoutMs: 2_000 })
    expect([invalidIn(follower), balances(follower)]).toEqual([keys, { 1: 1, 2: 2 }])
  }
  expect([invalidIn(follower), balances(follower)]).toEqual([['1', '3'], { 1: 1, 2: 2 }])
  eu.put('1', accounts[0][1])
  await expectInvalid(['3'])
  if (count === 1) return
  us.corrupt('4', 'bad')
  eu.corrupt('1', 'bad')
  await expectInvalid(['1', '3', '4'])
  us.delete('4')
  eu.put('1', accounts[0][1])
  await expectInvalid(['3'])
})

test('[V18] a follower that lists again has the invalid objects of now, and their states that the mirror has', async () => {
  await using all = servedAccounts(accounts, { historyBytes: 500, watchMs: 50 })
  let isCut = false
  const fetch = (url: string, init: RequestInit): Promise<Response> =>
    isCut ? Promise.reject(new TypeError('cut')) : fetchFrom(() => all.mirror)(url, init)
  const follower = await all.joined({ upstream: all.source, fetch })
  isCut = true
  await vi.waitFor(() => expect(follower.status.state).toBe('backing-off'), 2_000)
  all.source.delete('1')
  all.source.corrupt('1', 'bad')
  for (let nth = 0; nth < 20; nth++) all.source.put('2', { tenant: 'birch', balance: nth })
  const mark = all.source.corrupt('2', 'bad')
  await all.informer.waitFor(mark)
  isCut = false
  await follower.waitFor(mark, { timeoutMs: 5_000 })
  expect([follower.status.relists, invalidIn(follower), balances(follower)]).toEqual([1, ['1', '2'], { 2: 19 }])
})

test.each([16, 17, 25, 33, 35, 48, 72, 74])(
  '[V1][V18] whatever is written, listed and followed, followers are as the mirror: seed %i',
  { timeout: 60_000 }, // It does not depend on the speed of the machine.
  async (seed) => {
    const random = new SeededRandom(seed)
    const among = (n: number): number => random.below(n)
    const clock = new VirtualClock()
    /** The server is busy: a turn of its event loop takes some time, in which more is written. */
    const busy: Clock = { now: () => clock.now(), sleep: (ms, signal) => clock.sleep(ms + among(40), signal) }
    // With a short history, the mirror is listed from the store again and again.
    const all = servedAccounts(accounts, { historyBytes: 500, clock: busy }, { clock, random })
    /** Time passes until the promise is settled. */
    const elapsed = async (waiting: Promise<unknown>): Promise<void> => {
      let isSettled = false
      const settled = waiting.finally(() => (isSettled = true))
      while (!isSettled) await clock.advance(100)
      await settled
    }
    onTestFinished(() => elapsed(all[Symbol.asyncDispose]()))
    const follow = (): Informer<Account> => all.follow({ upstream: all.source })
    const followers = [follow()]
    for (let nth = 0; nth < 300; nth++) {
      const key = String(among(8))
      const act = among(12)
      if (act < 4) all.source.put(key, { tenant: 'acme', balance: among(3) })
      else if (act < 7) all.source.corrupt(key, 'bad')
      else if (act < 9) all.source.delete(key)
      else if (act === 9 && followers.length < 6) followers.push(follow())
      else if (act === 10) void followers[among(followers.length)]?.relist().catch(() => {})
      if (among(3) === 0) await clock.advance(among(10))
    }
    const mark = all.source.put('end', { tenant: 'acme', balance: 0 })
    for (const each of followers) {
      await elapsed(each.waitFor(mark, { timeoutMs: 60_000 }))
      expect([invalidIn(each), balances(each)]).toEqual([invalidIn(all.informer), balances(all.informer)])
    }
  },
)

test('[V18] a follower of one scope has no invalid objects, because nothing tells their scope', async () => {
  await using all = servedAccounts(accounts, { scope: () => ({ where: { tenant: 'acme' } }) })
  const follower = await all.joined({ upstream: all.source })
  await follower.waitFor(all.source.corrupt('1', 'bad'), { timeoutMs: 2_000 })
  expect([invalidIn(follower), balances(follower)]).toEqual([[], { 1: 1 }])
})

test('[V18] a program that does not know invalid objects reads their last state', async () => {
  await using all = servedAccounts(accounts)
  await all.informer.synced()
  await all.informer.waitFor(all.source.corrupt('1', 'bad'))
  const { size, events } = await listOf(all.mirror(new Request('http://mirror.test/list')))
  expect([size, events.map(({ type, key }) => `${type} ${key}`)]).toEqual([2, ['put 1', 'put 2']])
})
