import { describe, expect, test } from 'vitest'
import type { ListEvent } from '../../../src/adapter.js'
import { type Change, Indexer, type Informer, SourceError, type StoreView, sourceSet } from '../../../src/index.js'
import { CLOSE_GRACE_MS } from '../../../src/subscriptions/subscription-types.js'
import { breakEqualIndexes } from '../../support/broken-index.js'
import { Fold } from '../../support/fold.js'
import { outcomeOf } from '../../support/informers.js'
import { heard, running } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'
import { SliceClock, sliceEachStep } from '../../support/slice-clock.js'
import { type Indexes, type Item, indexes, item, liveOf, type Options, sliced } from '../../support/sliced-informers.js'

const SLICES = sliceEachStep(0)

/** A list that is requested begins within this time. */
const LIST_DELAY_MS = 5_000
const FIRST: readonly ListEvent<Item>[] = [put('a', item(1)), put('b', item(2)), put('c', item(3)), put('d', item(4))]

const live = (options: Options = {}) => liveOf(FIRST, options)

type World = Awaited<ReturnType<typeof live>>

const BATCH = [
  put('a', item(10)),
  { type: 'delete', key: 'b' },
  put('e', item(5)),
  { type: 'invalid', key: 'x', error: new Error('broken') },
] as const

/** Sends a batch. Its write has begun, and is not committed. */
async function sent(world: World): Promise<void> {
  world.source.watches.at(-1)?.batch(BATCH, '2')
  await world.clock.advance(0)
  expect(world.clock.isPaused).toBe(true)
}

function contents(view: StoreView<Item, Indexes>): Record<string, unknown> {
  const keys = ['a', 'b', 'c', 'd', 'e', 'x']
  const sorted = (objects: Iterable<Item>) => Array.from(objects, ({ n }) => n).sort((a, b) => a - b)
  return {
    get: keys.map((key) => view.get(key)?.n),
    has: keys.map((key) => view.has(key)),
    entry: keys.map((key) => view.entry(key)?.object.n),
    keys: [...view.keys()].sort(),
    entries: [...view.entries()].map(([key, { n }]) => `${key}${n}`).sort(),
    list: sorted(view.list()),
    size: view.size,
    version: view.version,
    equal: ['even', 'odd'].map((kind) => sorted(view.by.kind(kind))),
    equalEntries: [...view.by.kind.entries('odd')].map(([key]) => key).sort(),
    counts: ['even', 'odd'].map((kind) => view.by.kind.count(kind)),
    values: [...view.by.kind.values()].sort(),
    multi: sorted(view.by.tags('n10')),
    ordered: view.by.n({ gte: 2 }).map(({ n }) => n),
  }
}

function seen(informer: Informer<Item, Indexes>): Record<string, unknown> {
  using snapshot = informer.snapshot()
  const view = contents(informer)
  expect(contents(snapshot)).toEqual(view)
  return { ...view, invalid: [...informer.invalid.keys()] }
}

const told = (informer: World['informer'], options: Parameters<World['informer']['subscribe']>[1] = {}): string[] =>
  heard(informer, ({ type, key, object }) => `${type} ${key}${object.n}`, options)

