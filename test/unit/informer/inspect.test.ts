import { describe, expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import type { ListContext } from '../../../src/contract/source.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { InformerRegistry } from '../../../src/informer/observation/registry.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop, informerOf, mirrorOf, order } from '../../support/informers.js'
import { listed, running } from '../../support/running.js'
import { put, scripted } from '../../support/scripted-source.js'

const orders = Object.entries({ a: order(1, 'acme'), b: order(2, 'acme'), c: order(3, 'beta') })

describe('inspect()', () => {
  test('[O6] has the state, and its transitions with times and reasons', async () => {
    const { clock, source, informer } = informerOf(scripted<number>(), { name: 'states' })
    expect(informer.inspect()).toMatchObject({ name: 'states', state: 'idle', transitions: [] })
    const began = new Date(clock.now()).toISOString()
    informer.start()
    await clock.advance(1_000)
    source.lists[0]?.fail(new Error('refused by the server'))
    await clock.advance(0)
    const { at, state, reason, transitions, sources } = informer.inspect()
    expect({ at, state, reason }).toEqual({
      at: new Date(clock.now()).toISOString(),
      state: 'backing-off',
      reason: 'refused by the server',
    })
    expect(transitions).toEqual([
      { at: began, source: 'scripted', from: 'idle', to: 'listing', reason: 'reading the first list' },
      { at, source: 'scripted', from: 'listing', to: 'backing-off', reason: 'refused by the server' },
    ])
    expect(sources).toMatchObject({
      count: 1,
      first: [{ name: 'scripted', version: null, proof: null, lastError: expect.stringContaining('refused') }],
    })
  })

  test('[O5] keeps the last 50 transitions', async () => {
    const { clock, source, informer } = informerOf(
      listed<number>([put('a', 1)], '1', { onWatch: (watch) => watch.end() }),
    )
    informer.start()
    while (source.watches.length < 30) await clock.advance(10_000)
    const { transitions } = informer.inspect()
    expect(transitions).toHaveLength(50)
    expect(transitions.at(-1)?.to).toBe(informer.status.state)
  })

  test('[O6] describes subscriptions: scope, backlog, the running and the slowest handler', async () => {
    const { clock, source, informer } = mirrorOf(orders, { indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant) }) })
    informer.subscribe({}, { name: 'quick' })
    informer.subscribe(
      { add: ({ key }) => (key === 'a' ? clock.sleep(70) : new Promise(() => {})) },
      { name: 'stuck', where: { tenant: 'acme' }, filter: () => true },
    )
    await informer.start().synced()
    await clock.advance(70)
    informer.changes({ key: 'c' })
    source.put('d', order(4, 'acme'))
    await clock.advance(5_000)
    const { count, first } = informer.inspect().subscriptions
    expect(count).toBe(3)
    expect(first[0]).toEqual({
      name: 'stuck',
      kind: 'subscription',
      scope: { key: null, where: { tenant: 'acme' }, isFiltered: true },
      isSynced: false,
      backlog: { keys: 1, oldestMs: 5_000 },
      running: { key: 'b', ms: 5_000 },
      slowest: { key: 'a', ms: 70, endedAt: new Date(clock.now() - 5_000).toISOString() },
      succeeded: 1,
      failed: 0,
      failing: { count: 0, first: [] },
    })
    const names = first.map(({ name, kind }) => `${name} ${kind}`)
    expect(names).toEqual(['stuck subscription', 'null stream', 'quick subscription'])
    expect(first[1]?.scope).toEqual({ key: 'c', where: {}, isFiltered: false })
  })

  test('[O6] describes the failing keys of a controller', async () => {
    const { clock, informer } = mirrorOf(orders)
    const fail = async (key: string): Promise<void> => {
      if (key !== 'b') throw new Error(`no ${key}`)
    }
    informer.reconcile(fail, { name: 'ledger' })
    await running({ clock, informer })
    const [controller] = informer.inspect().subscriptions.first
    expect(controller).toMatchObject({ name: 'ledger', kind: 'controller', succeeded: 1, failed: 2 })
    expect(controller?.failing).toEqual({
      count: 2,
      first: [
        { key: 'a', attempt: 2, retryInMs: expect.any(Number), lastError: 'no a' },
        { key: 'c', attempt: 2, retryInMs: expect.any(Number), lastError: 'no c' },
      ],
    })
    const retryInMs = controller?.failing.first[0]?.retryInMs
    expect(retryInMs).toBeGreaterThan(0)
    expect(retryInMs).toBeLessThanOrEqual(100)
  })

  test('[O6] has the number of values of each index, and the ten with the most objects', async () => {
    const entries = Array.from({ length: 200 }, (_, i) => [`k${i}`, i] as const)
    const { informer } = mirrorOf<number, object>(entries, {
      indexes: (ix) => ({
        bucket: ix.equal((n) => BigInt(Math.floor(Math.sqrt(n)))),
        parity: ix.multi((n) => [n % 2 === 0, 'all']),
        order: ix.ordered((n) => new Date(Math.floor(n / 100))),
        pair: ix.compound((n) => [n % 3, n % 2]),
      }),
    })
    await informer.start().synced()
    const { count, first } = informer.inspect().indexes
    expect(count).toBe(4)
    const [bucket, parity, ordered, pair] = first
    expect([bucket?.values, bucket?.largest.length]).toEqual([15, 10])
    expect(bucket?.largest.slice(0, 3)).toEqual([
      { value: '13', objects: 27 },
      { value: '12', objects: 25 },
      { value: '11', objects: 23 },
    ])
    expect(parity?.largest).toEqual([
      { value: 'all', objects: 200 },
      { value: 'true', objects: 100 },
      { value: 'false', objects: 100 },
    ])
    expect(ordered).toEqual({
      name: 'order',
      values: 2,
      largest: [
        { value: '1970-01-01T00:00:00.000Z', objects: 100 },
        { value: '1970-01-01T00:00:00.001Z', objects: 100 },
      ],
    })
    expect(pair).toMatchObject({ values: 6, largest: expect.arrayContaining([{ value: '0, 0', objects: 34 }]) })
  })

  test('[O6] does not read the values of an index that has more than 100 000, but has their number', async () => {
    const entries = Array.from({ length: 100_001 }, (_, i) => [`k${i}`, i] as const)
    const { informer } = mirrorOf<number, object>(entries, { indexes: (ix) => ({ each: ix.equal((n) => n) }) })
    await informer.start().synced()
    expect(informer.inspect().indexes.first).toEqual([{ name: 'each', values: 100_001, largest: [] }])
  })

  test('[O6] has invalid objects with their errors', async () => {
    const transform = (n: number): number => {
      if (n >= 2) throw new Error('too large')
      return n
    }
    const { informer } = mirrorOf<number, object>(
      Array.from({ length: 30 }, (_, i) => [`k${i}`, i]),
      { transform },
    )
    await informer.start().synced()
    const { count, first } = informer.inspect().invalid
    expect([count, first.length]).toEqual([28, 20])
    expect(first[0]).toEqual({ key: 'k2', error: expect.stringContaining('too large') })
  })

  test('[O5] can be serialised and is bounded, whatever keys, names, values and errors are', async () => {
    const long = 'x'.repeat(2_000)
    const clock = new VirtualClock()
    const memory = memorySource<bigint>({ entries: Array.from({ length: 30 }, (_, i) => [`${i}${long}`, BigInt(i)]) })
    const source = Object.assign(Object.create(memory) as typeof memory, {
      name: `n${long}`,
      list: (context: ListContext) => memory.list(context),
    })
    const informer = createInformer<bigint, object>({
      source,
      clock,
      indexes: (ix) =>
        Object.fromEntries(Array.from({ length: 80 }, (_, i) => [`i${i}`, ix.equal((n) => `${n}${long}`)])),
    })
    informer.on('error', () => {})
    onTestFinished(() => assertCleanStop(informer, clock))
    for (let i = 0; i < 80; i++) informer.reconcile(() => Promise.reject(new Error(long)), { name: `${i}${long}` })
    await informer.start().synced()
    await clock.advance(10)
    const picture = informer.inspect()
    expect(JSON.parse(JSON.stringify(picture))).toEqual(picture)
    expect(picture.subscriptions).toMatchObject({ count: 80, first: { length: 50 } })
    expect(picture.indexes).toMatchObject({ count: 80, first: { length: 50 } })
    expect(JSON.stringify(picture).length).toBeLessThan(1_000_000)
  })

  test('[O6] has the version, the age of the proof, and the memory, which is estimated from a sample', async () => {
    const entries = Array.from({ length: 1_000 }, (_, i) => [`k${i}`, { name: 'x'.repeat(84), n: i }] as const)
    const { clock, informer } = mirrorOf(entries)
    expect(informer.inspect().memory).toEqual({ bytes: 0, bytesPerObject: 0, sampled: 0 })
    await informer.start().synced()
    await clock.advance(1_500)
    const { version } = informer
    const proof = { version, by: 'list', ageMs: 1_500, foundDrift: 0 }
    expect(informer.inspect().sources.first[0]).toMatchObject({ version, proof })
    const { proxy, revoke } = Proxy.revocable({}, {})
    const { informer: other } = mirrorOf([['a', { name: 'a', n: 1, more: proxy }]])
    await other.start().synced()
    revoke()
    expect(other.inspect().memory).toMatchObject({ sampled: 1 })
    // 24 for the object, 8 for each member, 16 and 84 for the text.
    expect(informer.inspect().memory).toEqual({ bytes: 1_000 * (140 + 150), bytesPerObject: 140, sampled: 100 })
  })
})

