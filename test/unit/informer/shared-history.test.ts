import { describe, expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { OptionError, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import type { ListerWatcher, WatchBatch } from '../../../src/contract/source.js'
import { splitSource } from '../../../src/contract/split-source.js'
import { derive } from '../../../src/derive/derive.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { groupInformers } from '../../../src/informer/informer-group.js'
import type { Informer, InformerOptions, Lifecycle } from '../../../src/informer/informer-types.js'
import { internalsOf } from '../../../src/informer/internals.js'
import type { StateName } from '../../../src/reflector/reflector-state.js'
import type { Slices } from '../../../src/util/steps.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { FaultyDatabase, type Row } from '../../support/histories.js'
import { outcomeOf } from '../../support/informers.js'
import { MemoryCache } from '../../support/memory-cache.js'
import { SliceClock, sliceEachStep } from '../../support/slice-clock.js'

const NAMES = ['orders', 'customers', 'items'] as const

interface Options extends Pick<InformerOptions<Row, object>, 'audit'> {
  readonly holdMs?: number
  /** Whether the source compares epochs. Default: no. */
  readonly comparesEpochs?: boolean
  readonly isStarted?: boolean
  readonly clock?: VirtualClock
  readonly slices?: Slices
}

const epochOf = (version: string): number => Number(version.split('.')[1])

/** Informers over three collections, which have one row each. */
async function shop(settings: Options = {}) {
  const { holdMs, comparesEpochs = false, isStarted = true, clock = new VirtualClock(), ...options } = settings
  const database = new FaultyDatabase(holdMs === undefined ? {} : { holdMs })
  const started: Lifecycle[] = []
  onTestFinished(async () => {
    await Promise.all([...started.map((each) => each.stop()), clock.advance(1_000)])
    expect([clock.sleeping, database.open], 'timers and watches that are left').toEqual([0, 0])
  })
  const informerOf = (name: string, options: Partial<InformerOptions<Row, object>> = {}): Informer<Row, object> => {
    const isLaterEpoch = (at: string, mark: string): boolean => epochOf(at) < epochOf(mark)
    const source = { ...database.collection(name), ...(comparesEpochs && { isLaterEpoch }) }
    const informer = createInformer({ ...options, source, clock, random: new SeededRandom(1) })
    informer.on('error', () => {})
    started.push(informer)
    return informer
  }
  database.write(Object.fromEntries(NAMES.map((name) => [name, { '1': 1 }])))
  const [orders, customers, items] = NAMES.map((name) => informerOf(name, options)) as [
    Informer<Row>,
    Informer<Row>,
    Informer<Row>,
  ]
  const all = [orders, customers, items]
  const group = groupInformers(all)
  if (isStarted) {
    group.start()
    await clock.advance(0)
  }
  const rows = (): (number | undefined)[] => all.map((informer) => informer.get('1')?.at)
  const write = (at: number): string => database.write(Object.fromEntries(NAMES.map((name) => [name, { '1': at }])))
  const restore = (): unknown =>
    database.database.restore((tx) => {
      for (const name of NAMES) tx.put(database.inner(name), '1', { at: 5 })
    })
  const slow = (name: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    database.slow.set(name, promise)
    return resolve
  }
  const slowRelist = async (): Promise<() => void> => {
    const resolve = slow('items')
    void items.relist().catch(() => {})
    await clock.advance(2_000)
    return resolve
  }
  return { clock, database, orders, customers, items, all, group, rows, write, informerOf, restore, slow, slowRelist }
}

test('[Q2] a handler, a view and a read in the turn of a commit see one transaction in all collections', async () => {
  const { clock, orders, customers, rows, write } = await shop()
  const both = derive({ from: orders, reads: [customers], each: (o, key) => [o.at, customers.get(key)?.at] })
  both.start()
  await clock.advance(0)
  const seen: unknown[] = []
  orders.subscribe({ update: () => void seen.push([...rows(), both.get('1')]) })
  await clock.advance(0)
  const version = write(2)
  const stop = internalsOf(orders)?.signal.listen(() => void seen.push(rows()))
  await clock.advance(0)
  stop?.()
  expect(seen.map(String)).toEqual(['2,2,2', '2,2,2,2,2'])
  expect(both.version).toBe(version)
  await both.stop()
})

test('[Q3] a wait of any informer takes the version of a write to any collection; so does one of a view of them', async () => {
  const { clock, database, orders, customers, items } = await shop()
  const both = derive({ from: orders, reads: [customers], each: (o) => o.at })
  both.start()
  await clock.advance(0)
  const mark = database.write({ items: { '2': 7 } })
  const waits = [orders.waitFor(mark), both.waitFor(mark), both.fresh()]
  await clock.advance(0)
  await Promise.all(waits)
  expect(items.get('2')?.at).toBe(7)
  onTestFinished(async () => void (await both.stop()))
  // The view is as new as the oldest of its inputs.
  database.lost.set('customers', 'NOT_FOUND')
  const later = database.write({ orders: { '1': 9 } })
  const [ofInput, ofView] = [orders.waitFor(later), both.waitFor(later)]
  await clock.advance(0)
  await ofInput
  expect(both.get('1')).toBe(9)
  expect(await outcomeOf(ofView, clock)).toBe('pending')
  await clock.advance(10_000)
  await ofView
})

test('[Q4] first lists become visible together, after a batch that brings all to one version', async () => {
  const { clock, all, group, rows, write, slow } = await shop({ isStarted: false })
  const resolve = slow('items')
  group.start()
  await clock.advance(20_000)
  write(2)
  expect([rows(), all.map(({ status }) => status.isSynced)]).toEqual([Array(3), [false, false, false]])
  resolve()
  await clock.advance(0)
  expect(rows()).toEqual([2, 2, 2])
  expect(all.map(({ status }) => status.state)).toEqual(['live', 'live', 'live'])
})

test('[Q4] the first lists wait for a collection that is lost with their first batch', async () => {
  const { clock, database, group, orders, rows } = await shop({ isStarted: false })
  const seen: unknown[] = []
  orders.subscribe({ add: () => void seen.push(rows()) })
  database.lost.set('items', 'VERSION_EXPIRED')
  group.start()
  await clock.advance(5_000)
  expect(seen).toEqual([[1, 1, 1]])
})

test('[Q4] a first list that takes longer than `holdMs` becomes visible after the others', async () => {
  const { clock, all, group, rows, slow } = await shop({ holdMs: 5_000, isStarted: false })
  const resolve = slow('items')
  group.start()
  await clock.advance(4_900)
  expect(rows()).toEqual(Array(3))
  await clock.advance(200)
  expect(rows()).toEqual([1, 1, undefined])
  expect(all.map(({ status }) => status.isSynced)).toEqual([true, true, false])
  resolve()
  await clock.advance(0)
  expect(rows()).toEqual([1, 1, 1])
})

describe('[Q5] a collection that is listed again holds the others', () => {
  test.each<[string, (world: Awaited<ReturnType<typeof shop>>) => void]>([
    ['after its history expired', ({ database }) => database.lost.set('items', 'VERSION_EXPIRED')],
    ['after relist()', ({ items }) => void items.relist().catch(() => {})],
  ])('%s, until its list is in', async (_name, begin) => {
    const world = await shop()
    const { clock, all, orders, rows, write, slow } = world
    const resolve = slow('items')
    const reported: string[] = []
    orders.on('error', ({ message }) => reported.push(message))
    begin(world)
    write(2)
    await clock.advance(25_000)
    expect([rows(), orders.status.state]).toEqual([[1, 1, 1], 'live'])
    resolve()
    await clock.advance(0)
    expect([rows(), new Set(all.map(({ version }) => version)).size, reported]).toEqual([[2, 2, 2], 1, []])
  })

  test.each(Array.from({ length: 20 }, (_, at) => at))('after relist() %i microtasks after a batch', async (count) => {
    const { clock, database, all, items, rows, write } = await shop()
    database.slow.set('items', clock.sleep(5_000, new AbortController().signal))
    database.onBatch = async () => {
      database.onBatch = undefined
      for (let at = 0; at < count; at++) await Promise.resolve()
      void items.relist().catch(() => {})
    }
    const seen = new Set<string>()
    for (const { signal } of all.flatMap((each) => internalsOf(each) ?? []))
      signal.listen(() => seen.add(rows().join()))
    write(2)
    await clock.advance(2_000)
    expect(items.status.state).toBe('relisting')
    write(3)
    await clock.advance(8_000)
    expect([...seen].filter((each) => !['1,1,1', '2,2,2', '3,3,3'].includes(each))).toEqual([])
    expect(rows()).toEqual([3, 3, 3])
    expect(all.map(({ status }) => status.state)).toEqual(['live', 'live', 'live'])
  })

  test('also while the watch brings all to one version for a minute', async () => {
    const { clock, database, orders, items, rows, write } = await shop()
    database.catchUpS = 60
    void items.relist().catch(() => {})
    await clock.advance(2_000)
    write(2)
    await clock.advance(50_000)
    expect(rows()).toEqual([1, 1, 1])
    await clock.advance(20_000)
    expect([rows(), orders.status.reconnects]).toEqual([[2, 2, 2], 0])
  })

  test('[C1] also the watch of one that has left, or has saved content, while the history works for a minute', async () => {
    const { clock, database, items, rows, write } = await shop({ holdMs: 0 })
    database.lost.set('items', 'UNAVAILABLE')
    write(2)
    await clock.advance(0)
    database.catchUpS = 60
    await clock.advance(61_000)
    expect([rows(), items.status.reconnects]).toEqual([[2, 2, 2], 1])
  })

  test('[Q7] for at most `holdMs`: then it says that the others continue, keeps its rows, and returns', async () => {
    const { clock, items, rows, write, slowRelist } = await shop({ holdMs: 5_000 })
    const resolve = await slowRelist()
    write(2)
    await clock.advance(2_900)
    expect([rows(), items.health().isReady]).toEqual([[1, 1, 1], true])
    await clock.advance(3_000)
    expect(rows()).toEqual([2, 2, 1])
    expect(items.health()).toMatchObject({
      isReady: false,
      reason: 'relisting: requested by relist(); the other collections of shop continue',
    })
    write(3)
    await clock.advance(0)
    expect(rows()).toEqual([3, 3, 1])
    resolve()
    await clock.advance(0)
    expect([rows(), items.health().isReady]).toEqual([[3, 3, 3], true])
  })

  test('for at most `holdMs`, also if another one is written when that ends, and is listed next', async () => {
    const clock = new SliceClock()
    const world = await shop({ clock, holdMs: 5_500, slices: sliceEachStep(1) })
    const { database, orders, customers, items, rows, write } = world
    database.write({ orders: { '2': 1, '3': 1 } })
    await clock.advance(0)
    for (const name of ['customers', 'items']) database.slow.set(name, new Promise(() => {}))
    void items.relist().catch(() => {})
    await clock.advance(4_500)
    write(2)
    clock.hold()
    const indexed = orders.addIndex('at', (ix) => ix.equal((row) => row.at))
    await clock.advance(3_000)
    void customers.relist().catch(() => {})
    await clock.release()
    await clock.advance(10_000)
    await indexed
    expect(rows()).toEqual([2, 1, 1])
  })

  test('without a limit if `holdMs` is Infinity, and the watches of the others do not count as silent', async () => {
    const { clock, orders, rows, write, slowRelist } = await shop({ holdMs: Infinity })
    await slowRelist()
    write(2)
    await clock.advance(600_000)
    expect([rows(), orders.status.state, orders.status.reconnects]).toEqual([[1, 1, 1], 'live', 0])
  })
})

test.each<[string, SourceErrorCode | 'damage']>([
  ['was dropped', 'NOT_FOUND'],
  ['cannot be written', 'damage'],
])('[Q6] a collection that %s leaves at once, and the others continue', async (_name, fault) => {
  const { clock, database, items, rows, write } = await shop({ holdMs: Infinity })
  database.lost.set('items', fault)
  write(2)
  await clock.advance(0)
  expect([rows(), items.status.state]).toEqual([[2, 2, 1], 'failed'])
  await clock.advance(10_000)
  expect([rows(), items.status.state]).toEqual([[2, 2, 2], 'live'])
})

test('[Q6] a collection that is stopped in the middle of a large commit leaves it', async () => {
  const clock = new SliceClock()
  const { orders, items, rows, write } = await shop({ clock, slices: sliceEachStep(1) })
  write(2)
  clock.hold()
  await clock.advance(0)
  await clock.slice()
  expect([rows(), clock.isPaused]).toEqual([[1, 1, 1], true])
  const stopped = orders.stop()
  await clock.release()
  await clock.advance(0)
  await stopped
  expect([rows(), items.status.state]).toEqual([[1, 2, 2], 'live'])
})

test('[Q8] after another epoch each collection is listed once, and all change in one commit', async () => {
  const { clock, all, items, orders, rows, slow, restore } = await shop()
  const seen: unknown[] = []
  orders.subscribe({ add: () => void seen.push(rows()) })
  const resolve = slow('items')
  restore()
  await clock.advance(10_000)
  expect([rows(), items.status.state]).toEqual([[1, 1, 1], 'relisting'])
  resolve()
  await clock.advance(0)
  expect([...seen, all.map(({ status }) => status.relists)].map(String)).toEqual(['1,1,1', '5,5,5', '1,1,1'])
})

test('[Q8] a list of the epoch before is read again at once with all others', async () => {
  const { clock, database, all, rows, restore, slowRelist } = await shop()
  const resolve = await slowRelist()
  database.database.disconnect()
  restore()
  resolve()
  await clock.advance(10_000)
  expect(rows()).toEqual([5, 5, 5])
  expect(all.map(({ status }) => status.relists)).toEqual([1, 1, 2])
})

test.each([true, false])(
  '[Q8] a list of the epoch before is read again alone beside later ones (the source knows: %s)',
  async (comparesEpochs) => {
    const { clock, orders, customers, rows, restore, slowRelist } = await shop({ holdMs: 1_000, comparesEpochs })
    const resolve = await slowRelist()
    restore()
    await clock.advance(10_000)
    expect(rows()).toEqual([5, 5, 1])
    resolve()
    await clock.advance(10_000)
    expect([rows(), orders.status.relists, customers.status.relists]).toEqual([[5, 5, 5], 1, 1])
  },
)

test('[C9][Q8] a collection that comes back with the epoch before is listed, and the others are not', async () => {
  const { clock, database, all, items, rows, write, restore } = await shop({ holdMs: 0 })
  for (const at of [2, 3, 4]) {
    database.lost.set('items', 'UNAVAILABLE')
    write(at)
    await clock.advance(at < 4 ? 3_000 : 0)
  }
  restore()
  for (let ms = 0; ms < 1_000 && rows()[0] !== 5; ms += 10) await clock.advance(10)
  expect([rows(), items.status.state]).toEqual([[5, 5, expect.any(Number)], 'backing-off'])
  await clock.advance(20_000)
  expect(rows()).toEqual([5, 5, 5])
  expect(all.map(({ status }) => status.relists)).toEqual([1, 1, 1])
})

test('[Q9] an informer that starts later joins in one commit, and the others advance until then', async () => {
  const { clock, database, rows, write, informerOf, slow } = await shop()
  database.inner('late')
  const resolve = slow('late')
  const late = informerOf('late').start()
  await clock.advance(0)
  database.write({ orders: { '1': 2 }, late: { '1': 2 } })
  await clock.advance(0)
  expect([rows(), late.status.isSynced]).toEqual([[2, 1, 1], false])
  write(3)
  resolve()
  await clock.advance(0)
  expect([rows(), late.get('1')?.at, late.status.state]).toEqual([[3, 3, 3], 2, 'live'])
})

test.each<[string, number | undefined, StateName]>([
  ['is unchanged joins without a write', undefined, 'live'],
  ['cannot be read is listed', 1, 'listing'],
])('[Q9] a later informer whose saved content %s, and the others advance', async (_name, damagedPage, state) => {
  const { clock, database, rows, write, informerOf } = await shop()
  const cache = new MemoryCache()
  database.inner('late')
  database.write({ late: { '1': 1 } })
  const saved = informerOf('late', { cache }).start()
  await clock.advance(0)
  await Promise.all([saved.stop(), clock.advance(1_000)])
  database.slow.set('late', new Promise(() => {}))
  cache.damagedPage = damagedPage
  const late = informerOf('late', { cache }).start()
  await clock.advance(0)
  write(2)
  await clock.advance(0)
  expect([rows(), late.status.state, late.health().isReady]).toEqual([[2, 2, 2], state, state === 'live'])
})

test('[Q10] one watch serves all; an informer that stops leaves it, also while the others wait for it, and the last one closes it', async () => {
  const { clock, database, orders, customers, items, rows, write, slowRelist } = await shop({ holdMs: Infinity })
  expect([database.opened, database.open]).toEqual([1, 1])
  await slowRelist()
  write(2)
  await Promise.all([items.stop(), clock.advance(1_000)])
  expect(rows()).toEqual([2, 2, 1])
  await Promise.all([orders.stop(), customers.stop(), clock.advance(1_000)])
  expect(database.open).toBe(0)
})

test('[Q10] the watch that was opened after the first lists knows the waits and audits of each', async () => {
  const { clock, database, orders, items } = await shop({ audit: { periodMs: 3_600_000 } })
  const { context } = database
  let requests = 0
  context?.onProgressRequest(() => void requests++)
  expect([database.opened, context?.hasWaiters?.(), requests]).toEqual([1, false, 0])
  const wait = orders.waitFor('9999.1.1', { timeoutMs: 1_000 }).catch(() => {})
  expect([context?.hasWaiters?.(), requests]).toEqual([true, 1])
  context?.requestAudit?.('a change may be lost')
  await clock.advance(60_000)
  await wait
  expect([orders.status.proof?.by, items.status.proof?.by]).toEqual(['audit', 'audit'])
})

test('[Q10] a watch that breaks is opened once for all, and costs no list that was read', async () => {
  const { clock, database, all, items, rows, write, slowRelist } = await shop()
  const resolve = await slowRelist()
  database.database.disconnect()
  // The next watch fails while the list that was read waits for it.
  database.database.fail(new SourceError('again', { code: 'UNAVAILABLE' }))
  write(2)
  resolve()
  await clock.advance(5_000)
  expect(rows()).toEqual([2, 2, 2])
  database.database.disconnect()
  await clock.advance(5_000)
  expect([items.status.relists, database.open]).toEqual([1, 1])
  expect(all.every(({ status }) => status.state === 'live')).toBe(true)
})

test('[Q10] relists that wait for a slot of their group and for each other do not block', async () => {
  const { clock, database, all } = await shop({ holdMs: Infinity, isStarted: false })
  groupInformers(all, { maxRelists: 1 }).start()
  await clock.advance(0)
  database.database.restore((tx) => tx.put(database.inner('orders'), '1', { at: 5 }))
  await clock.advance(10_000)
  expect(all.map(({ status }) => status.state)).toEqual(['live', 'live', 'live'])
})

test('[C1][Q10] a watch that is silent while all first lists wait for it is opened again', async () => {
  const { clock, database, group, rows } = await shop({ isStarted: false })
  database.isSilent = true
  group.start()
  await clock.advance(5_000)
  expect([rows(), database.opened]).toEqual([[undefined, undefined, undefined], 1])
  await clock.advance(60_000)
  expect([rows(), database.opened]).toEqual([[1, 1, 1], 2])
})

test('[Q10] a second informer of the same collection is refused with an OptionError', async () => {
  const { clock, database, all, informerOf } = await shop()
  const second = informerOf('orders').start()
  expect(await outcomeOf(second.synced(), clock)).toEqual({ rejected: expect.any(OptionError) })
  database.database.disconnect()
  await clock.advance(5_000)
  expect(all.map(({ status }) => status.state)).toEqual(['live', 'live', 'live'])
})

test('[Q1] the collections of a split source have its keys and change in one commit', async () => {
  const clock = new VirtualClock()
  const source = memorySource<number>({ entries: [['a/1', 1]] })
  const split = splitSource(source, (key) => key.split('/')[0])
  const [a, b] = ['a', 'b'].map((name) =>
    createInformer({ source: split.collection<number>(name), clock, random: new SeededRandom(1) }).start(),
  )
  onTestFinished(async () => void (await Promise.all([a?.stop(), b?.stop(), clock.advance(1_000)])))
  await clock.advance(0)
  source.transaction((tx) => {
    tx.put('a/1', 2)
    tx.put('b/1', 2)
    tx.put('other', 3)
  })
  await clock.advance(0)
  expect([[...(a?.entries() ?? [])], [...(b?.entries() ?? [])]]).toEqual([[['a/1', 2]], [['b/1', 2]]])
  expect(() => splitSource({ ...source, hasReached: undefined } as never, () => 'a')).toThrow(/cannot compare versions/)
})

/** Two collections of a source whose batches have all objects. `fail` rejects the next lists of the second one. */
function polled(fail: () => boolean = () => false) {
  const clock = new VirtualClock()
  const state = { now: 1 }
  const entries = () => ['a', 'b'].map((name) => ({ key: `${name}/${state.now}`, object: state.now }))
  const source: ListerWatcher<unknown> = {
    name: 'polled',
    async *list({ collection }) {
      if (collection === 'b' && fail()) throw new SourceError('it is away', { code: 'UNAVAILABLE' })
      yield { events: entries().map((entry) => ({ ...entry, type: 'put' as const })), version: `${state.now}` }
    },
    async *watch({ after, signal }) {
      for (let at = Number(after); ; await clock.sleep(1_000, signal)) {
        yield { version: `${state.now}`, events: state.now > at ? [{ type: 'replace', entries: entries() }] : [] }
        at = state.now
      }
    },
    hasReached: (at, mark) => Number(at) >= Number(mark),
  }
  const split = splitSource(source, (key) => key.split('/')[0])
  const all = ['a', 'b'].map((name) =>
    createInformer({ source: split.collection<number>(name), clock, random: new SeededRandom(1) }),
  )
  for (const each of all) each.on('error', () => {}).start()
  onTestFinished(async () => void (await Promise.all([...all.map((each) => each.stop()), clock.advance(1_000)])))
  return { clock, state, all }
}

test('[Q5] a collection of a source that replaces all objects comes back with a version that the others reach later', async () => {
  const { clock, state, all } = polled()
  await clock.advance(500)
  state.now = 2
  const relisted = all[1]?.relist()
  await clock.advance(10_000)
  await relisted
  expect(all.map((each) => String([each.list(), each.status.state]))).toEqual(['2,live', '2,live'])
})

test('[Q4] first lists of a source that replaces all objects become visible together, whichever of them is later', async () => {
  let isAway = true
  const { clock, state, all } = polled(() => isAway)
  await clock.advance(500)
  state.now = 2
  isAway = false
  const seen = new Set<string>()
  for (let ms = 0; ms < 10_000; ms += 10) {
    await clock.advance(10)
    seen.add(all.map(({ size }) => size).join())
  }
  expect([...seen]).toEqual(['0,0', '1,1'])
  expect(all.map((each) => each.list())).toEqual([[2], [2]])
})

test('[I7] a first list has the last of several states that the batch of its history has for one key', async () => {
  const clock = new VirtualClock()
  const source: ListerWatcher<number> = {
    name: 'source',
    async *list() {
      yield { events: [], version: '1' }
    },
    async *watch({ after, signal }) {
      const events = [5, 6].map((object) => ({ type: 'put', key: 'a/1', object, version: '2' }) as const)
      if (after === '1') yield { version: '2', events }
      await clock.sleep(Infinity, signal)
    },
    hasReached: (at, mark) => Number(at) >= Number(mark),
  }
  const split = splitSource(source, (key) => key.split('/')[0])
  const a = createInformer({ source: split.collection<number>('a'), clock, random: new SeededRandom(1) })
  onTestFinished(async () => void (await Promise.all([a.stop(), clock.advance(1_000)])))
  await Promise.all([a.start().synced(), clock.advance(10)])
  expect([...a.entries()]).toEqual([['a/1', 6]])
})

const put = (key: string, at: number) => ({ type: 'put', key, object: { at } }) as const
const replace = (...keys: readonly string[]) =>
  ({ type: 'replace', entries: keys.map((key) => ({ key, object: {} })) }) as const
const invalid = (key: string) => ({ type: 'invalid', key, error: new Error('unknown') }) as const
const repeated = { version: '6', events: [put('a/1', 5), put('a/1', 6)] }

test.each<[string, Readonly<Record<string, string>>, readonly WatchBatch<unknown>[], unknown]>([
  [
    '[I3][I6][C33] repeats its batches brings no collection back to an earlier state',
    { a: '4', b: '8' },
    [
      { version: '3', events: [put('a/1', 3)] },
      ...[repeated, repeated],
      { version: '8', events: [put('b/1', 8)] },
      { version: '7', events: [put('a/1', 7)] },
    ],
    { version: '8', parts: { a: [put('a/1', 5), put('a/1', 6), put('a/1', 6)], b: [put('b/1', 8)] } },
  ],
  [
    '[I3] merges its batches notifies no handler of a state that the list of its collection was later than',
    { a: '6', b: '2' },
    [{ version: '7', events: [put('a/1', 3), put('b/1', 3), put('b/1', 5), put('a/1', 6), put('a/1', 7)] }],
    { version: '7', parts: { a: [put('a/1', 7)], b: [put('b/1', 3), put('b/1', 5)] } },
  ],
  [
    '[I7] replaces all objects keeps no object that was invalid in a replace before',
    { a: '2', b: '4' },
    [
      { version: '3', events: [invalid('a/1'), replace('a/2')] },
      { version: '4', events: [replace('a/2', 'a/3')] },
    ],
    { version: '4', parts: { a: [replace('a/2', 'a/3')], b: [replace()] } },
  ],
  [
    '[I7] yields an event of an unknown type with a replace keeps the object of its key',
    { a: '4', b: '2' },
    [{ version: '4', events: [replace('a/1'), { type: 'annotate', key: 'a/1' } as never] }],
    { version: '4', parts: { a: [replace('a/1'), { type: 'annotate', key: 'a/1' }], b: [replace()] } },
  ],
])('a split source that %s', async (_, positions, batches, expected) => {
  const source: ListerWatcher<unknown> = {
    name: 'source',
    async *list() {},
    async *watch() {
      yield* batches
    },
    hasReached: (at, mark) => Number(at) >= Number(mark),
  }
  const { signal } = new AbortController()
  const context = { signal, clock: new VirtualClock(), random: new SeededRandom(1), onProgressRequest: () => {} }
  const { history } = splitSource(source, (key) => key.split('/')[0]).collection('a')
  const found: unknown[] = []
  for await (const { parts, ...batch } of history.watch({ ...context, positions: new Map(Object.entries(positions)) }))
    found.push({ ...batch, parts: Object.fromEntries(parts) })
  expect(found).toEqual([expected])
})