describe('a large batch', () => {
  test('[W2] becomes visible to all readers in one step', async () => {
    const world = await live()
    const { clock, informer } = world
    const before = seen(informer)
    await sent(world)
    const slices = await clock.slices(() => {
      if (informer.version === '2') return true
      expect(seen(informer)).toEqual(before)
      return false
    })
    expect(slices).toBeGreaterThan(3)
    const after = seen(informer)
    expect(after).toMatchObject({ size: 4, version: '2', list: [3, 4, 5, 10], ordered: [3, 4, 5, 10], invalid: ['x'] })
    await clock.slices()
    expect(seen(informer)).toEqual(after)
  })

  test.each(['every', 'latest'] as const)('[W3] is one batch of delivery %s, after all is queued', async (delivery) => {
    const world = await live()
    const { clock, informer } = world
    const stream = informer.changes({ delivery })[Symbol.asyncIterator]()
    expect((await stream.next()).value?.changes).toHaveLength(4)
    await sent(world)
    const slices = await clock.slices(() => informer.version === '2')
    expect([slices > 3, clock.isPaused]).toEqual([true, delivery === 'latest'])
    const next = stream.next()
    if (delivery === 'latest') expect(await outcomeOf(next, clock)).toBe('pending')
    await clock.slices()
    const { value } = await next
    expect(value?.version).toBe('2')
    const changes = value?.changes.map(({ type, key }: Change<Item>) => `${type} ${key}`)
    expect(changes?.toSorted()).toEqual(['add e', 'delete b', 'update a'])
  })

  test('that overflows a queue ends a drain in time, also while a handler hangs', async () => {
    const world = await live()
    const { clock, informer, errors } = world
    told(informer, { delivery: 'latest' })
    const signals: AbortSignal[] = []
    const add = (_change: Change<Item>, { signal }: { readonly signal: AbortSignal }): Promise<void> => {
      signals.push(signal)
      return new Promise(() => {})
    }
    // With a filter its changes are queued in a later step than they are read.
    const subscription = informer.subscribe({ add }, { capacity: 1, onOverflow: 'fail', filter: () => true })
    await clock.advance(0)
    await sent(world)
    await clock.slices(() => informer.version === '2')
    const before = errors.length
    const closed = subscription.close({ drain: true })
    expect([clock.isPaused, await outcomeOf(closed, clock)]).toEqual([true, 'pending'])
    await clock.slices()
    expect([errors.length, signals[0]?.aborted]).toEqual([before + 1, true])
    await clock.advance(CLOSE_GRACE_MS)
    expect(await outcomeOf(closed, clock)).toBe('resolved')
  })

  test('is not delivered by a resync before it is committed', async () => {
    const world = await live()
    const { clock, informer } = world
    const lines = told(informer, { filter: ({ n }) => n !== 2, resyncMs: 1_000 })
    await clock.slices()
    expect(lines).toEqual(['add a1', 'add c3', 'add d4'])
    await sent(world)
    await clock.advance(1_000)
    expect(clock.isPaused).toBe(true)
    expect(lines.slice(3)).toEqual(['update a1', 'update c3', 'update d4'])
  })

  test('[W6] stays invisible after stop, which resolves at once', async () => {
    const world = await live()
    const { clock, informer } = world
    const before = seen(informer)
    const lines = told(informer)
    await sent(world)
    await clock.slice()
    const stopped = informer.stop()
    await clock.slice()
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
    expect(clock.isPaused).toBe(false)
    expect({ ...contents(informer), invalid: [...informer.invalid.keys()] }).toEqual(before)
    expect(lines).toEqual(['add a1', 'add b2', 'add c3', 'add d4'])
  })

  test('[W6] is delivered whole by stop({ drainMs }) while it is routed', async () => {
    const world = await live()
    const { clock, informer } = world
    const lines = told(informer, { filter: () => true })
    await sent(world)
    await clock.slices(() => informer.version === '2')
    expect(clock.isPaused).toBe(true)
    const stopped = informer.stop({ drainMs: 5_000 })
    await clock.slices()
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
    expect(lines.slice(4)).toEqual(['update a10', 'delete b2', 'add e5'])
  })

  test('[W4] resolves waits for its version at the commit', async () => {
    const world = await live()
    const { clock, informer } = world
    const ends: string[] = []
    informer.subscribe({}, { filter: () => true })
    void informer.waitFor('2').then(() => ends.push('waitFor'))
    void informer.until('e', (object) => object !== undefined).then(() => ends.push('until'))
    await sent(world)
    await clock.slices(() => {
      if (informer.version === '1') expect(ends).toEqual([])
      return informer.version === '2'
    })
    await clock.advance(0)
    expect(clock.isPaused).toBe(true)
    expect(ends.sort()).toEqual(['until', 'waitFor'])
  })

  test('[W3] resolves the wait of a subscription after its handlers', async () => {
    const world = await live()
    const { clock, informer } = world
    const handling = Promise.withResolvers<void>()
    const subscription = informer.subscribe({ update: () => handling.promise })
    await clock.advance(0)
    const wait = subscription.waitFor('2')
    await sent(world)
    await clock.slices()
    expect(await outcomeOf(wait, clock)).toBe('pending')
    handling.resolve()
    expect(await outcomeOf(wait, clock)).toBe('resolved')
    expect(subscription.version).toBe('2')
  })

  test.each(['before', 'after'])('[W7] addIndex %s it is complete, and has its changes', async (when) => {
    const { clock, source, informer } = await live()
    const add = () => informer.addIndex('parity', (ix) => ix.equal(({ n }) => n % 2))
    const early = when === 'before' ? add() : undefined
    source.watches.at(-1)?.batch(BATCH, '2')
    await clock.advance(0)
    const adding = early ?? add()
    await clock.slices(() => informer.version === '2')
    if (when === 'after') expect(await outcomeOf(adding, clock)).toBe('pending')
    await clock.slices()
    const parity = await adding
    expect(
      [0, 1].map((value) =>
        parity(value)
          .map(({ n }) => n)
          .toSorted((a, b) => a - b),
      ),
    ).toEqual([
      [4, 10],
      [3, 5],
    ])
  })

  test('[W1] lets a later batch wait', async () => {
    const world = await live()
    const { clock, source, informer } = world
    const versions: (string | undefined)[] = []
    const lines = told(informer)
    await clock.advance(0)
    await sent(world)
    source.watches.at(-1)?.batch([put('a', item(20)), { type: 'delete', key: 'e' }], '3')
    await clock.slices(() => {
      if (versions.at(-1) !== informer.version) versions.push(informer.version)
      return false
    })
    expect([informer.version, versions.slice(0, 2)]).toEqual(['3', ['1', '2']])
    expect(lines.slice(4)).toEqual(['update a10', 'delete b2', 'add e5', 'update a20', 'delete e5'])
  })

  test.each([
    ['key', { key: 'e' }, [], ['add e5'], ['e5']],
    ['where', { where: { kind: 'odd' } }, ['add a1', 'add c3'], ['delete a1', 'add e5'], ['c3', 'e5']],
    ['filter', { filter: ({ n }: Item) => n > 3 }, ['add d4'], ['add a10', 'add e5'], ['a10', 'd4', 'e5']],
    [
      'nothing',
      {},
      ['add a1', 'add b2', 'add c3', 'add d4'],
      ['update a10', 'delete b2', 'add e5'],
      ['a10', 'c3', 'd4', 'e5'],
    ],
  ] as const)(
    '[W5] reaches a subscription with %s that began at any point of it once',
    async (_what, scope, first, later, last) => {
      for (let at = 0, isOver = false; !isOver; at++) {
        const world = await live()
        const { clock, informer } = world
        await sent(world)
        for (let i = 0; i < at; i++) await clock.slice()
        isOver = !clock.isPaused
        const isCommitted = informer.version === '2'
        const fold = new Fold<Item>()
        informer.subscribe(fold.handlers, scope)
        const lines = told(informer, scope)
        await clock.slices()
        if (!isCommitted)
          expect([lines.slice(0, first.length).sort(), lines.slice(first.length)]).toEqual([first, later])
        expect(Array.from(fold.objects, ([key, { n }]) => `${key}${n}`).sort()).toEqual(last)
      }
    },
  )

  test('[W5] that changes a key twice is one update of it for a subscription with `where` that began during it', async () => {
    const world = await live()
    const twice: ListEvent<Item>[] = [
      ...[
        put('a', item(11)),
        put('a', item(13)),
        put('c', item(4)),
        put('c', item(5)),
        put('d', item(7)),
        put('d', item(8)),
      ],
      put('e', item(9)),
      { type: 'delete', key: 'e' },
    ]
    world.source.watches.at(-1)?.batch(twice, '2')
    await world.clock.advance(0)
    const words = ({ type, key, object, previous }: Change<Item>) =>
      `${type} ${key}${object.n} ${previous?.n ?? ''}`.trim()
    const received = heard(world.informer, words, { where: { kind: 'odd' } })
    await world.clock.release()
    expect(received.sort()).toEqual(['add a1', 'add c3', 'update a13 1', 'update c5 3'])
  })

  test('[W4] is not read by a controller before it is queued for it', async () => {
    const world = await live()
    const { clock, informer } = world
    const runs: string[] = []
    const controller = informer.reconcile(
      async (key, { object, lastObject }) => void runs.push(`${key} ${object?.n} ${lastObject?.n}`),
      { filter: () => true },
    )
    await clock.advance(0)
    await clock.slices()
    runs.length = 0
    await sent(world)
    await clock.slice()
    controller.enqueue('b')
    await clock.advance(0)
    expect(runs).toEqual(['b 2 undefined'])
    await clock.slices(() => informer.version === '2')
    expect(clock.isPaused).toBe(true)
    controller.enqueue('b')
    await clock.advance(0)
    expect(runs).toHaveLength(1)
    await clock.slices()
    await clock.advance(1_000)
    expect(runs).toContain('b undefined 2')
    expect(runs).not.toContain('b undefined undefined')
  })

  test('[W2] does not change a snapshot that was opened at any point before the commit', async () => {
    const world = await live()
    const { clock, informer } = world
    const before = contents(informer)
    const snapshots = [informer.snapshot()]
    await sent(world)
    await clock.slices(() => {
      if (informer.version === '2') return true
      snapshots.push(informer.snapshot())
      if (snapshots.length === 3) snapshots.splice(1, 1)[0]?.[Symbol.dispose]()
      return false
    })
    await clock.slices()
    expect(snapshots).toHaveLength(2)
    for (const snapshot of snapshots) {
      expect(contents(snapshot)).toEqual(before)
      snapshot[Symbol.dispose]()
    }
  })
})

