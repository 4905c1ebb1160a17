import { afterEach, describe, expect, test } from 'vitest'
import {
  type MemoryLeases,
  type MemoryRelayStore,
  type MemorySource,
  memoryLeases,
  memoryRelayStore,
  memorySource,
} from '../../../../adapters/memory/index.js'
import { publish, type Relay, relayCache, relaySource } from '../../../../adapters/relay/index.js'
import type { RelayStore } from '../../../../src/contract/relay-store.js'
import { createInformer, type Informer, type LeaseSession, type Leases, SourceError } from '../../../../src/index.js'
import type { Change } from '../../../../src/queue/change.js'
import { SeededRandom } from '../../../../testing/seeded-random.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'

interface Item {
  readonly n: unknown
}

const clock = new VirtualClock()
const random = new SeededRandom(1)
const stops: (() => Promise<void>)[] = []

afterEach(async () => {
  const stopping = Promise.all(stops.splice(0).map((stop) => stop()))
  await clock.advance(30_000)
  await stopping
})

interface RelayProcess {
  readonly informer: Informer<Item>
  readonly relay: Relay
  readonly errors: SourceError[]
  /** Ends the process without a clean stop: nothing of it is written any more. */
  kill(): void
}

/** A relay with a mirror of its own, as another process has. */
function relayOf(
  source: MemorySource<Item>,
  store: MemoryRelayStore,
  {
    replicas,
    onAccessLost = 'keep',
    isWarm = true,
  }: { replicas?: Leases; onAccessLost?: 'keep' | 'clear'; isWarm?: boolean } = {},
): RelayProcess {
  let isKilled = false
  const { name, collection, maxChanges, maxBytes } = store
  const own: RelayStore = {
    name,
    collection,
    maxChanges,
    maxBytes,
    read: (...args) => store.read(...args),
    write: async (...args) => (isKilled ? new Promise<never>(() => {}) : await store.write(...args)),
    close: async () => {},
  }
  const cache = isWarm ? { cache: relayCache(own) } : {}
  const informer = createInformer({ source, clock, random, onAccessLost, logger: quiet, ...cache })
  const relay = publish(informer, own, { clock, random, ...(replicas === undefined ? {} : { replicas }) })
  const errors: SourceError[] = []
  relay.on('error', (error) => errors.push(error))
  informer.start()
  const stop = async (): Promise<void> => {
    await relay.stop()
    await informer.stop()
  }
  stops.push(stop)
  return {
    informer,
    relay,
    errors,
    kill: () => {
      isKilled = true
      void informer.stop()
      void relay.stop()
    },
  }
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

interface Follower {
  readonly informer: Informer<Item>
  readonly changes: Change<Item>[]
  readonly errors: SourceError[]
  content(): Record<string, unknown>
}

function followerOf(store: MemoryRelayStore, upstream: MemorySource<Item>): Follower {
  const informer = createInformer({ source: relaySource<Item>({ store, upstream }), clock, random })
  const changes: Change<Item>[] = []
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  const keep = (change: Change<Item>): void => {
    if (change.origin !== 'initial') changes.push(change)
  }
  informer.subscribe({ add: keep, update: keep, delete: keep })
  informer.start()
  stops.push(() => informer.stop())
  return { informer, changes, errors, content: () => contentOf(informer) }
}

function contentOf(informer: Informer<Item>): Record<string, unknown> {
  return Object.fromEntries(Array.from(informer.entries(), ([key, { n }]) => [key, n]))
}

function items(...keys: string[]): [string, Item][] {
  return keys.map((key) => [key, { n: 0 }])
}

/** Counts the lists of a source. */
function countLists<T>(source: MemorySource<T>): () => number {
  let lists = 0
  const { list } = source
  Object.defineProperty(source, 'list', {
    configurable: true,
    value: (...args: Parameters<typeof list>) => {
      lists++
      return Reflect.apply(list, source, args)
    },
  })
  return () => lists
}

async function settled(): Promise<void> {
  await clock.advance(100)
}

describe('a relay', () => {
  test('passes on the content of its mirror, and each later change', async () => {
    const source = memorySource<Item>({ entries: items('a', 'b') })
    const store = memoryRelayStore()
    const { relay } = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    expect(follower.content()).toEqual({ a: 0, b: 0 })
    source.put('a', { n: 1 })
    source.delete('b')
    source.put('c', { n: 2 })
    await settled()
    expect(follower.content()).toEqual({ a: 1, c: 2 })
    expect(relay.status).toMatchObject({ state: 'live', version: await source.head() })
    expect(follower.changes.map(({ type, key }) => `${type} ${key}`)).toEqual(['update a', 'delete b', 'add c'])
  })

  test('[Y10] passes on versions and uids of objects, and values that JSON does not have', async () => {
    const source = memorySource<Item>({
      entries: [
        ['a', { n: 10n }],
        ['\ud800', { n: new Date(5) }],
        ['', { n: undefined }],
      ],
    })
    const store = memoryRelayStore()
    const { informer } = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    for (const key of ['a', '\ud800', '']) expect(follower.informer.entry(key)).toEqual(informer.entry(key))
    expect(follower.informer.entry('a')?.uid).toBe('0')
    source.transaction((tx) => {
      tx.delete('a')
      tx.put('a', { n: 11n })
    })
    await settled()
    expect(follower.changes.map(({ type, key }) => `${type} ${key}`)).toEqual(['delete a', 'add a'])
  })

  test("[Y2] a mark of the upstream's writer is waited for in a follower", async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    const mark = source.put('a', { n: 7 })
    const waiting = follower.informer.waitFor(mark).then(() => follower.content())
    await settled()
    expect(await waiting).toEqual({ a: 7 })
    // A version of another follower is a mark as well.
    const second = followerOf(store, source)
    await settled()
    await second.informer.waitFor(follower.informer.version ?? '')
  })

  test('[Y10] an object that is invalid upstream is invalid in followers, which keep its last state', async () => {
    const source = memorySource<Item>({ entries: items('a', 'b') })
    const store = memoryRelayStore()
    relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    source.corrupt('a', new Error('not a number'))
    await settled()
    expect(follower.content()).toEqual({ a: 0, b: 0 })
    expect(follower.informer.invalid.get('a')?.message).toContain('not a number')
    // A follower that begins now, too.
    const second = followerOf(store, source)
    await settled()
    expect(second.content()).toEqual({ a: 0, b: 0 })
    expect([...second.informer.invalid.keys()]).toEqual(['a'])
    source.put('a', { n: 1 })
    await settled()
    expect(follower.informer.invalid.size).toBe(0)
    expect(follower.content()).toEqual({ a: 1, b: 0 })
  })

  test('[Y10] an object that cannot be encoded is invalid in followers', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore({ maxBytes: 4_000 })
    relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    source.put('f', { n: () => {} })
    source.put('long', { n: 'x'.repeat(5_000) })
    await settled()
    expect(follower.informer.invalid.get('f')?.message).toContain('n is a function')
    expect(follower.informer.invalid.get('long')?.message).toContain('bytes')
    expect(follower.content()).toEqual({ a: 0 })
  })
})

