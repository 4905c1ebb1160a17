import { describe, expect, test } from 'vitest'
import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import { createInformer, type ListerWatcher, OptionError, SourceError, sourceSet } from '../../../src/index.js'
import { Fold } from '../../support/fold.js'
import { assertCleanStop, outcomeOf, warnings } from '../../support/informers.js'
import { MemoryCache } from '../../support/memory-cache.js'
import { countLists, heard, running } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'
import { type CacheOptions, cacheAt, cached } from '../../support/warm-starts.js'

/** An informer over a cache, with a subscription. It is not started. */
function mirror(source: ListerWatcher<number>, cache: MemoryCache, options: CacheOptions = {}) {
  const world = cached(source, cache, options)
  const fold = new Fold<number>()
  world.informer.subscribe(fold.handlers)
  return { ...world, fold }
}

/** Fills a cache with the objects of a source. */
async function saved(source: ListerWatcher<number>, options: CacheOptions = {}): Promise<MemoryCache> {
  const cache = new MemoryCache()
  const { informer, clock } = mirror(source, cache, options)
  informer.start()
  await clock.advance(1)
  await assertCleanStop(informer, clock)
  expect(cache.content).toBeDefined()
  return cache
}

test.each([false, true])(
  '[H1] a mirror resumes from its saved content, without a list: changes made meanwhile follow (serveStale: %s)',
  async (serveStale) => {
    const source = memorySource({ entries: Object.entries({ a: 1, b: 2 }) })
    const cache = await saved(source)
    cache.serveStale = serveStale
    source.put('c', 3)
    source.delete('a')
    const lists = countLists(source)
    const world = mirror(source, cache)
    const lines = heard(world.informer, ({ type, key, object, origin }) => `${type} ${key} ${object} ${origin}`)
    await running(world)
    expect([lines, lists()]).toEqual([['add a 1 initial', 'add b 2 initial', 'add c 3 watch', 'delete a 1 watch'], 0])
    expect(world.held()).toEqual({ b: 2, c: 3 })
    expect(world.informer.status).toMatchObject({ state: 'live', isSynced: true, relists: 0, reconnects: 0 })
    expect(world.fold.objects).toEqual(new Map(Object.entries({ b: 2, c: 3 })))
    await world.informer.synced()
    await world.informer.waitFor(source.put('d', 4))
    expect(cache.opened).toBe(cache.keepsPacked ? 1 : 0)
    await assertCleanStop(world.informer, world.clock)
    expect(cache.opened).toBe(0)
  },
)

describe('[H2] nothing is visible before the source confirms, unless serveStale is set', () => {
  test('without it', async () => {
    const source = scripted<number>({ hasReached: numbered })
    const cache = cacheAt(source, '7', { a: 1 })
    const { informer, clock, held, fold } = await running(mirror(source, cache))
    expect(source.watches[0]?.context).toMatchObject({ after: '7', resumeState: 'state', isUnconfirmed: true })
    expect([source.watches[0]?.context.hasWaiters?.(), source.watches[0]?.progressRequests]).toEqual([true, 1])
    expect([held(), informer.status.state, informer.version]).toEqual([{}, 'connecting', undefined])
    expect(await outcomeOf(informer.synced(), clock)).toBe('pending')
    source.watches[0]?.batch([put('b', 2)], '8')
    await clock.advance(0)
    expect([held(), informer.status.state, informer.version]).toEqual([{ a: 1, b: 2 }, 'live', '8'])
    expect([fold.objects.size, source.lists]).toEqual([2, []])
  })

  test('with it the state is stale, and the mirror is not synced', async () => {
    const source = scripted<number>({ hasReached: numbered })
    const cache = cacheAt(source, '7', { a: 1 }, true)
    const world = mirror(source, cache)
    const runs: string[] = []
    world.informer.reconcile(async (key) => void runs.push(key))
    const states: string[] = []
    world.informer.on('status', ({ state }) => states.push(state))
    const { informer, clock, held, fold } = await running(world)
    const synced = informer.synced()
    expect([held(), fold.objects.get('a')]).toEqual([{ a: 1 }, 1])
    expect(informer.status).toMatchObject({ state: 'stale', isSynced: false, version: '7', savedAt: 5 })
    expect(informer.inspect().sources.first[0]).toMatchObject({ state: 'stale', savedAt: new Date(5).toISOString() })
    expect(informer.health()).toMatchObject({ isLive: true, isReady: false })
    expect(await outcomeOf(synced, clock)).toBe('pending')
    const waits = [informer.until('a', () => true), informer.waitFor('7')]
    for (const wait of waits) expect(await outcomeOf(wait, clock)).toBe('pending')
    expect(runs, 'runs of a controller').toEqual([])
    source.watches[0]?.fail(new SourceError('broken', { code: 'UNAVAILABLE' }))
    await clock.advance(0)
    expect(informer.status).toMatchObject({ state: 'stale', reason: 'broken' })
    await clock.advance(1_000)
    source.watches[1]?.batch([], '7')
    await clock.advance(0)
    await synced
    expect(informer.status).toMatchObject({ state: 'live', isSynced: true })
    expect(informer.status).not.toHaveProperty('savedAt')
    expect(informer.health().isReady).toBe(true)
    await Promise.all(waits)
    expect([runs, states.at(-1), new Set(states)]).toEqual([['a'], 'live', new Set(['restoring', 'stale', 'live'])])
  })
})

