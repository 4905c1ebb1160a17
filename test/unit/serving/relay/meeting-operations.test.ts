import { describe, expect, test, vi } from 'vitest'
import {
  type MemoryRelayStore,
  memoryLeases,
  memoryRelayStore,
  memorySource,
} from '../../../../adapters/memory/index.js'
import { relayCache, serveRelay } from '../../../../serving/relay/index.js'
import type { Leases, ListContext, ListPage, WatchBatch, WatchContext } from '../../../../src/adapter.js'
import type { MirrorCache, SavedMirror } from '../../../../src/contract/mirror-cache.js'
import type { RelayStore } from '../../../../src/contract/relay-store.js'
import { createInformer, type ListerWatcher, SourceError, type Version } from '../../../../src/index.js'
import { MemoryCache } from '../../../support/memory-cache.js'
import {
  clock,
  contentAfter,
  context,
  followerOf,
  type Item,
  items,
  meanwhile,
  noAccess,
  type RelayProcess,
  random,
  relayed,
  relayedAndStopped,
  relayFrom,
  relayOf,
  storeOf,
  useRelays,
} from './relays.js'

useRelays()

/** A source whose watch can lose the events of a batch. */
class LossySource implements ListerWatcher<Item> {
  readonly memory = memorySource<Item>({ entries: items('a', 'b') })
  readonly name = this.memory.name
  losesEvents = false

  list(context: ListContext): AsyncIterable<ListPage<Item>> {
    return this.memory.list(context)
  }

  async *watch(context: WatchContext): AsyncIterable<WatchBatch<Item>> {
    for await (const batch of this.memory.watch(context)) yield this.losesEvents ? { ...batch, events: [] } : batch
  }

  hasReached(at: Version, mark: Version): boolean {
    return this.memory.hasReached(at, mark)
  }

  resumeState(mirror: object): string | undefined {
    return this.memory.resumeState?.(mirror)
  }
}

/** Loses a change of `a`, whose version reaches the store, and stops the relay. Then a list repairs the mirror. */
async function loseAndRepair(source: LossySource, { informer, relay }: RelayProcess): Promise<void> {
  source.losesEvents = true
  source.memory.put('a', { n: 1 })
  await clock.advance(6_000)
  await meanwhile(2_000, relay.stop())
  void informer.relist()
  await clock.advance(10_000)
  expect(informer.get('a')).toEqual({ n: 1 })
}

/** The epoch of the header in the store. */
function epochIn(store: MemoryRelayStore): number {
  return Number(/"epoch":(\d+)/.exec(store.texts.get('\0relay') ?? '')?.[1])
}

/** The keys that are deleted from a store from now on. */
function deletesOf(store: MemoryRelayStore): string[] {
  const deleted: string[] = []
  const write = store.write.bind(store)
  store.write = async (changes, ...rest) => {
    deleted.push(...changes.filter(({ text }) => text === undefined).map(({ key }) => key))
    return await write(changes, ...rest)
  }
  return deleted
}

