import { describe, expect, test, vi } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import type { IndexBuilder } from '../../../src/store/indexes/index-types.js'
import { SortedIndex } from '../../../src/store/indexes/sorted-index.js'
import { DEFAULT_SLICES } from '../../../src/util/steps.js'
import { assertCleanStop } from '../../support/informers.js'
import { MemoryCache } from '../../support/memory-cache.js'
import type { Indexes, Item, Parity } from '../../support/packed-content.js'
import { begin, failLists, indexes, KEYS, names, SlowClock, saved, whenShown } from '../../support/packed-content.js'

test('[H12] an object of packed content is decoded when it is first read, and stays the same object', async () => {
  const life = await saved()
  let last: Item | undefined
  let entry: unknown
  const world = await whenShown(life, ({ informer }) => {
    const { size, by } = informer
    expect([size, by.parity.count('odd'), by.order.count(19), life.decoded]).toEqual([KEYS, KEYS / 2, 1, []])
    last = informer.get('k19')
    expect([last, Object.isFrozen(last), informer.has('k200')]).toEqual([{ n: 19 }, true, false])
    expect(life.decoded).toEqual(['k19'])
    expect(by.order({ gte: 19 })[0]).toBe(last)
    entry = informer.entry('k19')
  })
  const { informer, clock } = world
  await clock.advance(100)
  expect([informer.get('k19') === last, informer.entry('k19') === entry]).toEqual([true, true])
  // Once for each object: no object is decoded again when the store is filled.
  expect(life.decoded.filter((key) => key === 'k19')).toHaveLength(1)
  expect(world.fold.objects.get('k19')).toBe(last)
  await assertCleanStop(informer, clock)
  expect(life.cache.opened).toBe(0)
})

test('[H14] an object of packed content is absent if it cannot be decoded; one warning and one list follow, and handlers receive it as an add', async () => {
  const life = await saved()
  const world = await whenShown(life, ({ informer }) => {
    life.cache.damagedKeys.add('k17').add('k18')
    expect([informer.get('k18'), informer.has('k18'), informer.get('k16')]).toEqual([undefined, false, { n: 16 }])
    expect(informer.by.parity('even')).toHaveLength(KEYS / 2 - 1)
  })
  const { informer, clock, fold, warnings } = world
  await clock.advance(60_000)
  expect(warnings).toEqual([
    expect.stringContaining('a saved object cannot be used: the block of k18 is damaged; the source is listed'),
  ])
  expect(informer.status).toMatchObject({ state: 'live', isSynced: true, relists: 1 })
  expect(informer.size).toBe(KEYS)
  expect([informer.get('k18'), informer.by.parity('odd').length]).toEqual([{ n: 18 }, KEYS / 2])
  expect(Object.fromEntries(fold.objects)).toEqual(Object.fromEntries(informer.entries()))
  await assertCleanStop(informer, clock)
  expect(life.cache.opened).toBe(0)
})

test('[H14] a mirror that misses an object of packed content is not saved before the next list', async () => {
  const life = await saved()
  life.source.put('k0', { n: 1_000 })
  const mend = failLists(life.source)
  // The first batch of the watch waits until all objects are decoded.
  const first = await whenShown({ ...life, hasHandler: false }, () => void life.cache.damagedKeys.add(`k${KEYS - 1}`))
  await first.clock.advance(5_000)
  expect([first.informer.get('k0'), first.informer.has(`k${KEYS - 1}`)]).toEqual([{ n: 1_000 }, false])
  await assertCleanStop(first.informer, first.clock)
  life.cache.damagedKeys.clear()
  mend()
  const { informer, clock } = begin(life)
  await clock.advance(1_000)
  expect([informer.get('k0'), informer.get(`k${KEYS - 1}`)]).toEqual([{ n: 1_000 }, { n: KEYS - 1 }])
})

test('a mirror that misses an object of packed content, which is read after the stop, is not saved', async () => {
  const life = await saved()
  life.cache.keepsPacked = true
  life.source.put('k0', { n: 1_000 })
  const first = begin({ ...life, hasHandler: false })
  await first.clock.advance(5_000)
  life.cache.damagedKeys.add('k19')
  const stopped = first.informer.stop()
  expect([first.informer.get('k0'), first.informer.get('k19')]).toEqual([{ n: 1_000 }, undefined])
  await first.clock.advance(20_000)
  await stopped
  life.cache.damagedKeys.clear()
  const { informer, clock } = begin(life)
  await clock.advance(1_000)
  expect([informer.get('k0'), informer.get('k19')]).toEqual([{ n: 1_000 }, { n: 19 }])
})