test('[W1] a large relist that is requested again while it is written is read again, after it is written', async () => {
  const world = await live()
  const { clock, source, informer } = world
  const relisted = informer.relist()
  await clock.advance(LIST_DELAY_MS)
  source.lists.at(-1)?.answer([put('e', item(5))], '7')
  await clock.advance(0)
  await clock.slice()
  expect(informer.version).toBe('1')
  const again = informer.relist()
  await clock.advance(0)
  expect(source.lists).toHaveLength(2)
  await clock.slices()
  await clock.advance(LIST_DELAY_MS)
  await relisted
  expect([informer.version, source.lists.length]).toEqual(['7', 3])
  source.lists.at(-1)?.answer([put('f', item(6))], '8')
  await clock.advance(0)
  await clock.slices()
  expect(await outcomeOf(again, clock)).toBe('resolved')
  expect([...informer.keys()]).toEqual(['f'])
})

describe('a large first list', () => {
  const starting = async () => {
    const { clock, source, informer, errors } = sliced(scripted<Item>({ hasReached: numbered, heartbeatMs: 1_000_000 }))
    await running({ clock, informer })
    clock.hold()
    source.lists[0]?.page([...FIRST, BATCH[3]])
    await clock.advance(0)
    return { clock, source, informer, errors }
  }

  test('[W2] becomes visible in one step', async () => {
    const { clock, source, informer, errors } = await starting()
    const before = seen(informer)
    expect(before).toMatchObject({ size: 0, version: undefined, list: [], values: [], ordered: [], invalid: [] })
    const synced = informer.synced()
    const lines = told(informer)
    expect([await outcomeOf(synced, clock), seen(informer)]).toEqual(['pending', before])
    source.lists[0]?.answer([put('d', item(6))], '1')
    await clock.advance(0)
    await clock.slices()
    await synced
    expect(errors).toHaveLength(1)
    expect(seen(informer)).toMatchObject({ size: 4, ordered: [2, 3, 6], invalid: ['x'] })
    expect(lines).toEqual(['add a1', 'add b2', 'add c3', 'add d6'])
  })

  test('[W6] stays invisible after stop', async () => {
    const { clock, informer } = await starting()
    const stopped = informer.stop()
    expect(await outcomeOf(stopped, clock)).toBe('resolved')
    expect(informer.size).toBe(0)
    expect(informer.list()).toEqual([])
    expect(informer.version).toBeUndefined()
    expect(informer.by.kind.count('odd')).toBe(0)
  })
})