describe('a relay that starts again', () => {
  test('[Y4] resumes from the store: no list of the source, none of a follower', async () => {
    const source = memorySource<Item>({ entries: items('a', 'b') })
    const store = memoryRelayStore()
    const first = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    source.put('a', { n: 1 })
    await settled()
    first.kill()
    follower.errors.length = 0 // The follower began before the relay had written.
    source.put('b', { n: 2 })
    source.delete('a')
    await settled()
    const lists = countLists(source)
    const storeLists = countLists(store.collection)
    const second = relayOf(source, store)
    await settled()
    expect(second.relay.status.state).toBe('live')
    expect(lists()).toBe(0)
    expect(storeLists()).toBe(1) // The relay reads its content.
    expect(follower.content()).toEqual({ b: 2 })
    expect(follower.errors).toEqual([])
    expect(follower.informer.status.relists).toBe(0)
  })

  test('[Y5] after the history of the source has expired, lists it and writes only differences', async () => {
    const source = memorySource<Item>({ entries: items('a', 'b', 'c') })
    const store = memoryRelayStore()
    const first = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    first.kill()
    source.put('b', { n: 2 })
    source.delete('c')
    source.compact()
    const second = relayOf(source, store)
    await clock.advance(2_000)
    expect(second.relay.status.changes).toBe(2)
    expect(follower.changes.map(({ type, key }) => `${type} ${key}`).sort()).toEqual(['delete c', 'update b'])
    expect(follower.informer.status.relists).toBe(0)
  })

  test('with other options than before, does not use the content of the store', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const first = relayOf(source, store)
    await clock.advance(2_000)
    first.kill()
    const lists = countLists(source)
    const warnings: string[] = []
    const logger = { ...quiet, warn: (text: string) => warnings.push(text) }
    const transform = ({ n }: Item): Item => ({ n: [n] })
    const informer = createInformer({ source, clock, transform, cache: relayCache(store), logger })
    const relay = publish(informer, store, { clock })
    informer.start()
    stops.push(
      () => relay.stop(),
      () => informer.stop(),
    )
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    expect(lists()).toBe(1)
    expect(warnings.join()).toContain('an informer with other options')
    expect(follower.content()).toEqual({ a: [0] })
  })

  test('[Y1][Y12] while a large batch is only partly written, followers see none of it, and the next relay completes it', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore({ maxChanges: 10 })
    const first = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    let writes = 0
    const { write } = store
    store.write = async (...args) => (++writes > 2 ? new Promise<never>(() => {}) : await write.apply(store, args))
    source.transaction((tx) => {
      for (let n = 0; n < 50; n++) tx.put(`k${n}`, { n })
    })
    await settled()
    expect(writes).toBe(3)
    expect(follower.content()).toEqual({ a: 0 })
    const joining = followerOf(store, source)
    // It waits for the rest, for 20 s. Then it reports that.
    await clock.advance(10_000)
    expect(joining.informer.status).toMatchObject({ isSynced: false, state: 'listing', lastError: undefined })
    await clock.advance(12_000)
    expect(joining.informer.status).toMatchObject({ isSynced: false, lastError: { code: 'UNAVAILABLE' } })
    await clock.advance(120_000)
    first.kill()
    store.write = write
    relayOf(source, store)
    await clock.advance(15_000)
    expect(follower.informer.size).toBe(51)
    expect(joining.informer.size).toBe(51)
    expect(new Set(follower.changes.map(({ version }) => version)).size).toBe(1)
  })
})