test.each([
  [true, 'live'],
  [false, 'stale'],
])('[H2a] content is stale until the changes made before the start are in (serveStale: %s)', async (isServed, then) => {
  const heads = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  let requests = 0
  const head = (): Promise<string> => heads[requests++]?.promise ?? Promise.reject(new Error('not again'))
  const source = scripted<number>({ hasReached: numbered, head })
  const world = mirror(source, cacheAt(source, '7', { a: 1 }, isServed), { audit: false })
  const states: string[] = []
  world.informer.on('status', ({ state }) => states.push(state))
  const { informer, clock } = await running(world)
  informer.on('error', () => {})
  const runs: string[] = []
  informer.reconcile(async (key) => void runs.push(key))
  source.watches[0]?.batch([put('b', 2)], '8')
  await clock.advance(0)
  expect(informer.status).toMatchObject({ state: then, isSynced: isServed, version: '8' })
  expect([informer.health().isReady, informer.get('b'), runs.length]).toEqual([isServed, 2, isServed ? 2 : 0])
  if (isServed) return expect(requests).toBe(0)
  heads[0]?.reject(new SourceError('busy', { code: 'UNAVAILABLE' }))
  await clock.advance(200)
  heads[1]?.resolve('9')
  await clock.advance(0)
  expect([source.watches[0]?.context.hasWaiters?.(), source.watches[0]?.progressRequests]).toEqual([true, 2])
  expect(await outcomeOf(informer.synced(), clock)).toBe('pending')
  source.watches[0]?.batch([put('c', 3)], '9')
  await clock.advance(0)
  await informer.synced()
  expect([informer.status.state, informer.health().isReady, runs]).toEqual(['live', true, ['a', 'b', 'c']])
  expect([states, source.lists]).toEqual([['restoring', 'connecting', 'stale', 'stale', 'live'], []])
})

test('[H2a] if the head of the source cannot be read, a warm start lists the source', async () => {
  for (const code of ['UNAUTHORIZED', 'EPOCH_CHANGED'] as const) {
    const hasReached = (at: string, mark: string): boolean => {
      if (mark === 'x') throw new SourceError('another history', { code: 'EPOCH_CHANGED' })
      return numbered(at, mark)
    }
    const head = async (): Promise<string> => {
      if (code === 'EPOCH_CHANGED') return 'x'
      throw new SourceError('no', { code })
    }
    const source = scripted<number>({ hasReached, head, onWatch: (watch) => watch.batch([], '7') })
    const { informer, clock } = await running(mirror(source, cacheAt(source, '7', { a: 1 })))
    await clock.advance(1_000)
    expect(informer.status).toMatchObject({ state: 'stale', isSynced: false })
    source.lists[0]?.answer([put('a', 2)], '8')
    await clock.advance(0)
    expect([informer.status.isSynced, informer.get('a')]).toEqual([true, 2])
  }
})