describe('a relay that starts', () => {
  test('[Y8] does not restore the content of a store that is flushed between two reads', async () => {
    const { source, store } = await relayedAndStopped(['a', 'b'])
    let reads = 0
    const flushed = storeOf(store, {
      read: async (...args) => {
        const found = await store.read(...args)
        if (reads++ === 0) store.flush()
        return found
      },
    })
    const second = relayOf(source, flushed)
    await clock.advance(5_000)
    expect([...second.informer.keys()]).toEqual(['a', 'b'])
    expect(await contentAfter(store, 5_000)).toEqual({ a: 0, b: 0 })
  })

  test('[Y4a] restores a store that takes minutes to read, as long as pages arrive, and does not keep the content', async () => {
    const { source, store } = await relayedAndStopped(['a', 'b', 'c'])
    const list = store.collection.list.bind(store.collection)
    vi.spyOn(store.collection, 'list').mockImplementation(async function* (context) {
      for await (const page of list({ ...context, pageSize: 1 })) {
        await clock.sleep(20_000, context.signal)
        yield page
      }
    })
    const own = storeOf(store)
    const cache = relayCache(own)
    let saved: SavedMirror | undefined
    const open: MirrorCache['open'] = async (context) => (saved = await cache.open(context))
    const second = relayOf(source, own, { cache: { ...cache, open } })
    const listed = vi.spyOn(source, 'list')
    await clock.advance(120_000)
    expect([...second.informer.keys()]).toEqual(['a', 'b', 'c'])
    expect(listed).not.toHaveBeenCalled()
    expect(saved?.size).toBe(3)
    const kept: unknown[] = []
    for await (const page of saved?.pages?.() ?? []) kept.push(...page)
    expect(kept).toEqual([])
  })

  test('[Y4] does not restore a store that lacks objects, which it could not take', async () => {
    const { source, store, first } = await relayed(['a'], { maxBytes: 4_000 })
    source.put('long', { n: 'x'.repeat(5_000) })
    await clock.advance(1_000)
    await meanwhile(2_000, first.stop())
    const second = relayOf(source, storeOf(store, { maxBytes: 10_000 }))
    const follower = followerOf(store)
    await clock.advance(10_000)
    expect([...second.informer.keys()]).toEqual(['a', 'long'])
    expect(Object.keys(follower.content())).toEqual(['a', 'long'])
  })

  test.each(['that another cache has restored', 'of an earlier relay'])(
    '[Y4a] over a mirror %s compares the store, which may differ at that version',
    async (which) => {
      const source = new LossySource()
      const store = memoryRelayStore()
      const cache = new MemoryCache()
      const first = relayOf(source, storeOf(store), which === 'of an earlier relay' ? {} : { cache })
      await clock.advance(2_000)
      if (which === 'of an earlier relay') {
        await meanwhile(2_000, first.stop())
        const own = storeOf(store)
        const second = relayOf(source, own)
        await clock.advance(2_000)
        await loseAndRepair(source, second)
        relayFrom(second.informer, own)
      } else {
        await loseAndRepair(source, first)
        await meanwhile(2_000, first.informer.stop())
        relayOf(source, storeOf(store), { cache })
      }
      expect(await contentAfter(store, 10_000)).toEqual({ a: 1, b: 0 })
    },
  )

  test('[Y4a] after its mirror has restored the store and has changed since compares the store', async () => {
    const { source, store, follower } = await relayedAndStopped(['a', 'b'])
    const own = storeOf(store)
    const informer = createInformer({ source, clock, random, cache: relayCache(own) }).start()
    await clock.advance(2_000)
    source.put('a', { n: 1 })
    await clock.advance(2_000)
    relayFrom(informer, own)
    await clock.advance(10_000)
    expect(follower.content()).toEqual({ a: 1, b: 0 })
  })

  test('[Y1a] after its mirror was refused access clears the followers', async () => {
    const { source, store, follower } = await relayedAndStopped(['a'])
    source.fail(noAccess(), 50)
    const informer = createInformer({ source, clock, random, onAccessLost: 'clear' }).start()
    await clock.advance(100)
    expect(informer.status.lastError?.code).toBe('UNAUTHORIZED')
    relayFrom(informer, storeOf(store))
    await clock.advance(100)
    expect(follower.content()).toEqual({})
  })

  test('[Y1] with a store whose content was cleared by an earlier relay does not clear it again', async () => {
    const source = memorySource<Item>({ entries: items('a') })
    const store = memoryRelayStore()
    source.fail(noAccess(), 2)
    const own = storeOf(store)
    const first = relayOf(source, own, { onAccessLost: 'clear' })
    await clock.advance(60_000)
    await meanwhile(5_000, first.stop())
    const follower = followerOf(store)
    await clock.advance(1_000)
    expect(follower.content()).toEqual({ a: 0 })
    const deleted = deletesOf(store)
    relayOf(source, own, { onAccessLost: 'clear' })
    await clock.advance(5_000)
    expect([deleted, follower.content()]).toEqual([[], { a: 0 }])
  })
})