test('[W7] addIndex during which the informer is stopped rejects with STOPPED, and readers see what they saw', async () => {
  const { clock, informer } = await live()
  const before = contents(informer)
  const adding = informer.addIndex('parity', (ix) => ix.equal(({ n }) => n % 2))
  const rejected = expect(adding).rejects.toMatchObject({ code: 'STOPPED' })
  await clock.slice()
  expect(clock.isPaused).toBe(true)
  const stopped = informer.stop()
  await clock.slices()
  await stopped
  await rejected
  expect([contents(informer), Object.keys(informer.by)]).toEqual([before, ['kind', 'tags', 'n']])
})

test.each([false, true])(
  '[W6] lost access with onAccessLost clear deletes all objects in one step, also if stopped: %s',
  async (isStopped) => {
    const { clock, source, informer, errors } = await live({ onAccessLost: 'clear' })
    const before = seen(informer)
    source.watches.at(-1)?.fail(new SourceError('denied', { code: 'UNAUTHORIZED' }))
    await clock.advance(0)
    expect(clock.isPaused).toBe(true)
    const reported = errors.length
    const stopped = isStopped ? informer.stop() : undefined
    const slices = await clock.slices(() => {
      if (informer.size === 0) return true
      if (!isStopped) expect(seen(informer)).toEqual(before)
      return false
    })
    expect(slices).toBeGreaterThan(2)
    await clock.slices()
    await stopped
    expect(contents(informer)).toMatchObject({ size: 0, list: [], version: undefined, ordered: [], values: [] })
    if (isStopped) expect(errors.slice(reported)).toEqual([])
  },
)