describe('[H3] if the source cannot resume, there is one list', () => {
  test.each<[string, (source: MemorySource<number>) => void, Record<string, number>]>([
    ['expired', (source) => source.compact(), { a: 1, b: 2 }],
    ['another epoch', (source) => void source.restore([['r', 9]]), { r: 9 }],
  ])('%s', async (_name, strike, expected) => {
    for (const serveStale of [false, true]) {
      const source = memorySource<number>({ entries: [['a', 1]] })
      const cache = await saved(source)
      cache.serveStale = serveStale
      source.put('b', 2)
      strike(source)
      const lists = countLists(source)
      const { clock, informer, held, fold } = await running(mirror(source, cache))
      await clock.advance(2_000)
      expect(lists()).toBe(1)
      expect(informer.status).toMatchObject({ state: 'live', isSynced: true, relists: serveStale ? 1 : 0 })
      expect([held(), Object.fromEntries(fold.objects)]).toEqual([expected, expected])
    }
  })

  test.each([
    ['a first batch that is older than the content confirms nothing', '6', '7'],
    ['a first batch of another history confirms nothing', 'x8', 'x9'],
  ])('%s', async (_what, first, version) => {
    const source = scripted<number>({ hasReached: numbered })
    const { clock, held } = await running(mirror(source, cacheAt(source, '7', { a: 1 })))
    source.watches[0]?.batch([put('b', 2)], first)
    await clock.advance(1_000)
    expect([held(), source.lists.length]).toEqual([{}, 1])
    source.lists[0]?.answer([put('c', 3)], version)
    await clock.advance(0)
    expect(held()).toEqual({ c: 3 })
  })

  test('[H3] a list that replaces visible content: a wait of a subscription ends when the handler that runs has finished', async () => {
    const source = scripted<number>({ hasReached: numbered })
    const cache = cacheAt(source, '7', { a: 1 }, true)
    const { informer, clock } = mirror(source, cache)
    const handling = Promise.withResolvers<void>()
    const subscription = informer.subscribe({ update: () => handling.promise }, { resyncMs: 500 })
    informer.start()
    await clock.advance(600)
    source.watches[0]?.fail(new SourceError('expired', { code: 'VERSION_EXPIRED' }))
    await clock.advance(1_000)
    source.lists[0]?.answer([put('a', 1)], '7')
    await clock.advance(0)
    expect(informer.status).toMatchObject({ isSynced: true, version: '7' })
    expect(subscription.version).toBe('7')
    const wait = subscription.waitFor('7')
    expect(await outcomeOf(wait, clock)).toBe('pending')
    handling.resolve()
    expect(await outcomeOf(wait, clock)).toBe('resolved')
  })
})

describe('[H4] content that cannot be used costs one list and one warning', () => {
  test.each([1, 2])('damaged page %s', async (page) => {
    for (const serveStale of [false, true]) {
      const source = memorySource<number>({ entries: ['a', 'b', 'c', 'd'].map((key) => [key, 1] as const) })
      const cache = await saved(source)
      cache.serveStale = serveStale
      cache.damagedPage = page
      const lists = countLists(source)
      const { informer, clock, held, fold } = await running(mirror(source, cache))
      expect([lists(), held(), fold.objects.size]).toEqual([1, { a: 1, b: 1, c: 1, d: 1 }, 4])
      expect(informer.status).toMatchObject({ state: 'live', relists: 0 })
      expect(cache.warnings).toEqual([
        `memory: memory:cache: the saved content cannot be used: page ${page} is damaged; the source is listed instead`,
      ])
      await assertCleanStop(informer, clock)
      expect(cache.opened).toBe(0)
    }
  })

  test.each(Object.entries({ throws: 'live', 'never answers': 'restoring' }))('open %s', async (how, state) => {
    const cache = new MemoryCache()
    cache.onOpen = () => {
      if (how === 'throws') throw new Error('no disk')
      return new Promise(() => {})
    }
    const { informer, clock, held } = await running(mirror(memorySource<number>({ entries: [['a', 1]] }), cache))
    expect(informer.status.state).toBe(state)
    await clock.advance(30_000)
    expect([held(), cache.warnings.length]).toEqual([{ a: 1 }, 1])
  })
})

test('[H5] saved objects are stored as they were: schema and transform do not run again; filtered and invalid keys are restored', async () => {
  const source = memorySource({ entries: Object.entries({ a: 1, f: -1, i: 13 }) })
  let calls = 0
  const transform = (object: number): number | undefined => {
    calls++
    if (object === 13) throw new Error('unlucky')
    return object < 0 ? undefined : object
  }
  const options: CacheOptions = { transform, audit: { periodMs: 1_000 } }
  const cache = await saved(source, options)
  const records = () => cache.content?.records.map(({ type, key }) => `${type} ${key}`)
  expect(records()).toEqual(['entry a', 'filtered f', 'invalid i'])
  calls = 0
  const { informer, clock, held, errors } = await running(mirror(source, cache, options))
  expect([calls, held()]).toEqual([0, { a: 1 }])
  const entry = { type: 'put', key: 'a', object: 1, version: expect.any(String), uid: expect.anything() }
  expect(informer.entry('a')).toEqual(entry)
  expect(informer.invalid.get('i')?.message).toBe('the object "i" of memory is invalid: unlucky')
  expect(informer.status.proof).toMatchObject({ by: 'list', version: cache.content?.header.version })
  await clock.advance(1_500)
  expect(informer.status.proof).toMatchObject({ by: 'audit', foundDrift: 0 })
  expect(errors.filter(({ code }) => code !== 'DECODE')).toEqual([])
  source.put('b', 2)
  await clock.advance(0)
  await assertCleanStop(informer, clock)
  expect(records()).toEqual(['entry a', 'entry b', 'filtered f', 'invalid i'])
})