describe('a relay that restored its mirror from the store', () => {
  test('[Y8] repeats a comparison that failed, although the store has the version of the mirror', async () => {
    const { source, store } = await relayedAndStopped(['a'])
    let failing = 0
    const write: RelayStore['write'] = async (...args) => {
      if (failing-- > 0) throw new SourceError('the response was lost', { code: 'UNAVAILABLE' })
      return await store.write(...args)
    }
    relayOf(source, storeOf(store, { write }))
    await clock.advance(2_000)
    // Another relay has written a wrong text at the same version.
    const { text: header = '', position } = await store.read('\0relay', context)
    const text = JSON.stringify({ ...JSON.parse(store.texts.get('a') ?? ''), object: { n: 'wrong' } })
    const foreign = JSON.stringify({ ...JSON.parse(header), writer: 'another' })
    failing = 1
    const changes = [
      { key: 'a', text },
      { key: '\0relay', text: foreign },
    ]
    await store.write(changes, position, context)
    const follower = followerOf(store)
    await clock.advance(2_000)
    expect(follower.content()).toEqual({ a: 'wrong' })
    await clock.advance(60_000)
    expect(follower.content()).toEqual({ a: 0 })
  })

  test('[Y8] compares the store after a failover to the restored content, because its mirror has changed since', async () => {
    const { source, store, follower } = await relayedAndStopped(['a', 'b'])
    let isDamaged = false
    const read: RelayStore['read'] = async (...args) => {
      if (isDamaged) throw new SourceError('the header is not valid', { code: 'PROTOCOL' })
      return await store.read(...args)
    }
    relayOf(source, storeOf(store, { read }))
    await clock.advance(2_000)
    source.put('a', { n: 1 })
    await clock.advance(2_000)
    expect(follower.content()).toEqual({ a: 1, b: 0 })
    isDamaged = true
    await clock.advance(6_000)
    store.fork(2) // The relay took over, and wrote the change.
    isDamaged = false
    await clock.advance(60_000)
    expect(follower.content()).toEqual({ a: 1, b: 0 })
  })

  test('[Y10] writes that an invalid object has its last state again, although it was so when the relay started', async () => {
    const { source, store, first, follower } = await relayed(['a', 'b'])
    source.corrupt('a', new Error('not a number'))
    await clock.advance(2_000)
    await meanwhile(2_000, first.stop())
    expect([...follower.informer.invalid.keys()]).toEqual(['a'])
    source.put('a', { n: 0 })
    const second = relayOf(source, storeOf(store))
    await clock.advance(60_000)
    for (const { informer } of [second, follower]) expect([...informer.invalid.keys()]).toEqual([])
  })
})

test('relays with leases of different groups report CONFLICT, and the error names the group', async () => {
  const replicas = (group: string): Leases => memoryLeases({ group, clock, mode: 'leader' })
  const { source, store, first } = await relayed(['a'], { leases: replicas('one') })
  const second = relayOf(source, storeOf(store), { leases: replicas('two') })
  await clock.advance(10_000)
  source.put('a', { n: 1 })
  await clock.advance(30_000)
  const errors = [...first.errors, ...second.errors].filter(({ code }) => code === 'CONFLICT')
  expect(errors.map(({ message }) => message)).toContainEqual(
    expect.stringMatching(/another relay has written to memory relay: .* its leases are not those of .*(one|two)/),
  )
})

