import { describe, expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../../../adapters/memory/index.js'
import { type Compound, SourceError } from '../../../../src/index.js'
import { DecodedEntries } from '../../../../src/store/packed/decoded-entries.js'
import { DEFAULT_SLICES } from '../../../../src/util/steps.js'
import { Fold } from '../../../support/fold.js'
import { assertCleanStop } from '../../../support/informers.js'
import { MemoryCache } from '../../../support/memory-cache.js'
import {
  begin,
  type Indexes,
  type Item,
  indexes,
  KEYS,
  type Life,
  names,
  type World,
} from '../../../support/packed-content.js'

type Kept = Omit<World, 'fold'> & {
  readonly source: ReturnType<typeof memorySource<Item>>
  readonly cache: MemoryCache
  readonly decoded: string[]
}

interface Options extends NonNullable<Life['options']> {
  readonly hasIndexes?: boolean
}

/** Starts a process without a handler, which would decode all objects. */
function open({ source, cache }: Pick<Kept, 'source' | 'cache'>, { hasIndexes = true, ...options }: Options = {}) {
  const decoded: string[] = []
  cache.onDecode = (key) => void decoded.push(key)
  const declare = hasIndexes ? indexes : () => ({}) as Indexes
  const world = begin({ source, cache, declare, hasHandler: false, slices: DEFAULT_SLICES, options })
  onTestFinished(() => assertCleanStop(world.informer, world.clock))
  return { ...world, source, cache, decoded }
}

/** A process that reads packed content in place, after another one has saved it. */
async function kept({
  savesIndexes = true,
  ...options
}: Options & { readonly savesIndexes?: boolean } = {}): Promise<Kept> {
  const source = memorySource<Item>({ entries: names.map((name, n) => [name, { n }]) })
  const cache = new MemoryCache()
  cache.isPacked = true
  const first = open({ source, cache }, { ...options, hasIndexes: savesIndexes })
  await first.clock.advance(100)
  await assertCleanStop(first.informer, first.clock)
  expect(cache.content?.records).toHaveLength(KEYS)
  cache.keepsPacked = true
  const world = open({ source, cache }, options)
  await world.clock.advance(1_000)
  expect(world.informer.status).toMatchObject({ state: 'live', isSynced: true, relists: 0 })
  expect(cache.opened).toBe(1)
  world.decoded.length = 0
  return world
}

describe('packed content that is kept', () => {
  test('[H16] is decoded only as far as it is read, and stays readable after stop', async () => {
    const { informer, clock, decoded, cache } = await kept()
    const { by } = informer
    expect(informer.size).toBe(KEYS)
    expect(by.parity.count('odd')).toBe(KEYS / 2)
    expect(by.order.count(19)).toBe(1)
    expect(informer.has('nothing')).toBe(false)
    expect([[...informer.keys()], decoded]).toEqual([names, []])
    const last = informer.get('k19')
    expect([last, Object.isFrozen(last), informer.get('k19') === last]).toEqual([{ n: 19 }, true, true])
    expect(by.order({ gte: 19, limit: 2 })[0]).toBe(last)
    expect(by.order({ lt: 2, reverse: true })).toEqual([{ n: 1 }, { n: 0 }])
    expect(decoded).toEqual(['k19', 'k20', 'k1', 'k0'])
    const list = informer.list()
    expect(list).toHaveLength(KEYS)
    expect(informer.list()).toBe(list)
    expect(by.parity('even')).toBe(by.parity('even'))
    await clock.advance(100_000)
    expect(cache.opened).toBe(1)
    await assertCleanStop(informer, clock)
    expect(cache.opened).toBe(0)
    expect([informer.get('k19') === last, informer.get('k150')]).toEqual([true, { n: 150 }])
  })

  test('is in snapshots as it was, if keys were deleted between them', async () => {
    const { informer, clock, source } = await kept()
    using first = informer.snapshot()
    source.delete('k0')
    await clock.advance(100)
    using second = informer.snapshot()
    source.put('k1', { n: 1_001 })
    await clock.advance(100)
    using third = informer.snapshot()
    // The layer of the third snapshot, which is newer than the others, has the ordinal of the deleted key.
    source.delete('k1')
    await clock.advance(100)
    expect([first, second, third, informer].map((view) => [view.size, view.get('k0')?.n, view.get('k1')?.n])).toEqual([
      [KEYS, 0, 1],
      [KEYS - 1, undefined, 1],
      [KEYS - 1, undefined, 1_001],
      [KEYS - 2, undefined, undefined],
    ])
  })

  test('[H18] is closed when each of its objects has changed', async () => {
    const { informer, clock, source, cache } = await kept()
    for (const [n, name] of names.entries()) if (n > 0) source.put(name, { n: n + 1_000 })
    await clock.advance(100)
    expect(cache.opened).toBe(1)
    const snapshot = informer.snapshot()
    source.delete('k0')
    await clock.advance(100)
    expect([cache.opened, snapshot.get('k0'), snapshot.size]).toEqual([1, { n: 0 }, KEYS])
    snapshot[Symbol.dispose]()
    source.put('new', { n: 1 })
    await clock.advance(100)
    expect(cache.opened).toBe(0)
    expect(informer.size).toBe(KEYS)
    expect(informer.get('k1')).toEqual({ n: 1_001 })
    expect(informer.has('k0')).toBe(false)
    expect([informer.by.parity.count('even'), informer.by.order({ limit: 1 })]).toEqual([KEYS / 2 - 1, [{ n: 1 }]])
  })

  test('[H17] is compared with a list, whose differences are delivered', async () => {
    const { informer, clock, source } = await kept()
    const fold = new Fold<Item>()
    informer.subscribe(fold.handlers)
    await clock.advance(100)
    const object = informer.get('k7')
    source.disconnect()
    source.delete('k5')
    source.put('k6', { n: 1_000 })
    source.compact()
    await clock.advance(60_000)
    expect(informer.status).toMatchObject({ state: 'live', relists: 1 })
    expect([informer.size, informer.has('k5'), informer.get('k6')]).toEqual([KEYS - 1, false, { n: 1_000 }])
    expect(informer.get('k7')).toBe(object)
    expect(Object.fromEntries(fold.objects)).toEqual(Object.fromEntries(informer.entries()))
  })

  test('[H17] is audited: a deletion that the source did not report is found', async () => {
    const { informer, clock, source } = await kept({ audit: { periodMs: 60_000 } })
    const { watch } = source
    source.disconnect()
    source.watch = async function* losing(context) {
      for await (const batch of watch.call(source, context))
        yield { ...batch, events: batch.events.filter((event) => !('key' in event) || event.key !== 'k5') }
    }
    await clock.advance(5_000)
    source.delete('k5')
    source.put('k6', { n: 1_000 })
    await clock.advance(1_000)
    expect([informer.has('k5'), informer.get('k6')]).toEqual([true, { n: 1_000 }])
    await clock.advance(200_000)
    expect([informer.has('k5'), informer.size, informer.get('k7')]).toEqual([false, KEYS - 1, { n: 7 }])
  })

  test('[H17] is deleted and closed if access is lost', async () => {
    const { informer, clock, source, cache } = await kept({ onAccessLost: 'clear' })
    const fold = new Fold<Item>()
    informer.subscribe(fold.handlers)
    await clock.advance(100)
    expect(fold.objects.size).toBe(KEYS)
    source.watch = () => {
      throw new SourceError('forbidden', { code: 'UNAUTHORIZED' })
    }
    source.disconnect()
    await clock.advance(5_000)
    expect([informer.size, fold.objects.size, informer.by.parity.count('odd'), cache.opened]).toEqual([0, 0, 0, 0])
  })

  test('[H16] is selected from by its index values, and only the selected objects are decoded', async () => {
    const { informer, clock, decoded } = await kept()
    const received: string[] = []
    informer.subscribe({ add: (change) => void received.push(change.key) }, { where: { order: 17 } })
    await clock.advance(100)
    expect([received, decoded]).toEqual([['k17'], ['k17']])
  })

  test('[law 8e] is not decoded for a subscription without an add handler, which receives the later changes', async () => {
    const { informer, clock, source, decoded } = await kept()
    const changes: unknown[] = []
    const record = (change: { readonly type: string; readonly object: Item; readonly previous: Item | undefined }) =>
      void changes.push([change.type, change.object, change.previous])
    const subscription = informer.subscribe({ update: record, delete: record })
    await clock.advance(0)
    await subscription.synced()
    expect([decoded, subscription.version === informer.version]).toEqual([[], true])
    source.put('k3', { n: 1_003 })
    source.delete('k4')
    source.put('new', { n: 1_004 })
    await clock.advance(100)
    expect(changes).toEqual([
      ['update', { n: 1_003 }, { n: 3 }],
      ['delete', { n: 4 }, { n: 4 }],
    ])
    expect(decoded).toEqual(['k3', 'k4'])
  })

  test('[H17] has the values of indexes that it lacks, without its objects', async () => {
    const { informer, clock, source } = await kept({ savesIndexes: false })
    const { by } = informer
    expect([by.parity.count('odd'), by.order({ gte: KEYS - 1 })]).toEqual([KEYS / 2, [{ n: KEYS - 1 }]])
    const pair = await informer.addIndex(
      'pair',
      (ix): Compound<Item, [number, number]> => ix.compound(({ n }) => [n % 3, n]),
    )
    source.put('k2', { n: 1_000 })
    await clock.advance(100)
    expect(pair([2], { limit: 2 })).toEqual([{ n: 5 }, { n: 8 }])
    expect(pair([1], { reverse: true, limit: 2 })).toEqual([{ n: 1_000 }, { n: KEYS - 1 }])
  })

  test('[H18] lacks an object that cannot be decoded; one warning and one list follow, and handlers receive it as an add', async () => {
    const { informer, clock, cache, warnings } = await kept()
    const fold = new Fold<Item>()
    cache.damagedKeys.add('k17').add('k18')
    informer.subscribe(fold.handlers)
    expect([informer.get('k18'), informer.has('k17'), informer.size]).toEqual([undefined, false, KEYS - 2])
    expect([informer.by.parity('even').length, informer.by.parity.count('even')]).toEqual([KEYS / 2 - 1, KEYS / 2 - 1])
    await clock.advance(60_000)
    expect(warnings).toEqual([
      expect.stringContaining('a saved object cannot be used: the block of k18 is damaged; the source is listed'),
    ])
    expect(informer.status).toMatchObject({ state: 'live', relists: 1 })
    expect([informer.size, informer.get('k18'), informer.by.parity('odd').length]).toEqual([KEYS, { n: 18 }, KEYS / 2])
    expect(Object.fromEntries(fold.objects)).toEqual(Object.fromEntries(informer.entries()))
  })

  test('[H18] is saved again with all objects', async () => {
    const { informer, clock, source, cache } = await kept()
    source.put('k0', { n: 1_000 })
    source.delete('k1')
    await clock.advance(100)
    await assertCleanStop(informer, clock)
    const saved = cache.content?.records.map(({ key }) => key)
    expect(saved?.toSorted()).toEqual(names.filter((name) => name !== 'k1').toSorted())
    const next = open({ source, cache })
    await next.clock.advance(1_000)
    expect(next.informer.get('k0')).toEqual({ n: 1_000 })
    expect(next.informer.size).toBe(KEYS - 1)
    expect(next.informer.status.relists).toBe(0)
    expect(next.informer.by.order({ limit: 1 })).toEqual([{ n: 2 }])
  })
})

test('[H16] the table of decoded entries returns the object that is in use, although its entry is not', () => {
  const table = new DecodedEntries<Item>()
  const first = table.add(-5, { key: 'a', object: { n: 1 }, version: '1' })
  const again = table.add(-5, { key: 'a', object: { n: 1 }, version: '1' })
  expect([again.object === first.object, again.version]).toEqual([true, '1'])
  expect(table.get(-5)).toBe(again)
  expect([table.get(-6), table.get(-5 - 256)]).toEqual([undefined, undefined])
})

test('the table of decoded entries returns values without identity as they are', () => {
  const table = new DecodedEntries<unknown>()
  expect(table.add(-1, { key: 'a', object: null }).object).toBe(null)
  expect([table.add(-1, { key: 'a', object: 7 }).object, table.get(-1)]).toEqual([7, undefined])
})