test('content of which only a part was written is not restored', async () => {
  const source = memorySource<Item>({ entries: items('a') })
  const store = memoryRelayStore({ maxChanges: 5 })
  const first = relayOf(source, store)
  await clock.advance(2_000)
  const { write } = store
  let writes = 0
  store.write = async (...args) => (++writes > 2 ? new Promise<never>(() => {}) : await write.apply(store, args))
  source.transaction((tx) => {
    for (let n = 0; n < 20; n++) tx.put(`k${n}`, { n })
  })
  await settled()
  first.kill()
  store.write = write
  const lists = countLists(source)
  const second = relayOf(source, store)
  await clock.advance(2_000)
  expect(lists()).toBe(1)
  expect(second.informer.size).toBe(21)
  expect(store.texts.size).toBe(22)
})

describe('of two relays', () => {
  const replicas = (): MemoryLeases => memoryLeases({ group: 'relay', mode: 'leader', clock, leaseMs: 5_000 })

  test('[Y6] with leases the second waits, and replaces the first when that ends', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const leases = replicas()
    const first = relayOf(source, store, { replicas: leases })
    await clock.advance(6_000)
    const second = relayOf(source, store, { replicas: leases })
    const follower = followerOf(store, source)
    await clock.advance(10_000)
    source.put('a', { n: 1 })
    await settled()
    expect([first.relay.status.state, second.relay.status.state]).toEqual(['live', 'standby'])
    expect(second.relay.status.batches).toBe(0)
    expect(first.errors).toEqual([])
    await first.relay.stop({ drainMs: 1_000 })
    await clock.advance(3_000)
    source.put('a', { n: 2 })
    await settled()
    expect(second.relay.status.state).toBe('live')
    expect(follower.content()).toEqual({ a: 2 })
    expect(follower.informer.status.relists).toBe(0)
  })

  test('[Y14] a relay whose leases cannot be reached says so, with the address and without the password, until they can', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const memory = replicas()
    const { name, mode, leaseMs, renewMs } = memory
    let isAway = true
    const open = (): LeaseSession => {
      const session = memory.open()
      const renew: LeaseSession['renew'] = async (...args) => {
        if (isAway) throw new Error('connect ECONNREFUSED redis://relay:secret@10.0.0.1:6379')
        return await session.renew(...args)
      }
      return { renew, leave: (member) => session.leave(member), close: () => session.close() }
    }
    const leases = { name, mode, leaseMs, renewMs, open }
    const { relay } = relayOf(source, memoryRelayStore(), { replicas: leases })
    relay.on('error', () => {})
    await clock.advance(3_000)
    expect(relay.status.state).toBe('standby')
    expect(relay.status.reason).toBe(
      `it has no lease, because ${name}: connect ECONNREFUSED redis://relay:***@10.0.0.1:6379`,
    )
    isAway = false
    await clock.advance(10_000)
    expect(relay.status).toMatchObject({ state: 'live', reason: 'the store follows the mirror' })
  })

  test('[Y14] a new relay without another one says for how long it waits', async () => {
    const { relay } = relayOf(memorySource<Item>({ entries: items('a') }), memoryRelayStore(), { replicas: replicas() })
    await clock.advance(3_000)
    expect(relay.status).toMatchObject({
      state: 'standby',
      reason: 'it has no lease yet: a new relay waits up to 5 s, in case an earlier relay still writes',
    })
    await clock.advance(3_000)
    expect(relay.status.state).toBe('live')
  })

  test('[Y14] a relay that waits for another one does not name an error of the leases that is over', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const leases = replicas()
    relayOf(source, store, { replicas: leases })
    await clock.advance(6_000)
    const { name, mode, leaseMs, renewMs } = leases
    let isAway = false
    const open = (): LeaseSession => {
      const session = leases.open()
      const renew: LeaseSession['renew'] = (...args) =>
        isAway ? Promise.reject(new Error('away')) : session.renew(...args)
      return { renew, leave: (member) => session.leave(member), close: () => session.close() }
    }
    const { relay } = relayOf(source, store, { replicas: { name, mode, leaseMs, renewMs, open } })
    relay.on('error', () => {})
    await clock.advance(6_000)
    expect(relay.status.reason).toBe('it has no lease: another relay may write')
    isAway = true
    await clock.advance(3_000)
    expect(relay.status.reason).toBe(`it has no lease, because ${name}: away`)
    isAway = false
    await clock.advance(5_000)
    expect(relay.status.reason).toBe('it has no lease: another relay may write')
  })

  test('a relay that can neither write nor renew its lease is replaced', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const leases = replicas()
    let isCut = false
    const { name, mode, leaseMs, renewMs } = leases
    const open = (): LeaseSession => {
      const session = leases.open()
      const renew: LeaseSession['renew'] = async (...args) =>
        isCut ? new Promise<never>(() => {}) : await session.renew(...args)
      return { ...session, renew, leave: (member) => session.leave(member), close: () => session.close() }
    }
    // The first relay alone cannot reach the engine any more.
    const away = (): Promise<never> => Promise.reject(new SourceError('away', { code: 'UNAVAILABLE' }))
    const { collection, maxChanges, maxBytes } = store
    const link: RelayStore = {
      name: store.name,
      collection,
      maxChanges,
      maxBytes,
      read: (...args) => (isAway ? away() : store.read(...args)),
      write: (...args) => (isAway ? away() : store.write(...args)),
      close: async () => {},
    }
    let isAway = false
    const informer = createInformer({ source, clock, random, logger: quiet })
    const first = publish(informer, link, {
      clock,
      random,
      logger: quiet,
      replicas: { name, mode, leaseMs, renewMs, open },
    })
    informer.start()
    stops.push(
      () => first.stop(),
      () => informer.stop(),
    )
    await clock.advance(6_000)
    const second = relayOf(source, store, { replicas: leases })
    await clock.advance(6_000)
    expect([first.status.state, second.relay.status.state]).toEqual(['live', 'standby'])
    isAway = true
    source.put('a', { n: 1 })
    isCut = true
    await clock.advance(8_000)
    expect(first.status.state).not.toBe('live')
    expect(second.relay.status.state).toBe('live')
    const follower = followerOf(store, source)
    await settled()
    expect(follower.content()).toEqual({ a: 1 })
  })

  test('without leases the newer one writes, and the older one reports CONFLICT', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const first = relayOf(source, store)
    await settled()
    const second = relayOf(source, store)
    const follower = followerOf(store, source)
    await settled()
    source.put('a', { n: 1 })
    await clock.advance(2_000)
    expect(first.errors.map(({ code }) => code)).toEqual(['CONFLICT'])
    expect(first.errors[0]?.message).toContain('give all of them the option "replicas"')
    expect(first.relay.status.state).toBe('backing-off')
    expect(second.relay.status.state).toBe('live')
    expect(follower.content()).toEqual({ a: 1 })
    expect(follower.informer.status.relists).toBe(0)
  })

  test('[Y6] a write that arrives late is refused after another relay has taken over', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const first = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    store.disturb('late request')
    source.put('a', { n: 1 })
    await settled()
    first.kill()
    relayOf(source, store)
    await settled()
    source.put('a', { n: 2 })
    await settled()
    store.deliver()
    await settled()
    expect(follower.content()).toEqual({ a: 2 })
    expect(follower.changes.map(({ object }) => object.n)).not.toContain(0)
  })

  test('[Y7] a relay whose mirror is behind the store waits, and never writes an older state', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const first = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    const slow = memoryRelayStore()
    const second = relayOf(source, slow) // Its mirror is synced.
    await settled()
    source.stall()
    source.disconnect()
    await clock.advance(100)
    source.put('a', { n: 1 })
    await clock.advance(60_000)
    expect(follower.content()).toEqual({ a: 1 })
    expect(contentOf(second.informer)).toEqual({ a: 1 })
    first.kill()
  })
})