test('a relay that waits after a failed comparison holds no snapshot of its mirror', async () => {
  const source = memorySource<Item>({ entries: items('a') })
  const refused = async (): Promise<never> => {
    throw new SourceError('the engine is away', { code: 'UNAVAILABLE' })
  }
  const informer = createInformer({ source, clock, random })
  let [taken, held] = [0, 0]
  const { snapshot } = informer
  Object.defineProperty(informer, 'snapshot', {
    value: () => {
      const view = snapshot.call(informer)
      const dispose = view[Symbol.dispose].bind(view)
      taken++
      held++
      Object.defineProperty(view, Symbol.dispose, {
        value: () => {
          held--
          dispose()
        },
      })
      return view
    },
  })
  const { relay } = relayFrom(informer, storeOf(memoryRelayStore(), { write: refused }))
  await clock.advance(5_000)
  expect(relay.status.state).toBe('backing-off')
  expect(taken).toBeGreaterThan(1)
  expect(held).toBe(0)
})

describe('a relay that waits for a lease', () => {
  const replicas = (): Leases => memoryLeases({ group: 'relays', clock, mode: 'leader' })

  test('[Y1] and had no access meanwhile does not clear the followers later', async () => {
    const leases = replicas()
    const { source, store, first } = await relayed(['a'], { leases })
    await clock.advance(3_000)
    source.fail(noAccess(), 2)
    const second = relayOf(source, storeOf(store), { leases, onAccessLost: 'clear' })
    await clock.advance(60_000)
    expect([[...second.informer.keys()], second.relay.status.state]).toEqual([['a'], 'standby'])
    const deleted = deletesOf(store)
    await meanwhile(20_000, first.relay.stop())
    expect([second.relay.status.state, deleted]).toEqual(['live', []])
  })

  test('ends when its informer is stopped', async () => {
    const leases = replicas()
    const { source, store, first } = await relayed(['a'], { leases })
    await clock.advance(3_000)
    const second = relayOf(source, storeOf(store), { leases })
    await clock.advance(5_000)
    expect([first.relay.status.state, second.relay.status.state]).toEqual(['live', 'standby'])
    await meanwhile(15_000, second.informer.stop())
    expect([second.relay.status.state, first.relay.status.replica?.members.length]).toEqual(['stopped', 1])
    expect(second.errors).toEqual([])
  })
})

test('a key that the store refuses stops a relay until the source removes it', async () => {
  const { source, store, follower } = await relayedAndStopped(['a'])
  const refusing = storeOf(store, {
    write: async (changes, ...rest) => {
      if (!changes.some(({ key, text }) => key === 'bad' && text !== undefined))
        return await store.write(changes, ...rest)
      throw new SourceError('the key is too long', { code: 'PROTOCOL' })
    },
  })
  const { relay } = relayOf(source, refusing)
  await clock.advance(2_000)
  source.transaction((tx) => {
    tx.put('bad', { n: 1 })
    tx.put('b', { n: 1 })
  })
  await clock.advance(20_000)
  expect(relay.status).toMatchObject({ state: 'backing-off', reason: 'the key is too long' })
  expect(follower.content()).toEqual({ a: 0 })
  source.delete('bad')
  await clock.advance(20_000)
  expect([relay.status.state, follower.content()]).toEqual(['live', { a: 0, b: 1 }])
})

test('[Y8] a relay finds what another client has written to its store, and removes it', async () => {
  const { store, first, follower } = await relayed(['a', 'b'])
  const { position } = await store.read('a', context)
  await store.write([{ key: 'a', text: undefined }], position, context)
  await clock.advance(10_000)
  expect(first.errors.map(({ code }) => code)).toEqual(['CONFLICT'])
  expect([first.relay.status.state, follower.content()]).toEqual(['live', { a: 0, b: 0 }])
})

test.each(['a relay that runs', 'the next relay'])(
  '[Y8] after the header was removed, which leaves the history of the engine, %s begins another epoch',
  async (which) => {
    const { source, store, first } = await relayed(['a', 'b'])
    const before = epochIn(store)
    if (which === 'the next relay') await meanwhile(2_000, first.stop())
    const { position } = await store.read('a', context)
    const changes = Array.from(store.texts.keys(), (key) => ({ key, text: undefined }))
    await store.write(changes, position, context)
    if (which === 'the next relay') relayOf(source, storeOf(store))
    await clock.advance(10_000)
    expect(store.texts.size).toBe(3)
    expect(epochIn(store)).toBeGreaterThan(before)
  },
)