describe('the store of a large write', () => {
  const store = (over: Partial<typeof SLICES> = {}) => {
    const clock = new SliceClock()
    const indexer = new Indexer<Item, Indexes>({ indexes }, { clock, slices: { ...SLICES, ...over } })
    clock.hold()
    return { clock, indexer }
  }

  test('[W9] keeps nothing after the commit', async () => {
    const { clock, indexer } = store()
    void indexer.apply({ events: FIRST, version: '1' })
    await clock.slices()
    const snapshot = indexer.snapshot()
    void indexer.apply({ events: BATCH, version: '2' })
    await clock.slice()
    expect(indexer.store.pinCount).toBe(2)
    snapshot[Symbol.dispose]()
    expect(indexer.store.pinCount).toBe(1)
    await clock.slices()
    expect([indexer.store.pinCount, indexer.store.heldPin, indexer.version]).toEqual([0, undefined, '2'])
  })

  test('[W1] lists a source of a set at once if it has few changes, however many objects the others have', () => {
    const { indexer } = store({ largeWrite: 3 })
    const [a, b] = [indexer.partition('a'), indexer.partition('b')]
    for (const each of FIRST) void a.apply({ events: [each], version: '1' })
    const listed = (...events: ListEvent<Item>[]): void | Promise<void> => {
      const list = b.replace()
      void list.page(events)
      return list.commit('1')
    }
    expect(listed(put('x', item(5)), put('y', item(6)))).toBeUndefined()
    expect(listed(put('x', item(7)))).toBeUndefined()
    expect([...indexer.keys()].sort()).toEqual(['a', 'b', 'c', 'd', 'x'])
    const large = ['u', 'v', 'w', 'y'].map((key, n) => put(key, item(n)))
    expect(listed(...large)).toBeInstanceOf(Promise)
  })

  test('[W1] has the second of two writes after the first, though it is small', async () => {
    const { clock, indexer } = store({ largeWrite: 2 })
    const told: (string | undefined)[] = []
    const writes = [
      indexer.apply({ events: FIRST, version: '1' }),
      indexer.apply({ events: [put('a', item(7))], version: '2' }),
    ]
    for (const write of writes) void write?.then(() => told.push(indexer.version))
    await clock.slices()
    expect([told, indexer.get('a')?.n]).toEqual([['1', '2'], 7])
    expect(indexer.apply({ events: [put('a', item(8))], version: '3' })).toBeUndefined()
    expect(indexer.get('a')?.n).toBe(8)
  })

  test('[W9] is as before if an index throws, and the next write succeeds', async () => {
    const { clock, indexer } = store()
    void indexer.apply({ events: FIRST, version: '1' })
    await clock.slices()
    const before = contents(indexer)
    const repair = breakEqualIndexes((_ordinal, key) => key === 'e', new Error('broken index'))
    const failing = indexer.apply({ events: BATCH, version: '2' })
    const rejected = expect(failing).rejects.toThrow('broken index')
    await clock.slices(() => {
      expect(contents(indexer)).toEqual(before)
      return false
    })
    await rejected
    expect([contents(indexer), indexer.store.pinCount, indexer.invalid.size]).toEqual([before, 0, 0])
    repair()
    void indexer.apply({ events: BATCH, version: '2' })
    await clock.slices()
    expect(contents(indexer)).toMatchObject({ version: '2', list: [3, 4, 5, 10], ordered: [3, 4, 5, 10] })
  })
})