test('[O8] the name of an informer is unique among those that were not stopped', async () => {
  const [first, second] = [mirrorOf(orders, { name: 'twin' }).informer, mirrorOf(orders, { name: 'twin' }).informer]
  expect([first.name, second.name]).toEqual(['twin', 'twin#2'])
  await first.stop()
  const next = (): string => mirrorOf(orders, { name: 'twin' }).informer.name
  expect(next()).toBe('twin')
  const third = mirrorOf(orders, { name: 'twin' }).informer
  expect([third.name, next()]).toEqual(['twin#3', 'twin#4'])
  for (const each of [third, second]) await each.stop()
  expect([next(), next(), next()]).toEqual(['twin#2', 'twin#3', 'twin#5'])
})

test('[O7] the registry holds informers weakly', async () => {
  const registry = new InformerRegistry()
  const add = (): void => registry.add({ name: 'lost', inspect: () => expect.fail(), measure: () => expect.fail() })
  add()
  expect(registry.all.map(({ name }) => name)).toEqual(['lost'])
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  const collect = (await import('node:vm')).runInNewContext('gc') as () => void
  for (let turn = 0; turn < 50 && registry.all.length > 0; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    collect()
  }
  expect([registry.all, registry.freeName('lost')]).toEqual([[], 'lost'])
})