describe('while packed content is decoded', () => {
  test('[H12a] a mirror whose source has not changed is synced', async () => {
    const life = await saved()
    const { informer, clock } = await whenShown({ ...life, hasHandler: false, clock: new SlowClock() }, () => {})
    await informer.synced()
    expect([informer.status.state, informer.size]).toEqual(['live', KEYS])
    expect(new Set(life.decoded).size).toBeLessThan(KEYS / 2)
    await clock.advance(1_000_000)
  })

  test('a list that is due begins when all are decoded', async () => {
    const life = await saved()
    life.cache.serveStale = true
    life.source.delete('k15')
    life.source.compact()
    const { informer, clock, fold } = begin({ ...life, clock: new SlowClock() })
    await clock.advance(2_000)
    expect(informer.status).toMatchObject({ state: 'stale', relists: 1 })
    expect([life.decoded.includes('k1'), informer.get('k15')]).toEqual([true, { n: 15 }])
    await clock.advance(300_000)
    expect(informer.status).toMatchObject({ state: 'live', relists: 1 })
    expect([informer.has('k15'), informer.size, fold.objects.size]).toEqual([false, KEYS - 1, KEYS - 1])
  })

  test('[H13] a snapshot of the empty store stays empty, and later snapshots have all objects', async () => {
    const life = await saved()
    const { informer, clock } = begin(life)
    using empty = informer.snapshot()
    await clock.advance(200)
    using full = informer.snapshot()
    life.source.put('k0', { n: 1_000 })
    life.source.delete('k1')
    await clock.advance(200)
    expect([empty.size, empty.list(), empty.has('k0'), empty.by.parity('even')]).toEqual([0, [], false, []])
    expect([full.size, full.list().length, full.get('k0'), full.has('k1')]).toEqual([KEYS, KEYS, { n: 0 }, true])
    expect([full.by.parity.count('even'), full.by.order.count(1)]).toEqual([KEYS / 2, 1])
  })

  test('[H12] list() returns one array, also afterwards, until an object changes', async () => {
    const life = await saved()
    let list: readonly Item[] = []
    const { informer, clock } = begin(life)
    // As soon as readers see the saved content: its objects are not decoded yet.
    informer.on('status', () => {
      if (list.length === 0) list = informer.list()
    })
    await clock.advance(200)
    expect([informer.list() === list, list.length]).toEqual([true, KEYS])
    life.source.put('k0', { n: 1_000 })
    await clock.advance(200)
    expect([informer.list() === list, informer.list()[0], list[0]]).toEqual([false, { n: 1_000 }, { n: 0 }])
  })

  test('[H13] stop keeps all objects readable, and closes the content', async () => {
    const life = await saved()
    let stopped: Promise<void> | undefined
    const { informer, clock } = await whenShown(life, (world) => {
      stopped = world.informer.stop()
    })
    await clock.advance(100)
    await stopped
    expect(life.cache.opened).toBe(0)
    expect(names.map((name) => informer.get(name)?.n)).toEqual(names.map((_, n) => n))
    expect(informer.by.parity('odd')).toHaveLength(KEYS / 2)
  })

  test('[H13] stop refuses the batch and the new index that wait', async () => {
    const life = await saved()
    life.source.put('k0', { n: 1_000 })
    const version = life.cache.content?.header.version
    // The second slice of the decoding begins after half a second. The batch would fit into one.
    const slices = { ...DEFAULT_SLICES, stepsPerCheck: 15, sliceMs: 0 }
    const { informer, clock } = begin({ ...life, clock: new SlowClock(), slices, hasHandler: false })
    await clock.advance(100)
    expect(informer.version).toBe(version)
    const adding = informer.addIndex('half', (ix) => ix.equal(({ n }) => n >= 10)).catch(({ code }) => code)
    const stopped = informer.stop()
    expect(new Set(life.decoded).size).toBeLessThan(KEYS)
    await clock.advance(10_000)
    await stopped
    expect(new Set(life.decoded).size).toBe(KEYS)
    expect([await adding, informer.version, informer.get('k0')]).toEqual(['STOPPED', version, { n: 0 }])
  })

  test('[H14] an index that throws hides no object before the list that follows', async () => {
    const life = await saved()
    const mend = failLists(life.source)
    const { set } = SortedIndex.prototype
    using spy = vi.spyOn(SortedIndex.prototype, 'set')
    const { informer, clock, warnings } = await whenShown({ ...life, hasHandler: false }, () => {
      spy.mockImplementation(function (this: SortedIndex<unknown>, ordinal, entry) {
        if (entry.key === `k${KEYS / 2}`) {
          spy.mockImplementation(set)
          throw new Error('it is full')
        }
        set.call(this, ordinal, entry)
      })
    })
    await clock.advance(5_000)
    expect(warnings[0]).toContain('a saved object cannot be used: it is full; the source is listed')
    const { by, size } = informer
    expect([size, by.parity.count('odd'), by.parity.count('even')]).toEqual([KEYS, KEYS / 2, KEYS / 2])
    expect([by.order.count(KEYS / 2), by.order.count(KEYS - 1)]).toEqual([1, 1])
    expect(names.map((name) => informer.get(name)?.n)).toEqual(names.map((_, n) => n))
    mend()
    await clock.advance(60_000)
    expect([informer.status.state, informer.size]).toEqual(['live', KEYS])
  })
})