describe('[H6] saves', () => {
  test('the first one follows the first list; later ones wait for time and for changes', async () => {
    const entries = Array.from({ length: 20 }, (_, at) => [`k${at}`, at] as const)
    const source = memorySource<number>({ entries })
    const cache = new MemoryCache()
    const { informer, clock } = await running(mirror(source, cache))
    await clock.advance(1)
    expect(cache.saves).toHaveLength(1)
    source.put('k1', 100)
    await clock.advance(120_000)
    expect(cache.saves, '5 % of changes').toHaveLength(1)
    source.put('k2', 100)
    await clock.advance(1)
    expect(cache.saves, '10 % of changes').toHaveLength(2)
    for (let at = 0; at < 10; at++) source.put('k3', 200 + at)
    await clock.advance(59_000)
    expect(cache.saves, 'the minute is not over').toHaveLength(2)
    await clock.advance(1_000)
    expect(cache.saves).toHaveLength(3)
    source.put('k4', 1)
    await clock.advance(599_000)
    expect(cache.saves).toHaveLength(3)
    await clock.advance(1_001)
    expect(cache.saves, 'only the version moved').toHaveLength(4)
    await clock.advance(3_600_000)
    expect(cache.saves, 'nothing moved').toHaveLength(4)
    await assertCleanStop(informer, clock)
    expect(cache.saves).toHaveLength(4)
  })

  test('[H7] a failed save is reported once, and tried again', async () => {
    const source = memorySource<number>({ entries: [['a', 1]] })
    const cache = new MemoryCache()
    cache.onSave = () => {
      throw new Error('the disk is full')
    }
    const { informer, clock, errors } = await running(mirror(source, cache))
    await clock.advance(300_000)
    expect(errors.map(({ message }) => message)).toEqual([
      'memory could not be saved to memory:cache: the disk is full; it is tried again later',
    ])
    cache.onSave = undefined
    await clock.advance(60_000)
    expect([cache.saves.length, informer.status.state]).toEqual([1, 'live'])
  })

  test('[H7] a save that hangs delays stop by 10 s at most', async () => {
    const source = memorySource<number>({ entries: [['a', 1]] })
    const cache = new MemoryCache()
    cache.onSave = () => new Promise(() => {})
    const { informer, clock } = await running(mirror(source, cache))
    await clock.advance(1)
    const stopped = informer.stop()
    expect(await outcomeOf(stopped, clock)).toBe('pending')
    await clock.advance(10_000)
    await stopped
    expect([cache.contexts.at(-1)?.signal.aborted, clock.sleeping]).toEqual([true, 0])
    expect(cache.warnings).toEqual([
      'memory: memory:cache: the last save did not end within 10 s; the next start uses the content before it',
    ])
  })
})

test('[H8] during a warm start relist() is fulfilled by a list, whenever it is called', async () => {
  for (const serveStale of [false, true]) {
    for (const when of ['opening', 'reading', 'waiting'] as const) {
      const source = memorySource<number>({ entries: [['a', 1]] })
      const cache = await saved(source)
      cache.serveStale = serveStale
      const gate = Promise.withResolvers<void>()
      if (when === 'opening') cache.onOpen = () => gate.promise
      if (when === 'reading') cache.onPage = () => gate.promise
      const lists = countLists(source)
      const world = mirror(source, cache)
      if (when === 'waiting') source.stall()
      await running(world)
      const listed = world.informer.relist()
      gate.resolve()
      await world.clock.advance(60_000)
      expect(await outcomeOf(listed, world.clock)).toBe('resolved')
      expect([lists(), world.held(), world.informer.status.state]).toEqual([1, { a: 1 }, 'live'])
      await assertCleanStop(world.informer, world.clock)
      expect(cache.opened).toBe(0)
    }
  }
})

test('[H9] a cache needs one source, and must be a cache', () => {
  warnings()
  const source = memorySource<number>()
  expect(() => createInformer({ source: sourceSet({ source }), cache: new MemoryCache() })).toThrow(OptionError)
  expect(() => createInformer({ source, cache: {} as MemoryCache })).toThrow(/"cache" must be a cache/)
})