describe('an engine', () => {
  test('[Y9] that lost a response: the batch is written once', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const { errors } = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    for (const fault of ['lost reply', 'lost request'] as const) {
      store.disturb(fault)
      source.put('a', { n: fault })
      await clock.advance(1_000)
      expect(follower.content()).toEqual({ a: fault })
    }
    expect(follower.changes).toHaveLength(2)
    expect(errors.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'UNAVAILABLE'])
  })

  test('[Y9] that is away: changes are merged by key, and followers see only true states', async () => {
    const source = memorySource<Item>({ entries: items('a', 'b') })
    const store = memoryRelayStore()
    const { relay } = relayOf(source, store)
    const follower = followerOf(store, source)
    const states: string[] = []
    await clock.advance(2_000)
    follower.informer.subscribe({ update: () => void states.push(JSON.stringify(follower.content())) })
    store.setAvailable(false)
    for (let n = 1; n <= 1_000; n++) {
      source.transaction((tx) => {
        tx.put('a', { n })
        tx.put('b', { n })
      })
      if (n % 100 === 0) await settled()
    }
    expect(relay.status).toMatchObject({ state: 'backing-off', lastError: { code: 'UNAVAILABLE' } })
    expect(relay.status.backlog.keys).toBeLessThanOrEqual(2)
    expect(relay.status.backlog.oldestMs).toBeGreaterThan(0)
    store.setAvailable(true)
    await clock.advance(15_000)
    expect(follower.content()).toEqual({ a: 1_000, b: 1_000 })
    for (const state of states)
      expect(Object.values(JSON.parse(state)).every((n, _, [first]) => n === first)).toBe(true)
  })

  test('that was flushed: the relay writes everything again, and followers see another epoch', async () => {
    const source = memorySource<Item>({ entries: items('a', 'b') })
    const store = memoryRelayStore()
    const { errors } = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    store.flush()
    await clock.advance(20_000)
    expect(follower.content()).toEqual({ a: 0, b: 0 })
    expect(follower.changes).toEqual([])
    expect(errors.map(({ code }) => code)).toEqual(['CONFLICT'])
    expect(follower.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
    expect(store.texts.size).toBe(3)
  })

  test('that was flushed is noticed, although the source sends a bookmark every second', async () => {
    const source = memorySource<Item>({ entries: items('a'), heartbeatMs: 1_000 })
    const store = memoryRelayStore()
    const { errors } = relayOf(source, store)
    await clock.advance(5_500)
    store.flush()
    await clock.advance(6_500)
    expect(errors.map(({ code }) => code)).toEqual(['CONFLICT'])
    expect(store.texts.size).toBe(2)
  })

  test('that lost writes: followers return to what the source has', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    for (let n = 1; n <= 5; n++) {
      source.put('a', { n })
      await settled()
    }
    const mark = await source.head()
    store.fork(3)
    await clock.advance(20_000)
    expect(follower.content()).toEqual({ a: 5 })
    expect(follower.errors.map(({ code }) => code)).toContain('EPOCH_CHANGED')
    await follower.informer.waitFor(mark)
  })
})

