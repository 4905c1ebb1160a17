import { describe, expect, onTestFinished, test } from 'vitest'
import { type MemorySource, memoryDatabase, memorySource } from '../../../../adapters/memory/index.js'
import type { ListPage, WatchBatch } from '../../../../src/adapter.js'
import { SourceError, type Version } from '../../../../src/index.js'
import { SeededRandom } from '../../../../testing/seeded-random.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'
import { begun, mirrorOf } from '../../../support/informers.js'

interface Watching<T> {
  readonly batches: WatchBatch<T>[]
  readonly clock: VirtualClock
  readonly control: AbortController
  readonly requestProgress: () => void
  /** What ended it. */
  error: unknown
}

/** Follows a source, with time in hand. */
async function follow<T>(source: MemorySource<T>, after: Version): Promise<Watching<T>> {
  const clock = new VirtualClock()
  const control = new AbortController()
  onTestFinished(() => control.abort())
  let listener = (): void => {}
  const watching: Watching<T> = { batches: [], clock, control, requestProgress: () => listener(), error: undefined }
  const onProgressRequest = (given: () => void): void => {
    listener = given
  }
  const read = async (): Promise<void> => {
    const context = { signal: control.signal, clock, random: new SeededRandom(1), after, onProgressRequest }
    for await (const batch of source.watch(context)) watching.batches.push(batch)
  }
  read().catch((error: unknown) => (watching.error = error))
  await clock.advance(0)
  return watching
}

async function listOf<T>(source: MemorySource<T>, pageSize = 1_000): Promise<ListPage<T>[]> {
  const context = {
    signal: new AbortController().signal,
    clock: new VirtualClock(),
    random: new SeededRandom(1),
    pageSize,
  }
  const pages: ListPage<T>[] = []
  for await (const page of source.list(context)) pages.push(page)
  return pages
}

function keysOf(batches: readonly WatchBatch<unknown>[]): string[][] {
  return batches.map(({ events }) =>
    events.map((event) => ('key' in event ? `${event.type} ${event.key}` : event.type)),
  )
}

test('a transaction that throws has written nothing', async () => {
  const source = memorySource<number>()
  const head = await source.head()
  expect(() =>
    source.transaction((tx) => {
      tx.put('a', 1)
      throw new Error('no')
    }),
  ).toThrow('no')
  expect([await source.head(), (await listOf(source))[0]?.events]).toEqual([head, []])
})

describe('faults', () => {
  test('stall silences every open watch, heartbeats too, until its signal aborts; the next ones work', async () => {
    const source = memorySource<number>()
    const watching = await follow(source, await source.head())
    const { batches, clock, control, requestProgress } = watching
    source.stall()
    const after = await source.head()
    source.put('a', 1)
    requestProgress()
    await clock.advance(60_000)
    expect(batches).toHaveLength(1)
    expect(keysOf((await follow(source, after)).batches)).toEqual([['put a'], []])
    control.abort('enough')
    await clock.advance(0)
    expect([watching.error, clock.sleeping]).toEqual(['enough', 0])
  })

  test('compact: a watch that is behind fails with VERSION_EXPIRED, others continue', async () => {
    const source = memorySource<number>()
    const behind = await source.head()
    source.put('a', 1)
    const current = await follow(source, await source.head())
    source.compact()
    await current.clock.advance(0)
    expect((await follow(source, behind)).error).toMatchObject({ code: 'VERSION_EXPIRED' })
    source.put('a', 2)
    await current.clock.advance(0)
    expect([current.error, keysOf(current.batches).at(-1)]).toEqual([undefined, ['put a']])
  })

  test('the history has a limit, beyond which it is compacted', async () => {
    const source = memorySource<number>({ history: 10 })
    const first = await source.head()
    const versions = Array.from({ length: 11 }, (_, i) => source.put(`k${i}`, i))
    expect((await follow(source, first)).error).toMatchObject({ code: 'VERSION_EXPIRED' })
    const { batches } = await follow(source, versions[5] ?? '')
    expect(keysOf(batches).flat()).toEqual(['put k6', 'put k7', 'put k8', 'put k9', 'put k10'])
  })

  test('fail: the next lists and watches fail, and then no more', async () => {
    const source = memorySource<number>()
    const error = new SourceError('no', { code: 'UNAUTHORIZED' })
    source.fail(error, 2)
    await expect(listOf(source)).rejects.toBe(error)
    expect((await follow(source, await source.head())).error).toBe(error)
    await expect(listOf(source)).resolves.toHaveLength(1)
  })
})

describe('versions', () => {
  test('those of another collection are of another epoch', async () => {
    const [one, two] = [memorySource<number>(), memorySource<number>()]
    expect(() => one.hasReached(one.put('a', 1), two.put('a', 1))).toThrow(
      expect.objectContaining({ code: 'EPOCH_CHANGED' }),
    )
  })

  test.each(['x', '', '1', '1.1', '1.1.', '1.1.1.1', '1.1.-1', '1.1.1e3', '1.1. 1', '1.1.0x1', '..'])(
    '"%s" is invalid: PROTOCOL',
    async (mark) => {
      const source = memorySource<number>()
      const head = await source.head()
      const [id] = head.split('.')
      expect(() => source.hasReached(head, mark.replace(/^1/, id ?? ''))).toThrow(
        expect.objectContaining({ code: 'PROTOCOL' }),
      )
    },
  )
})

test('a write inside a transaction of the same key is another version', async () => {
  const { clock, source, informer } = mirrorOf<number, object>([])
  await begun(informer, clock)
  source.transaction((tx) => {
    source.put('a', 1)
    tx.put('a', 2)
  })
  await clock.advance(0)
  expect(informer.get('a')).toBe(2)
})

test('a write after a restore is another version than the one of the same number before', async () => {
  const { clock, source, informer } = mirrorOf<number, object>([['a', 0]])
  await begun(informer, clock)
  source.put('a', 1)
  source.put('a', 2)
  await clock.advance(0)
  source.restore([['a', 0]])
  source.corrupt('a', 'bad') // What the mirror shows of it stays from before.
  await clock.advance(10_000)
  expect([informer.get('a'), [...informer.invalid.keys()]]).toEqual([2, ['a']])
  source.put('a', 3)
  await clock.advance(0)
  expect(informer.get('a')).toBe(3)
})

test.each([
  [{ heartbeatMs: 0 }, 'heartbeatMs'],
  [{ history: 0.5 }, 'history'],
  [{ name: '' }, 'name'],
  [{ entires: [] }, 'entires'],
  [{ entries: { a: 1 } }, 'entries'],
])('%j is an OptionError that names it', (options, name) => {
  expect(() => Reflect.apply(memorySource, undefined, [options])).toThrow(
    expect.objectContaining({ name: 'OptionError', message: expect.stringContaining(`"${name}"`) }),
  )
})

test.each<[string, () => unknown]>([
  ['entries', () => memorySource({ entries: [1] as never })],
  ['put', () => memorySource().put(42 as never, {})],
  ['delete', () => memorySource().delete(42 as never)],
])('a key of %s that is not a string is a TypeError', (call, use) => {
  expect(use).toThrow(`${call}: the key must be a string, got `)
})

test.each([
  ['"orders"', 'orders'],
  ['the source "other"', memorySource({ name: 'other' })],
])('a commit of a memory database to %s is a TypeError that names it', (given, collection) => {
  const database = memoryDatabase({ name: 'shop' })
  expect(() => database.commit((tx) => tx.put(collection as never, 'a', 1))).toThrow(
    `commit: ${given} is not a source that shop.collection() has returned`,
  )
})
