import { describe, expect, test } from 'vitest'
import { REFUSAL_MS } from '../../../../adapters/common/upstream-versions.js'
import {
  type MemoryLeases,
  type MemoryRelayStore,
  memoryLeases,
  memoryRelayStore,
  memorySource,
} from '../../../../adapters/memory/index.js'
import { relayCache, relaySource, serveRelay } from '../../../../serving/relay/index.js'
import { headerText } from '../../../../serving/relay/relay-texts.js'
import { ABORTED } from '../../../../src/contract/errors.js'
import { createInformer, SourceError } from '../../../../src/index.js'
import { countLists } from '../../../support/running.js'
import {
  clock,
  contentAfter,
  contentOf,
  context,
  followerOf,
  type Item,
  items,
  leasesWith,
  meanwhile,
  mortalRelay,
  noAccess,
  relayed,
  relayOf,
  storeOf,
  useRelays,
} from './relays.js'

useRelays()

async function settled(): Promise<void> {
  await clock.advance(100)
}

test('[Y10] a relay passes on versions and uids of objects, and values that JSON does not have', async () => {
  const { source, first, follower } = await relayed([])
  source.put('a', { n: 10n })
  source.put('\ud800', { n: new Date(5) })
  source.put('', { n: undefined })
  await settled()
  for (const key of ['a', '\ud800', '']) expect(follower.informer.entry(key)).toEqual(first.informer.entry(key))
  expect(follower.informer.entry('a')?.uid).toMatch(/^\d+\.1\.1$/)
  source.transaction((tx) => {
    tx.delete('a')
    tx.put('a', { n: 11n })
  })
  await settled()
  expect(follower.told().slice(3)).toEqual(['delete a', 'add a'])
})

test("[Y2] a mark of the upstream's writer is waited for in a follower", async () => {
  const { source, store, follower } = await relayed(['a'])
  const mark = source.put('a', { n: 7 })
  const waiting = follower.informer.waitFor(mark).then(() => follower.content())
  await settled()
  expect(await waiting).toEqual({ a: 7 })
  // A version of another follower is a mark as well.
  const second = followerOf(store, source)
  await settled()
  await second.informer.waitFor(follower.informer.version ?? '')
})

test('[Y10] an object that is invalid upstream, or cannot be encoded, is invalid in followers', async () => {
  const { source, store, follower } = await relayed(['a', 'b'], { maxBytes: 4_000 })
  source.corrupt('a', new Error('not a number'))
  source.put('f', { n: () => {} })
  source.put('long', { n: 'x'.repeat(5_000) })
  await settled()
  // A follower that begins now has the last state of the object, too.
  const second = followerOf(store, source)
  await settled()
  for (const { informer, content } of [follower, second]) {
    expect([content(), [...informer.invalid.keys()].sort()]).toEqual([{ a: 0, b: 0 }, ['a', 'f', 'long']])
    expect(informer.invalid.get('a')?.message).toContain('not a number')
    expect(informer.invalid.get('f')?.message).toContain('n is a function')
    expect(informer.invalid.get('long')?.message).toContain('bytes')
  }
  for (const key of ['a', 'f', 'long']) source.put(key, { n: 1 })
  await settled()
  expect([follower.informer.invalid.size, follower.content()]).toEqual([0, { a: 1, b: 0, f: 1, long: 1 }])
})

