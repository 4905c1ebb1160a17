import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { MirrorCacheContext } from '../../../src/contract/mirror-cache.js'
import type { ListerWatcher } from '../../../src/contract/source.js'
import { assertCleanStop } from '../../support/informers.js'
import { MemoryCache } from '../../support/memory-cache.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'
import { type CacheOptions, cacheAt, cached } from '../../support/warm-starts.js'

async function started(source: ListerWatcher<number>, cache: MemoryCache, options: CacheOptions = {}) {
  const world = cached(source, cache, options)
  world.informer.start()
  await world.clock.advance(1)
  return world
}

type Mirror = Awaited<ReturnType<typeof started>>

test('[H5] filtered keys that a later list lacks are not saved', async () => {
  const source = memorySource<number>({
    entries: Object.entries({ a: 1, b: -1 }),
  })
  const cache = new MemoryCache()
  const transform = (object: number): number | undefined => (object < 0 ? undefined : object)
  const { informer, clock } = await started(source, cache, { transform, audit: { periodMs: 1e6 } })
  await clock.advance(1)
  expect(cache.content?.records).toMatchObject([
    { type: 'entry', key: 'a' },
    { type: 'filtered', key: 'b' },
  ])
  source.restore([['a', 2]])
  await clock.advance(10_000)
  await assertCleanStop(informer, clock)
  expect(cache.content?.records).toMatchObject([{ type: 'entry', key: 'a', object: 2 }])
})

describe('[H6] content is saved although the version is that of the last save', () => {
  test('after a list that replaced damaged content', async () => {
    const source = memorySource<number>({ entries: [['a', 1]] })
    const cache = new MemoryCache()
    const first = await started(source, cache)
    await assertCleanStop(first.informer, first.clock)
    cache.damagedPage = 1
    const second = await started(source, cache)
    await assertCleanStop(second.informer, second.clock)
    expect(cache.warnings).toHaveLength(1)
    expect(cache.saves).toHaveLength(2)
  })

  test.each([false, true])('after a list of another history (serveStale: %s)', async (serveStale) => {
    const source = scripted<number>({ hasReached: numbered })
    const cache = cacheAt(source, '7', { a: 1 }, serveStale)
    const { informer, clock } = await started(source, cache)
    source.watches[0]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
    await clock.advance(2_000)
    source.lists[0]?.answer([put('b', 2)], '7')
    await clock.advance(1)
    await assertCleanStop(informer, clock)
    expect(cache.content?.records).toMatchObject([{ key: 'b', object: 2 }])
  })

  test('after a batch of the same version', async () => {
    const source = scripted<number>()
    const cache = cacheAt(source, '7', { a: 1 })
    const { informer, clock } = await started(source, cache)
    source.watches[0]?.batch([put('b', 2)], '7')
    await clock.advance(1)
    expect(informer.size).toBe(2)
    await assertCleanStop(informer, clock)
    expect(cache.content?.records).toHaveLength(2)
  })
})

test('[H7] a resumeState that throws fails the save only', async () => {
  const source = scripted<number>({ hasReached: numbered })
  const resumeState = (): string => {
    throw new Error('no state')
  }
  const { informer, clock, errors } = await started(Object.assign(source, { resumeState }), new MemoryCache())
  source.lists[0]?.answer([put('a', 1)], '1')
  await clock.advance(1)
  source.watches[0]?.batch([], '1')
  await clock.advance(1)
  expect(errors).toMatchObject([{ message: expect.stringContaining('no state') }])
  expect(informer.status.state).toBe('live')
})

test('[H6a] a mirror that misses an event without a key is saved only after the next list', async () => {
  const source = scripted<number>({ hasReached: numbered })
  const cache = cacheAt(source, '7', { a: 1 })
  const first = await started(source, cache)
  source.watches[0]?.batch([{ type: 'invalid', error: new Error('no key') }], '8')
  await first.clock.advance(1)
  await assertCleanStop(first.informer, first.clock)
  expect(cache.saves).toEqual([])
  const second = await started(source, cache)
  source.watches[1]?.batch([{ type: 'invalid', error: new Error('no key') }], '8')
  await second.clock.advance(2_000)
  source.lists[0]?.answer([put('a', 2)], '9')
  await second.clock.advance(1)
  await assertCleanStop(second.informer, second.clock)
  expect(cache.saves).toEqual(['9'])
})

test.each([false, true])(
  'content whose close throws is confirmed all the same (serveStale: %s)',
  async (serveStale) => {
    const source = scripted<number>({ hasReached: numbered })
    const cache = cacheAt(source, '7', { a: 1 }, serveStale)
    const open = cache.open.bind(cache)
    const close = () => Promise.reject(new Error('cannot close'))
    cache.open = async (context) => {
      const saved = await open(context)
      return saved && { ...saved, close }
    }
    const { informer, clock, errors } = await started(source, cache)
    source.watches[0]?.batch([], '8')
    await clock.advance(1)
    expect([informer.status.state, errors]).toEqual(['live', []])
  },
)