describe('saved index values are not used', () => {
  const others: readonly (readonly [string, (ix: IndexBuilder<Item>) => Indexes])[] = [
    ['if the function of an index has another text', (ix) => ({ ...indexes(ix), order: ix.ordered(({ n }) => 0 + n) })],
    [
      'if an index is of another kind',
      (ix) => ({ ...indexes(ix), parity: ix.multi(({ n }): Parity[] => [n % 2 === 0 ? 'even' : 'odd']) }),
    ],
  ]
  test.each(others)('[H15] %s: all objects are decoded before they are visible', async (_name, declare) => {
    const life = await saved()
    const { informer, clock, warnings } = begin({ ...life, declare })
    const decodedFirst = Promise.withResolvers<number>()
    informer.on('status', () => {
      if (informer.size > 0) decodedFirst.resolve(new Set(life.decoded).size)
    })
    await clock.advance(1)
    expect(await decodedFirst.promise).toBe(KEYS)
    expect(informer.size).toBe(KEYS)
    expect(informer.by.parity.count('odd')).toBe(KEYS / 2)
    expect(informer.by.order({ limit: 1 })).toEqual([{ n: 0 }])
    expect(warnings).toEqual([])
  })

  test('[H15] if a function of the same text returns other values, because it depends on something else', async () => {
    const source = memorySource<Item>({ entries: names.map((name, n) => [name, { n }]) })
    const cache = new MemoryCache()
    cache.isPacked = true
    for (const factor of [1, -1]) {
      const declare = (ix: IndexBuilder<Item>): Indexes => ({
        parity: ix.equal(({ n }) => (n % 2 === 0 ? 'even' : 'odd')),
        order: ix.ordered(({ n }) => n * factor),
      })
      const { informer, clock } = begin({ source, cache, declare })
      while (informer.version === undefined) await clock.advance(1)
      expect(informer.by.order({ limit: 1 })).toEqual([{ n: factor === 1 ? 0 : KEYS - 1 }])
      await clock.advance(100)
      await assertCleanStop(informer, clock)
    }
  })
})

describe('invalid keys of packed content', () => {
  const isSmall = ({ n }: Item): boolean => n < KEYS / 2

  test('[H13] are restored first; an index that is added meanwhile waits until all objects are decoded', async () => {
    const life = await saved({ isValid: isSmall })
    const { informer, clock } = begin({ ...life, clock: new SlowClock() })
    let added: number | undefined
    life.cache.onDecode = (key) => {
      if (key !== `k${KEYS - 2}`) return
      // Not inside the step of the store that decodes the key.
      queueMicrotask(() => {
        const adding = informer.addIndex('half', (ix) => ix.equal(({ n }) => n >= 10))
        void adding.then((half) => (added = half.count(true)))
      })
    }
    await clock.advance(300_000)
    expect([informer.invalid.size, added]).toEqual([KEYS / 2, KEYS / 2 - 10])
  })

  test('[H4] that cannot be decoded cost one list, which is the first one', async () => {
    const life = await saved({ isValid: isSmall })
    life.cache.serveStale = true
    life.cache.damagedKeys.add(`k${KEYS - 1}`)
    const { informer, clock, warnings } = begin(life)
    const states: string[] = []
    informer.on('status', ({ state }) => void states.push(state))
    await clock.advance(100)
    expect(warnings.filter((each) => each.includes('the saved content cannot be used'))).toHaveLength(1)
    expect([informer.status.isSynced, informer.size]).toEqual([true, KEYS / 2])
    expect(states).not.toContain('stale')
  })
})