describe('a relay that starts again', () => {
  test('[Y4] resumes from the store: no list of the source, none of a follower', async () => {
    const { source, store, first, follower } = await relayed(['a', 'b'])
    source.put('a', { n: 1 })
    await settled()
    first.kill()
    source.put('b', { n: 2 })
    source.delete('a')
    await settled()
    const lists = countLists(source)
    const storeLists = countLists(store.collection)
    const second = relayOf(source, storeOf(store))
    await settled()
    expect([second.relay.status.state, lists(), storeLists()]).toEqual(['live', 0, 1]) // The relay reads its content.
    expect([follower.content(), follower.errors, follower.informer.status.relists]).toEqual([{ b: 2 }, [], 0])
  })

  test('[Y5] after the history of the source has expired, lists it and writes only differences', async () => {
    const { source, store, first, follower } = await relayed(['a', 'b', 'c'])
    first.kill()
    source.put('b', { n: 2 })
    source.delete('c')
    source.compact()
    const second = relayOf(source, storeOf(store))
    await clock.advance(2_000)
    expect([second.relay.status.changes, follower.told().sort()]).toEqual([2, ['delete c', 'update b']])
    expect(follower.informer.status.relists).toBe(0)
  })

  test('with other options than before, does not use the content of the store', async () => {
    const { source, store, first, follower } = await relayed(['a'])
    first.kill()
    const lists = countLists(source)
    const { warnings } = relayOf(source, store, { transform: ({ n }) => ({ n: [n] }) })
    await clock.advance(2_000)
    expect(lists()).toBe(1)
    expect(warnings.join()).toContain('an informer with other options')
    expect(follower.content()).toEqual({ a: [0] })
  })

  test('[Y1][Y12] while a large batch is only partly written, followers see none of it, and the next relay lists and completes it', async () => {
    const { source, store, first, follower } = await relayed(['a'], { maxChanges: 10 })
    let writes = 0
    const { write } = store
    store.write = async (...args) => (++writes > 2 ? new Promise<never>(() => {}) : await write.apply(store, args))
    source.transaction((tx) => {
      for (let n = 0; n < 50; n++) tx.put(`k${n}`, { n })
    })
    await settled()
    expect([writes, follower.content()]).toEqual([3, { a: 0 }])
    const joining = followerOf(store, source)
    // It waits for the rest, for 20 s. Then it reports that.
    await clock.advance(10_000)
    expect(joining.informer.status).toMatchObject({ isSynced: false, state: 'listing', lastError: undefined })
    await clock.advance(12_000)
    expect(joining.informer.status).toMatchObject({ isSynced: false, lastError: { code: 'UNAVAILABLE' } })
    await clock.advance(120_000)
    first.kill()
    store.write = write
    const lists = countLists(source)
    const second = relayOf(source, storeOf(store))
    await clock.advance(15_000)
    expect(lists()).toBe(1)
    for (const { informer } of [second, follower, joining]) expect(informer.size).toBe(51)
    expect(store.texts.size).toBe(52)
    expect(new Set(follower.changes.map(({ version }) => version)).size).toBe(1)
  })
})