describe('the upstream', () => {
  test('with another history: followers see EPOCH_CHANGED, and waits for the old history reject', async () => {
    const source = memorySource<Item>({ entries: items('a', 'b') })
    const store = memoryRelayStore()
    relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    const old = [await source.head(), follower.informer.version ?? '']
    source.restore(items('b', 'c'))
    await clock.advance(10_000)
    expect(follower.content()).toEqual({ b: 0, c: 0 })
    expect(follower.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'EPOCH_CHANGED'])
    // A version of the upstream, and one of the follower itself.
    for (const version of old)
      await expect(follower.informer.waitFor(version)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    await follower.informer.waitFor(await source.head())
  })

  test('[Y3] with another history while no relay ran: followers see EPOCH_CHANGED', async () => {
    const source = memorySource<Item>({ entries: items('a', 'b') })
    const store = memoryRelayStore()
    const first = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    first.kill()
    source.restore(items('b', 'c'))
    relayOf(source, store)
    await clock.advance(10_000)
    expect(follower.content()).toEqual({ b: 0, c: 0 })
    expect(follower.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'EPOCH_CHANGED'])
  })

  test('that refuses access: onAccessLost "clear" clears the followers, too', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    relayOf(source, store, { onAccessLost: 'clear' })
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    source.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }), 3)
    source.disconnect()
    await clock.advance(1_000)
    expect(follower.content()).toEqual({})
    await clock.advance(60_000)
    expect(follower.content()).toEqual({ a: 0 })
  })
})