test('a mirror whose history has ended is not saved', async () => {
  const source = scripted<number>({ hasReached: numbered })
  const cache = cacheAt(source, '1', { a: 1 })
  cache.saveEveryMs = 1e15 // Only `stop` would save.
  const { informer, clock } = await started(source, cache)
  source.watches[0]?.batch([put('a', 2)], '2')
  await clock.advance(1)
  source.watches[0]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
  await clock.advance(1)
  await assertCleanStop(informer, clock)
  expect(cache.content?.header.version).toBe('1')
})

test.each([false, true])(
  "[H10] with onAccessLost: 'clear' the saved content is removed, also that of a save in progress: %s",
  async (isSaving) => {
    const source = scripted<number>({ hasReached: numbered })
    const cache = Object.assign(new MemoryCache(), { serveStale: true })
    const held = Promise.withResolvers<void>()
    const first = await started(source, cache, { onAccessLost: 'clear' })
    source.lists[0]?.answer([put('a', 1)], '1')
    if (isSaving) cache.onSave = () => held.promise
    await first.clock.advance(1)
    source.watches[0]?.batch([], '1')
    await first.clock.advance(1)
    source.watches[0]?.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }))
    await first.clock.advance(1)
    held.resolve()
    await first.clock.advance(1)
    expect([first.informer.size, cache.content]).toEqual([0, undefined])
    await assertCleanStop(first.informer, first.clock)
    const second = await started(source, cache, { onAccessLost: 'clear' })
    expect([second.informer.size, second.informer.status.state]).toEqual([0, 'listing'])
  },
)

describe('[H6] a new history', () => {
  const isLive = async ({ clock }: Mirror, source: ReturnType<typeof scripted<number>>, version: string) => {
    await clock.advance(1_000)
    source.lists.at(-1)?.answer([put('a', Number(version)), put('b', 1)], version)
    await clock.advance(1)
    source.watches.at(-1)?.batch([], version)
    await clock.advance(1)
  }
  const endHistory = async ({ clock }: Mirror, source: ReturnType<typeof scripted<number>>) => {
    source.watches.at(-1)?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
    await clock.advance(1)
  }

  test('is saved at once, so that a process that starts after a crash does not resume the one before', async () => {
    const source = scripted<number>({ hasReached: numbered })
    const cache = new MemoryCache()
    cache.saveAfterShare = 1
    const mirror = await started(source, cache)
    await isLive(mirror, source, '7')
    await endHistory(mirror, source)
    await isLive(mirror, source, '5')
    expect(cache.saves).toEqual(['7', '5'])
    await endHistory(mirror, source)
    await isLive(mirror, source, '5')
    expect(cache.saves).toEqual(['7', '5', '5'])
  })

  test('ends a save of the history before', async () => {
    const source = scripted<number>({ hasReached: numbered })
    const cache = new MemoryCache()
    const held = Promise.withResolvers<void>()
    cache.onSave = () => held.promise
    const mirror = await started(source, cache)
    await isLive(mirror, source, '7')
    await endHistory(mirror, source)
    held.resolve()
    await isLive(mirror, source, '5')
    expect([cache.saves, mirror.errors]).toMatchObject([['5'], [{ code: 'EPOCH_CHANGED' }]])
  })
})

describe('[H6a] a list that was requested because the store may be wrong', () => {
  const live = async (cache: MemoryCache) => {
    const source = scripted<number>({ hasReached: numbered })
    const { clock, informer } = await started(source, cache)
    source.lists.at(-1)?.answer([put('a', 1), ...Array.from({ length: 98 }, (_, n) => put(`${n}`, n))], '7')
    await clock.advance(1)
    source.watches.at(-1)?.batch([], '7')
    await clock.advance(1)
    source.watches.at(-1)?.batch([put('b', 1)], '8')
    await clock.advance(1)
    informer.relist().catch(() => {})
    await clock.advance(1_000)
    return { source, clock, informer }
  }

  test('is waited for: a process that starts after a stop would resume, and never list', async () => {
    const cache = new MemoryCache()
    const { clock, informer } = await live(cache)
    await assertCleanStop(informer, clock)
    expect(cache.saves).toEqual(['7'])
  })

  test('and that has changed an object is saved after `saveEveryMs`', async () => {
    const cache = new MemoryCache()
    const { source, clock } = await live(cache)
    const others = Array.from({ length: 98 }, (_, n) => put(`${n}`, n))
    source.lists.at(-1)?.answer([put('a', 2), put('b', 1), ...others], '9')
    await clock.advance(1)
    source.watches.at(-1)?.batch([], '9')
    await clock.advance(60_000)
    expect(cache.saves).toEqual(['7', '9'])
  })
})

test('[H10] the end of a history does not end the removal of the saved content after lost access', async () => {
  const source = scripted<number>({ hasReached: numbered })
  const cache = new MemoryCache()
  const held = Promise.withResolvers<void>()
  cache.discard = async (context?: MirrorCacheContext) => {
    await held.promise
    context?.signal.throwIfAborted()
    cache.content = undefined
  }
  const { clock } = await started(source, cache, { onAccessLost: 'clear' })
  source.lists[0]?.answer([put('a', 1)], '1')
  await clock.advance(1)
  source.watches[0]?.batch([], '1')
  await clock.advance(1)
  source.watches[0]?.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }))
  await clock.advance(1_000)
  source.lists[1]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
  await clock.advance(1)
  held.resolve()
  await clock.advance(1)
  expect(cache.content).toBeUndefined()
})