describe('of two relays', () => {
  const replicas = (): MemoryLeases => memoryLeases({ group: 'relay', mode: 'leader', clock, leaseMs: 5_000 })

  test('[Y6][Y14] with leases the second waits, and replaces the first when that ends', async () => {
    const leases = replicas()
    const { source, store, first, follower } = await relayed(['a'], { leases })
    await clock.advance(1_000)
    expect(first.relay.status).toMatchObject({
      state: 'standby',
      reason: 'it has no lease yet: a new relay waits up to 5 s, in case an earlier relay still writes',
    })
    await clock.advance(3_000)
    const second = relayOf(source, storeOf(store), { leases })
    await clock.advance(10_000)
    source.put('a', { n: 1 })
    await settled()
    expect([first.relay.status.state, second.relay.status.state]).toEqual(['live', 'standby'])
    expect([second.relay.status.batches, first.errors]).toEqual([0, []])
    await first.relay.stop({ drainMs: 1_000 })
    await clock.advance(3_000)
    source.put('a', { n: 2 })
    await settled()
    expect(second.relay.status).toMatchObject({ state: 'live', reason: 'the store follows the mirror' })
    expect([follower.content(), follower.informer.status.relists]).toEqual([{ a: 2 }, 0])
  })

  test('[Y14] a relay whose leases cannot be reached says so, with the address and without the password, and does not name an error of the leases that is over', async () => {
    const memory = replicas()
    const { source, store } = await relayed(['a'], { leases: memory })
    await clock.advance(4_000)
    let isAway = true
    const leases = leasesWith(memory, (session) => async (...args) => {
      if (isAway) throw new Error('connect ECONNREFUSED redis://relay:secret@10.0.0.1:6379')
      return await session.renew(...args)
    })
    const { relay } = relayOf(source, storeOf(store), { leases })
    for (isAway of [true, false, true, false]) {
      await clock.advance(6_000)
      const away = `it has no lease, because ${leases.name}: connect ECONNREFUSED redis://relay:***@10.0.0.1:6379`
      const reason = isAway ? away : 'it has no lease: another relay may write'
      expect(relay.status).toMatchObject({ state: 'standby', reason })
    }
  })

  test('a relay that can neither write nor renew its lease is replaced, and reports only the errors of its leases', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const memory = replicas()
    let isAway = false
    // The engine does not respond to the first relay any more. As in Redis, an abort has an error of its own.
    const away = ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(ABORTED)))
    const link = storeOf(store, {
      read: (...args) => (isAway ? away(args[1]) : store.read(...args)),
      write: (...args) => (isAway ? away(args[2]) : store.write(...args)),
    })
    const leases = leasesWith(
      memory,
      (session) =>
        (...args) =>
          isAway ? new Promise(() => {}) : session.renew(...args),
    )
    const first = relayOf(source, link, { cache: undefined, leases })
    await clock.advance(6_000)
    const second = relayOf(source, storeOf(store), { leases: memory })
    await clock.advance(6_000)
    expect([first.relay.status.state, second.relay.status.state]).toEqual(['live', 'standby'])
    isAway = true
    source.put('a', { n: 1 })
    await clock.advance(8_000)
    expect([first.relay.status.state, second.relay.status.state]).toEqual(['standby', 'live'])
    expect(first.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'LEASE_LOST'])
    expect(await contentAfter(store, 100, source)).toEqual({ a: 1 })
  })

  test('without leases the newer one writes, and the older one reports CONFLICT', async () => {
    const { source, store, first, follower } = await relayed(['a'])
    const second = relayOf(source, storeOf(store))
    await settled()
    source.put('a', { n: 1 })
    await clock.advance(2_000)
    expect(first.errors.map(({ code }) => code)).toEqual(['CONFLICT'])
    expect(first.errors[0]?.message).toContain('give all of them the option "leases"')
    expect([first.relay.status.state, second.relay.status.state]).toEqual(['backing-off', 'live'])
    expect([follower.content(), follower.informer.status.relists]).toEqual([{ a: 1 }, 0])
  })

  test('[Y7] a relay whose mirror is behind the store waits, and never writes an older state', async () => {
    const { source, first, follower } = await relayed(['a'])
    const second = relayOf(source, storeOf(memoryRelayStore())) // Its mirror is synced.
    await settled()
    source.stall()
    source.disconnect()
    await clock.advance(100)
    source.put('a', { n: 1 })
    await clock.advance(60_000)
    expect([follower.content(), contentOf(second.informer)]).toEqual([{ a: 1 }, { a: 1 }])
    first.kill()
  })
})

test('[Y9] an engine that lost a response: the batch is written once', async () => {
  const { source, store, first, follower } = await relayed(['a'])
  for (const fault of ['lost reply', 'lost request'] as const) {
    store.disturb(fault)
    source.put('a', { n: fault })
    await clock.advance(1_000)
    expect(follower.content()).toEqual({ a: fault })
  }
  expect(follower.changes).toHaveLength(2)
  expect(first.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'UNAVAILABLE'])
})

test('[Y9] an engine that is away: changes are merged by key, and followers see only true states', async () => {
  const { source, store, first, follower } = await relayed(['a', 'b'])
  const states: string[] = []
  follower.informer.subscribe({ update: () => void states.push(JSON.stringify(follower.content())) })
  store.setAvailable(false)
  for (let n = 1; n <= 1_000; n++) {
    source.transaction((tx) => {
      tx.put('a', { n })
      tx.put('b', { n })
    })
    if (n % 100 === 0) await settled()
  }
  expect(first.relay.status).toMatchObject({ state: 'backing-off', lastError: { code: 'UNAVAILABLE' } })
  expect(first.relay.status.backlog.keys).toBeLessThanOrEqual(2)
  expect(first.relay.status.backlog.oldestMs).toBeGreaterThan(0)
  store.setAvailable(true)
  await clock.advance(15_000)
  expect(follower.content()).toEqual({ a: 1_000, b: 1_000 })
  for (const state of states) expect(Object.values(JSON.parse(state)).every((n, _, [first]) => n === first)).toBe(true)
})