test('a repaired object is delivered, although its version is the same', async () => {
  const source = memorySource<Item>({ entries: items('a', 'b') })
  const store = memoryRelayStore()
  const first = relayOf(source, store)
  await clock.advance(2_000)
  // An event was lost: the text in the store is wrong, and the next relay reads the store.
  first.kill()
  const context = { signal: new AbortController().signal, clock, random }
  const { position } = await store.read('a', context)
  const wrong = JSON.stringify({ ...JSON.parse(store.texts.get('a') ?? ''), object: { n: 'wrong' } })
  await store.write([{ key: 'a', text: wrong }], position, context)
  const follower = followerOf(store, source)
  await clock.advance(2_000)
  expect(follower.content()).toEqual({ a: 'wrong', b: 0 })
  relayOf(source, store, { isWarm: false })
  await clock.advance(2_000)
  expect(follower.content()).toEqual({ a: 0, b: 0 })
})

test('a relay that starts without access clears the followers, with onAccessLost "clear"', async () => {
  const source = memorySource<Item>({ entries: items('a') })
  const store = memoryRelayStore()
  const first = relayOf(source, store)
  const follower = followerOf(store, source)
  await clock.advance(2_000)
  first.kill()
  source.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }), 5)
  relayOf(source, store, { onAccessLost: 'clear' })
  await clock.advance(500)
  expect(follower.content()).toEqual({})
  await clock.advance(120_000)
  expect(follower.content()).toEqual({ a: 0 })
})

