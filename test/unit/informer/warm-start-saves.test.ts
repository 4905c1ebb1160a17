import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { MirrorCacheContext } from '../../../src/contract/mirror-cache.js'
import { assertCleanStop } from '../../support/informers.js'
import { MemoryCache } from '../../support/memory-cache.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'
import { cacheAt, started } from '../../support/warm-starts.js'

type Mirror = Awaited<ReturnType<typeof live>>

/** Answers the list that is due with these objects, and begins the watch after it. */
async function list({ source, clock }: Mirror, objects: Readonly<Record<string, number>>, version: string) {
  source.lists.at(-1)?.answer(
    Object.entries(objects).map(([key, object]) => put(key, object)),
    version,
  )
  await clock.advance(1)
  source.watches.at(-1)?.batch([], version)
  await clock.advance(1)
}

/** A mirror that has listed these objects. */
async function live(cache: MemoryCache, objects: Readonly<Record<string, number>>, version: string, options = {}) {
  const mirror = await started(scripted<number>({ hasReached: numbered }), cache, options)
  await list(mirror, objects, version)
  return mirror
}

async function failWatch({ source, clock }: Mirror, code: 'EPOCH_CHANGED' | 'UNAUTHORIZED', ms = 1) {
  source.watches.at(-1)?.fail(new SourceError('over', { code }))
  await clock.advance(ms)
}

test('[H5] filtered keys that a later list lacks are not saved', async () => {
  const source = memorySource<number>({ entries: Object.entries({ a: 1, b: -1 }) })
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
    for (cache.damagedPage of [undefined, 1]) {
      const { informer, clock } = await started(source, cache)
      await assertCleanStop(informer, clock)
    }
    expect([cache.warnings.length, cache.saves.length]).toEqual([1, 2])
  })

  test.each([false, true])('after a list of another history (serveStale: %s)', async (serveStale) => {
    const source = scripted<number>({ hasReached: numbered })
    const cache = cacheAt(source, '7', { a: 1 }, serveStale)
    const mirror = await started(source, cache)
    await failWatch(mirror, 'EPOCH_CHANGED', 2_000)
    await list(mirror, { b: 2 }, '7')
    await assertCleanStop(mirror.informer, mirror.clock)
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
  const resumeState = (): string => {
    throw new Error('no state')
  }
  const source = Object.assign(scripted<number>({ hasReached: numbered }), { resumeState })
  const mirror = await started(source, new MemoryCache())
  await list(mirror, { a: 1 }, '1')
  expect(mirror.errors).toMatchObject([{ message: expect.stringContaining('no state') }])
  expect(mirror.informer.status.state).toBe('live')
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

test.each([false, true])('content whose close throws is confirmed as well (serveStale: %s)', async (serveStale) => {
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
})

describe('[H6] a new history', () => {
  const endHistory = async (mirror: Mirror): Promise<void> => {
    await failWatch(mirror, 'EPOCH_CHANGED', 1_001)
    await list(mirror, { a: 5, b: 1 }, '5')
  }

  test('is saved at once, so that a process that starts after a crash does not resume the one before', async () => {
    const cache = Object.assign(new MemoryCache(), { saveAfterShare: 1 })
    const mirror = await live(cache, { a: 7, b: 1 }, '7')
    await endHistory(mirror)
    expect(cache.saves).toEqual(['7', '5'])
    await endHistory(mirror)
    expect(cache.saves).toEqual(['7', '5', '5'])
  })

  test('ends a save of the history before', async () => {
    const cache = new MemoryCache()
    const held = Promise.withResolvers<void>()
    cache.onSave = () => held.promise
    const mirror = await live(cache, { a: 7, b: 1 }, '7')
    await failWatch(mirror, 'EPOCH_CHANGED')
    held.resolve()
    await mirror.clock.advance(1_000)
    await list(mirror, { a: 5, b: 1 }, '5')
    expect([cache.saves, mirror.errors]).toMatchObject([['5'], [{ code: 'EPOCH_CHANGED' }]])
  })
})

describe('[H6a] a list that was requested because the store may be wrong', () => {
  const others = Object.fromEntries(Array.from({ length: 98 }, (_, n) => [`${n}`, n]))
  const relisting = async (cache: MemoryCache): Promise<Mirror> => {
    const mirror = await live(cache, { a: 1, ...others }, '7')
    mirror.source.watches.at(-1)?.batch([put('b', 1)], '8')
    await mirror.clock.advance(1)
    mirror.informer.relist().catch(() => {})
    await mirror.clock.advance(1_000)
    return mirror
  }

  test('is waited for: a process that starts after a stop would resume, and never list', async () => {
    const cache = new MemoryCache()
    const { clock, informer } = await relisting(cache)
    await assertCleanStop(informer, clock)
    expect(cache.saves).toEqual(['7'])
  })

  test('and that has changed an object is saved after `saveEveryMs`', async () => {
    const cache = new MemoryCache()
    const mirror = await relisting(cache)
    await list(mirror, { a: 2, b: 1, ...others }, '9')
    await mirror.clock.advance(60_000)
    expect(cache.saves).toEqual(['7', '9'])
  })
})

test('[H10] the end of a history does not end the removal of the saved content after lost access', async () => {
  const cache = new MemoryCache()
  const held = Promise.withResolvers<void>()
  cache.discard = async (context?: MirrorCacheContext) => {
    await held.promise
    context?.signal.throwIfAborted()
    cache.content = undefined
  }
  const mirror = await live(cache, { a: 1 }, '1', { onAccessLost: 'clear' })
  await failWatch(mirror, 'UNAUTHORIZED', 1_000)
  mirror.source.lists[1]?.fail(new SourceError('restored', { code: 'EPOCH_CHANGED' }))
  await mirror.clock.advance(1)
  held.resolve()
  await mirror.clock.advance(1)
  expect(cache.content).toBeUndefined()
})