test.each([10_000, 1_000])(
  'an engine that was flushed, with bookmarks of the source every %i ms: the relay writes everything again, and followers see another epoch',
  async (heartbeatMs) => {
    const { store, first, follower } = await relayed(['a', 'b'], { heartbeatMs })
    await clock.advance(3_500)
    store.flush()
    await clock.advance(6_500)
    expect(first.errors.map(({ code }) => code)).toEqual(['CONFLICT'])
    expect(store.texts.size).toBe(3)
    await clock.advance(13_500)
    expect([follower.content(), follower.changes]).toEqual([{ a: 0, b: 0 }, []])
    expect(follower.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
  },
)

describe('[Y17] after an engine has lost a write, a follower with "upstream"', () => {
  test('refuses the earlier state until a relay has written the later one', async () => {
    const { source, store, first, follower } = await relayed(['a'])
    for (const n of [1, 2]) {
      source.put('a', { n })
      await settled()
    }
    first.kill()
    store.fork()
    await clock.advance(20_000)
    expect(follower.informer.status.lastError?.code).toBe('STALE_LIST')
    relayOf(source, storeOf(store))
    await clock.advance(31_000)
    source.put('a', { n: 3 })
    await settled()
    expect(follower.changes.map(({ object }) => object.n)).toEqual([1, 2, 3])
  })

  test('accepts an earlier version of another epoch of the relay at once, and of the same one after 30 s', async () => {
    const store = memoryRelayStore()
    const write = async (epoch: number, version: string) => {
      const text = headerText({ writer: 'relay', write: 1, epoch, isWhole: true, version })
      await store.write([{ key: '\0relay', text }], (await store.read('a', context)).position, context)
    }
    const upstream = { hasReached: (at: string, mark: string) => Number(at) >= Number(mark) }
    const source = relaySource<Item>({ store, upstream })
    const list = async (mirror: object) => {
      let version = ''
      for await (const page of source.list({ ...context, mirror, pageSize: 10 })) version = page.version ?? version
      return version
    }
    const lose = async () => {
      const mirror = {}
      await write(1, '2')
      await write(1, '3')
      const after = await list(mirror)
      store.fork()
      const watch = source.watch({ ...context, mirror, after, onProgressRequest: () => {} })[Symbol.asyncIterator]()
      await expect(watch.next()).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
      return () => list(mirror)
    }
    const first = await lose()
    await expect(first()).rejects.toMatchObject({ code: 'STALE_LIST' })
    await write(2, '1')
    expect(await first()).toMatch(/ 1$/)
    store.flush()
    const second = await lose()
    await clock.advance(REFUSAL_MS - 1)
    await expect(second()).rejects.toMatchObject({ code: 'STALE_LIST' })
    await clock.advance(1)
    expect(await second()).toMatch(/ 2$/)
  })
})

test.each(Object.entries({ '': true, ', while no relay ran': false }))(
  '[Y3] the upstream with another history%s: followers see EPOCH_CHANGED, and waits for the old history reject',
  async (_when, isRunning) => {
    const { source, store, first, follower } = await relayed(['a', 'b'])
    const old = [await source.head(), follower.informer.version ?? '']
    if (!isRunning) first.kill()
    source.restore(items('b', 'c'))
    if (!isRunning) relayOf(source, storeOf(store))
    await clock.advance(10_000)
    expect(follower.content()).toEqual({ b: 0, c: 0 })
    expect(follower.errors.map(({ code }) => code)).toEqual(['EPOCH_CHANGED'])
    // A version of the upstream, and one of the follower itself.
    for (const version of old)
      await expect(follower.informer.waitFor(version)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    await follower.informer.waitFor(await source.head())
  },
)

test.each(['a relay that runs', 'the next relay', 'the next relay without a cache'])(
  '[Y1a] the upstream that refuses access to %s: onAccessLost "clear" clears the followers, too',
  async (which) => {
    const { source, store, first, follower } = await relayed(['a'], { onAccessLost: 'clear' })
    const isNext = which !== 'a relay that runs'
    if (isNext) first.kill()
    source.fail(noAccess(), 5)
    source.disconnect()
    const own = storeOf(store)
    const cache = which === 'the next relay' ? relayCache(own) : undefined
    if (isNext) relayOf(source, own, { onAccessLost: 'clear', cache })
    await clock.advance(1_000)
    expect(follower.content()).toEqual({})
    await clock.advance(120_000)
    expect(follower.content()).toEqual({ a: 0 })
  },
)

test('[Y13] a relay whose attempts write a part each begins again with the shortest delay', async () => {
  const source = memorySource<Item>({ entries: items('a') })
  const store = memoryRelayStore({ maxChanges: 2 })
  let writes = 0
  const flaky = storeOf(store, {
    write: async (...args) => {
      if (++writes % 3 === 0) throw new SourceError('no response', { code: 'UNAVAILABLE' })
      return await store.write(...args)
    },
  })
  const { relay } = relayOf(source, flaky, { cache: undefined })
  await relay.synced()
  source.transaction((tx) => {
    for (let n = 0; n < 20; n++) tx.put(`key-${n}`, { n })
  })
  // More than ten attempts fail. Their delays would add up to half a minute.
  await clock.advance(5_000)
  expect([relay.status.state, store.texts.size]).toEqual(['live', 22])
})

describe('stop', () => {
  /** A relay with a pending change, whose store became unavailable after a follower had the first objects. */
  async function withUnavailableStore() {
    const relaying = await relayed(['a'])
    relaying.store.setAvailable(false)
    relaying.source.put('a', { n: 1 })
    return relaying
  }

  test('with drainMs writes the changes that wait', async () => {
    const { store, first, follower } = await withUnavailableStore()
    await settled()
    const stopping = first.relay.stop({ drainMs: 5_000 })
    await clock.advance(500)
    store.setAvailable(true)
    await meanwhile(3_000, stopping)
    expect(first.relay.status.state).toBe('stopped')
    await clock.advance(1_000)
    expect(follower.content()).toEqual({ a: 1 })
  })

  test('with drainMs ends at the deadline', async () => {
    const { first } = await withUnavailableStore()
    await settled()
    await meanwhile(7_000, first.relay.stop({ drainMs: 5_000 }))
  })

  test('[Y13] with drainMs ends the delay before the next attempt', async () => {
    const { store, first, follower } = await withUnavailableStore()
    await clock.advance(60_000) // The delay is between 5 and 10 s now.
    expect(first.relay.status.state).toBe('backing-off')
    store.setAvailable(true)
    await meanwhile(2_000, first.relay.stop({ drainMs: 1_000 }))
    expect(follower.content()).toEqual({ a: 1 })
  })

  test('rejects waits for synced, and the end of the informer ends the relay', async () => {
    const store = memoryRelayStore()
    store.setAvailable(false)
    const { relay, informer } = mortalRelay(memorySource<Item>(), store)
    const waiting = expect(relay.synced()).rejects.toMatchObject({ code: 'STOPPED' })
    const late = expect(relay.synced({ timeoutMs: 50 })).rejects.toMatchObject({ code: 'TIMEOUT' })
    await settled()
    await late
    void informer.stop()
    await clock.advance(20_000)
    await waiting
    expect(relay.status.state).toBe('stopped')
  })
})

describe('wrong arguments', () => {
  const source = memorySource<Item>()
  const informer = createInformer({ source })
  const store = memoryRelayStore()
  const secrets = createInformer({ source: { name: 's', isSensitive: true, list: source.list, watch: source.watch } })

  test.each<[string, () => unknown]>([
    ['serveRelay: the first argument must be an informer', () => serveRelay({} as typeof informer, store)],
    ['serveRelay: the store must be a relay store', () => serveRelay(informer, {} as MemoryRelayStore)],
    ['serveRelay: option "leases" must be leases', () => serveRelay(informer, store, { leases: 1 as never })],
    ['allow it with secrets: true', () => serveRelay(secrets, store)],
    ['relaySource: option "store" is missing', () => relaySource({} as never)],
    ['option "upstream" must have the method hasReached', () => relaySource({ store, upstream: 1 as never })],
    ['relayCache: the store must be a relay store', () => relayCache({} as never)],
  ])('are refused: %s', (message, call) => expect(call).toThrow(message))
})