test('[Y13] a relay whose attempts write a part each begins again with the shortest delay', async () => {
  const source = memorySource<Item>({ entries: items('a') })
  const store = memoryRelayStore({ maxChanges: 2 })
  let writes = 0
  const flaky: RelayStore = {
    name: store.name,
    collection: store.collection,
    maxChanges: store.maxChanges,
    maxBytes: store.maxBytes,
    read: (...args) => store.read(...args),
    write: async (...args) => {
      if (++writes % 3 === 0) throw new SourceError('no response', { code: 'UNAVAILABLE' })
      return await store.write(...args)
    },
    close: async () => {},
  }
  const informer = createInformer({ source, clock, random, logger: quiet })
  const relay = publish(informer, flaky, { clock, random, logger: quiet })
  stops.push(async () => {
    await relay.stop()
    await informer.stop()
  })
  informer.start()
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
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    const { relay } = relayOf(source, store)
    const follower = followerOf(store, source)
    await clock.advance(2_000)
    store.setAvailable(false)
    source.put('a', { n: 1 })
    return { source, store, relay, follower }
  }

  test('with drainMs writes the changes that wait, and ends at the deadline', async () => {
    const { source, store, relay, follower } = await withUnavailableStore()
    await settled()
    const stopping = relay.stop({ drainMs: 5_000 })
    await clock.advance(500)
    store.setAvailable(true)
    await clock.advance(3_000)
    await stopping
    expect(relay.status.state).toBe('stopped')
    await clock.advance(1_000)
    expect(follower.content()).toEqual({ a: 1 })
    const other = memoryRelayStore()
    const second = relayOf(source, other)
    await settled()
    other.setAvailable(false)
    source.put('a', { n: 2 })
    await settled()
    const ending = second.relay.stop({ drainMs: 5_000 })
    await clock.advance(7_000)
    await ending
  })

  test('[Y13] with drainMs ends the delay before the next attempt', async () => {
    const { store, relay, follower } = await withUnavailableStore()
    await clock.advance(60_000) // The delay is between 5 and 10 s now.
    expect(relay.status.state).toBe('backing-off')
    store.setAvailable(true)
    const stopping = relay.stop({ drainMs: 1_000 })
    await clock.advance(2_000)
    await stopping
    expect(follower.content()).toEqual({ a: 1 })
  })

  test('rejects waits for synced, and the end of the informer ends the relay', async () => {
    const source = memorySource<Item>()
    const store = memoryRelayStore()
    store.setAvailable(false)
    const { relay, informer } = relayOf(source, store)
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
  test('are refused with the name of the option', () => {
    const source = memorySource<Item>()
    const informer = createInformer({ source })
    const store = memoryRelayStore()
    expect(() => publish({} as typeof informer, store)).toThrow('publish: the first argument must be an informer')
    expect(() => publish(informer, {} as typeof store)).toThrow('publish: the store must be a relay store')
    expect(() => publish(informer, store, { replicas: 1 as never })).toThrow(
      'publish: option "replicas" must be leases',
    )
    expect(() => relaySource({} as never)).toThrow('relaySource: option "store" is missing')
    expect(() => relaySource({ store, upstream: 1 as never })).toThrow(
      'option "upstream" must have the method hasReached',
    )
    expect(() => relayCache({} as never)).toThrow('relayCache: the store must be a relay store')
    const secrets = createInformer({
      source: { name: 's', isSensitive: true, list: source.list, watch: source.watch },
    })
    expect(() => publish(secrets, store)).toThrow('allow it with secrets: true')
  })
})