test('[Y12] a follower has a state soon, although the relay has always written a part of a batch when a list ends', async () => {
  const source = memorySource<Item>({ entries: items('a') })
  const memory = memoryRelayStore({ maxChanges: 10 })
  const write: RelayStore['write'] = async (changes, after, context) => {
    await clock.sleep(20, context.signal)
    return await memory.write(changes, after, context)
  }
  relayOf(source, storeOf(memory, { write }))
  const { collection } = memory
  const { name } = collection
  async function* list(context: ListContext): AsyncGenerator<ListPage<string>> {
    while (memory.texts.get('\0relay')?.includes('"isWhole":true')) await clock.sleep(1, context.signal)
    yield* collection.list(context)
  }
  const watch = (context: WatchContext): AsyncIterable<WatchBatch<string>> => collection.watch(context)
  const hasReached = (at: Version, mark: Version): boolean => collection.hasReached(at, mark)
  let n = 0
  const writes = async (ms: number, check: () => void): Promise<void> => {
    for (let until = clock.now() + ms; clock.now() < until; await clock.advance(10)) {
      n++
      source.transaction((tx) => {
        for (let key = 0; key < 100; key++) tx.put(`k${key}`, { n })
      })
      check()
    }
  }
  await writes(2_000, () => {})
  const { content } = followerOf(storeOf(memory, { collection: { name, list, watch, hasReached } }))
  const sizes = new Set<number>()
  await writes(10_000, () => sizes.add(new Set(Object.values(content())).size))
  expect([Object.keys(content()).length, Math.max(...sizes)]).toEqual([101, 2]) // Of `a`, and of the newest transaction.
})

test('a relay without changes tries again soon after a failure, although it was away before', async () => {
  const { store, first } = await relayed(['a'])
  store.setAvailable(false)
  await clock.advance(300_000)
  store.setAvailable(true)
  await clock.advance(60_000)
  expect(first.relay.status.state).toBe('live')
  store.setAvailable(false)
  while (first.relay.status.state === 'live') await clock.advance(100)
  store.setAvailable(true)
  await clock.advance(500)
  expect(first.relay.status.state).toBe('live')
})

test('a source that reports its version and cannot compare versions is published again', async () => {
  const source = memorySource<Item>({ entries: items('a') })
  const { name, list, watch, head } = source
  const plain = { name, list: list.bind(source), watch: watch.bind(source), head: head?.bind(source) }
  const store = memoryRelayStore()
  const first = relayOf(plain, storeOf(store))
  await clock.advance(2_000)
  await meanwhile(2_000, first.stop())
  source.put('a', { n: 1 })
  const { relay } = relayOf(plain, storeOf(store), { cache: undefined })
  await clock.advance(5_000)
  expect(relay.status).toMatchObject({ state: 'live', lastError: undefined })
  expect(await contentAfter(store, 2_000)).toEqual({ a: 1 })
})

test('stop ends a relay whose store cannot be closed', async () => {
  const store = storeOf(memoryRelayStore(), { close: () => Promise.reject(new Error('not closed')) })
  const { relay } = relayOf(memorySource<Item>({ entries: items('a') }), store)
  await clock.advance(1_000)
  await meanwhile(5_000, relay.stop())
  expect(relay.status.state).toBe('stopped')
})

test('serveRelay of an informer that was stopped throws STOPPED, and opens no leases', async () => {
  const informer = createInformer({ source: memorySource<Item>(), clock, random })
  await informer.stop()
  const leases = memoryLeases({ group: 'relays', clock, mode: 'leader' })
  const open = vi.spyOn(leases, 'open')
  expect(() => serveRelay(informer, memoryRelayStore(), { clock, random, leases })).toThrow(
    expect.objectContaining({ code: 'STOPPED' }),
  )
  expect(open).not.toHaveBeenCalled()
})