describe('the sources of a set during a large write of another source', () => {
  /** `later` is the version of every list but the first. */
  async function set(later = '1', onAccessLost: 'keep' | 'clear' = 'keep') {
    const make = (name: string) => ({
      ...scripted<Item>({
        hasReached: numbered,
        heartbeatMs: 1_000_000,
        onList: (call, nth) =>
          call.answer([put(`${name}1`, item(1)), put(`${name}2`, item(2))], nth === 1 ? '1' : later),
      }),
      name,
    })
    const [a, b, c] = [make('a'), make('b'), make('c')]
    const world = await running(sliced(sourceSet<Item>({ a, b }), { onAccessLost }))
    const { clock, source: sources, informer, errors } = world
    for (const { watches } of [a, b]) watches.at(-1)?.batch([], '1')
    await clock.advance(0)
    expect(informer.size).toBe(4)
    clock.hold()
    const begin = async (): Promise<void> => {
      a.watches.at(-1)?.batch([put('a1', item(10)), put('a3', item(30)), put('a4', item(40))], '2')
      await clock.advance(0)
      expect(clock.isPaused).toBe(true)
    }
    return { clock, sources, informer, errors, a, b, c, begin }
  }

  test('[W8] are removed in slices themselves, and readers see all of their objects until the commit', async () => {
    const { clock, sources, informer, c } = await set()
    const deleted: string[] = []
    informer.subscribe({ delete: ({ key, gone }) => deleted.push(`${key} ${gone}`) })
    await clock.slices()
    sources.remove('b')
    sources.add('b', c)
    await clock.advance(0)
    const sizes: number[] = []
    for (; clock.isPaused && c.lists.length === 0; await clock.slice()) sizes.push(informer.size)
    expect([sizes, informer.size, deleted]).toEqual([[4, 4], 2, ['b1 source-removed', 'b2 source-removed']])
    await clock.slices()
    expect([...informer.keys()].sort()).toEqual(['a1', 'a2', 'c1', 'c2'])
  })

  test('[W8] whose removal is under way at stop are still visible', async () => {
    const { clock, sources, informer, errors } = await set()
    sources.remove('b')
    await clock.advance(0)
    await clock.slice()
    const stopping = informer.stop()
    await clock.slices()
    await stopping
    expect([informer.size, errors]).toEqual([4, []])
  })

  test('[W8] are removed after it, and are unknown to waits from their removal on', async () => {
    const { clock, sources, informer, begin } = await set()
    await begin()
    sources.remove('b')
    await expect(informer.waitFor('1', { source: 'b' })).rejects.toThrow('there is no source "b"; there are a')
    expect([[...informer.versions.keys()], Object.keys(informer.status.sources ?? {})]).toEqual([['a'], ['a']])
    await clock.slices()
    expect([...informer.keys()].sort()).toEqual(['a1', 'a2', 'a3', 'a4'])
  })

  test('[W8] are waited for if they replace a removed source, and run once, however often they are replaced', async () => {
    const { clock, sources, informer, c, begin } = await set()
    await begin()
    sources.remove('b')
    const neverRead = scripted<Item>({ hasReached: numbered })
    sources.add('b', neverRead)
    const ofRemoved = expect(informer.waitFor('1', { source: 'b' })).rejects.toThrow('the source "b" was removed')
    sources.remove('b')
    await ofRemoved
    sources.add('b', c)
    const reached = informer.waitFor('1', { source: 'b' })
    expect(informer.status.sources?.['b']?.state).toBe('idle')
    await clock.slices()
    await clock.advance(0)
    await clock.slices()
    await reached
    expect([...informer.keys()].sort()).toEqual(['a1', 'a2', 'a3', 'a4', 'c1', 'c2'])
    expect([neverRead.lists.length, c.lists.length]).toEqual([0, 1])
  })
})
