import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { DeltaBatch, DeltaFIFOOptions, ListEvent, WatchEvent } from '../../../src/adapter.js'
import { type Change, DeltaFIFO, Indexer } from '../../../src/index.js'
import { ChangeQueue, DEFAULT_CAPACITY, NO_POSITION } from '../../../src/queue/change-queue.js'
import { finish } from '../../../src/util/steps.js'

const put = (key: string, object: string): ListEvent<string> => ({ type: 'put', key, object })
const gone = (key: string, object?: string): ListEvent<string> => {
  return object === undefined ? { type: 'delete', key } : { type: 'delete', key, object }
}

/** A DeltaFIFO with an indexer that consumes it, composed as in an application. */
function composed(options: Omit<DeltaFIFOOptions<string>, 'knownObjects'> = {}) {
  const indexer = new Indexer<string>()
  const fifo = new DeltaFIFO<string>({ ...options, knownObjects: indexer })
  return {
    indexer,
    fifo,
    apply: (version: string, ...events: WatchEvent<string>[]) => fifo.apply({ events, version }),
    list: (version: string, ...events: ListEvent<string>[]) => listInto(fifo, version, ...events),
    /** Drains the queue and writes all pending changes to the indexer. */
    settle: async () => {
      while (!fifo.isEmpty) await indexer.apply(await fifo.drain())
      await fifo.drain({ signal: AbortSignal.abort() })
    },
  }
}

function listInto(fifo: DeltaFIFO<string>, version: string, ...events: ListEvent<string>[]): void {
  const replacement = fifo.replace()
  void replacement.page(events)
  void replacement.commit(version)
}

/** The changes of a batch as text, such as "added a=1". */
function textOf({ deltas }: DeltaBatch<string>): string[] {
  return deltas.map(({ type, key, object }) => `${type} ${key}=${object}`)
}

const add = (key: string, object: string, version = '1'): Change<string> => {
  return { type: 'add', key, object, previous: undefined, version, origin: 'watch' }
}
const update = (key: string, object: string, previous: string, version = '1'): Change<string> => {
  return { type: 'update', key, object, previous, version, origin: 'watch' }
}

test('[law 2] replace and every batch are atomic: a source that repeats its last safe version loses no change in the store', async () => {
  const { indexer, fifo, apply } = composed()
  apply('1', put('a', '1'))
  await indexer.apply(await fifo.drain())
  apply('1', put('a', '2'))
  await indexer.apply(await fifo.drain())
  expect(indexer.get('a')).toBe('2')
})

describe('[law 5] merging two deletes keeps the more informative object and the later version', () => {
  test('latest: a second delete with the final state improves the queued one', async () => {
    const { indexer, fifo, apply, list } = composed({ delivery: 'latest' })
    list('1', put('a', '1'))
    await indexer.apply(await fifo.drain())
    list('2')
    apply('3', gone('a', 'final'))
    expect((await fifo.drain()).deltas).toEqual([{ type: 'deleted', key: 'a', object: 'final', version: '3' }])
  })

  test('latest: a second delete that only infers leaves the final state of the queued one', async () => {
    const { indexer, fifo, apply } = composed({ delivery: 'latest' })
    apply('1', put('a', '1'))
    await indexer.apply(await fifo.drain())
    apply('2', gone('a', 'final'))
    apply('3', gone('a'))
    expect((await fifo.drain()).deltas).toEqual([{ type: 'deleted', key: 'a', object: 'final', version: '3' }])
  })
})

test.each(['drain', 'pop'] as const)('[law 6] a bookmark is an empty batch with a version, for %s', async (take) => {
  for (const delivery of ['every', 'latest'] as const) {
    const { fifo, apply } = composed({ delivery })
    apply('7')
    expect(await fifo[take]()).toEqual({ deltas: [], version: '7', isBoundary: true })
  }
})

test('[law 6] version is that of the last accepted batch, not of the last taken one', async () => {
  const { fifo, apply } = composed()
  expect(fifo.version).toBeUndefined()
  apply('1', put('a', '1'))
  apply('2')
  await fifo.drain()
  expect(fifo.version).toBe('2')
})

describe('[law 7] hasSynced is true only after the whole first list has been processed', () => {
  test.each([
    ['every', [put('a', '1')]],
    ['latest', [put('a', '1')]],
    ['every', []],
  ] as const)(
    '%s: not when it is committed or taken, but at the next call of pop or drain, and then always: %j',
    async (delivery, entries) => {
      const { fifo, apply, list } = composed({ delivery })
      apply('0', put('a', '0'))
      await fifo.drain()
      void fifo.drain({ signal: AbortSignal.abort() })
      const seen = [fifo.hasSynced]
      list('1', ...entries)
      seen.push(fifo.hasSynced)
      await fifo.drain()
      seen.push(fifo.hasSynced)
      void fifo.drain({ signal: AbortSignal.abort() })
      seen.push(fifo.hasSynced)
      list('2', put('b', '2'))
      seen.push(fifo.hasSynced)
      expect(seen).toEqual([false, false, false, true, true])
    },
  )

  test.each(['every', 'latest'] as const)('%s: a delete of an unknown key is dropped', async (delivery) => {
    const { fifo, apply } = composed({ delivery })
    apply('1', gone('nobody', 'final'))
    expect(textOf(await fifo.drain())).toEqual([])
  })
})

describe('[law 8a][law 8b][law 8c][I12] the queue is bounded', () => {
  test('every holds 10 000 changes by default', () => expect(DEFAULT_CAPACITY).toBe(10_000))

  test('every holds capacity changes unmerged, latest accepts every batch', () => {
    const queue = new ChangeQueue<string>({ capacity: 3 })
    const fits = [
      queue.push([add('a', '1')], NO_POSITION),
      queue.push([update('a', '2', '1'), update('a', '3', '2')], NO_POSITION),
      queue.push([], NO_POSITION),
      queue.push([update('a', '4', '3')], NO_POSITION),
    ]
    expect(fits).toEqual([true, true, true, false])
    const latest = new ChangeQueue<string>({ delivery: 'latest', capacity: 1 })
    latest.push([add('a', '1'), add('b', '1')], NO_POSITION)
    finish(latest.merge())
    expect(latest.take()?.changes).toHaveLength(2)
  })

  test('resyncs do not count, neither when they are queued nor when they are taken', () => {
    const queue = new ChangeQueue<string>({ capacity: 1 })
    const resync = { ...update('a', '1', '1'), origin: 'resync' } as const
    expect(queue.push([resync, resync, resync], NO_POSITION)).toBe(true)
    queue.take()
    expect([queue.push([add('b', '1')], NO_POSITION), queue.push([add('c', '1')], NO_POSITION)]).toEqual([true, false])
  })

  test('beyond its capacity every behaves as latest until it has caught up', async () => {
    const { indexer, fifo, apply } = composed({ capacity: 2 })
    apply('1', put('a', '1'), put('b', '1'))
    apply('2', put('a', '2'))
    apply('3', put('a', '3'))
    const merged = await fifo.drain()
    void indexer.apply(merged)
    apply('4', put('a', '4'))
    apply('5', put('a', '5'))
    expect([textOf(merged), merged.version]).toEqual([['added a=3', 'added b=1'], '3'])
    // If both were merged, the second drain waits for a batch. The signal ends that.
    const signal = AbortSignal.abort()
    expect([(await fifo.drain()).version, (await fifo.drain({ signal })).version]).toEqual(['4', '5'])
  })

  test('a reader that only pops and never catches up retains no batch that was taken completely', async () => {
    const { fifo, apply } = composed()
    apply('0', put('last', '0'))
    for (let version = 1; version <= 2_000; version++) {
      apply(`${version}`, put(`k${version}`, '1'))
      await fifo.pop()
    }
    const rest: DeltaBatch<string>[] = []
    while (!fifo.isEmpty) rest.push(await fifo.drain())
    expect(rest.flatMap(textOf)).toEqual(['added k2000=1'])
    expect(rest.length).toBeLessThanOrEqual(2)
  })
})

test.each(['drain', 'pop'] as const)(
  '%s resolves with an empty batch at no boundary when the signal aborts, or at once if it has, and takes nothing',
  async (take) => {
    const { fifo, apply } = composed()
    const controller = new AbortController()
    const waiting = fifo[take]({ signal: controller.signal })
    controller.abort()
    const nothing = { deltas: [], version: undefined, isBoundary: false }
    expect([await waiting, await fifo[take]({ signal: controller.signal })]).toEqual([nothing, nothing])
    apply('1', put('a', '1'))
    expect(textOf(await fifo[take]())).toEqual(['added a=1'])
  },
)

test('each batch resolves one of two pending waits', async () => {
  const { fifo, apply } = composed()
  const both = [fifo.drain(), fifo.drain()]
  apply('1', put('a', '1'))
  apply('2', put('b', '1'))
  expect((await Promise.all(both)).map(textOf)).toEqual([['added a=1'], ['added b=1']])
})

test('a settled wait leaves no listener on its signal', async () => {
  const { fifo, apply } = composed()
  const { signal } = new AbortController()
  const waiting = fifo.drain({ signal })
  apply('1', put('a', '1'))
  await waiting
  expect(getEventListeners(signal, 'abort')).toHaveLength(0)
})

test.each<[string, object]>([
  ['delivery', { delivery: 'all' }],
  ['capacity', { capacity: 0 }],
  ['capacity', { capacity: -1 }],
  ['capacity', { capacity: Number.NaN }],
  ['capacity', { capacity: Infinity }],
  ['capacity', { capacity: 1.5 }],
  ['knownObjects', { knownObjects: 1 }],
  ['Capacity', { Capacity: 1 }],
])('new DeltaFIFO: an invalid "%s" (%j) is a TypeError that names the option', (name, options) => {
  const call = () => new DeltaFIFO(options)
  expect(call).toThrow(TypeError)
  expect(call).toThrow(`"${name}"`)
})

test.each(['drain', 'pop'] as const)('%s: an unknown option is a TypeError that names the option', async (take) => {
  const options: object = { timeoutMs: 1 }
  await expect(new DeltaFIFO()[take](options)).rejects.toThrow(`${take}: unknown option "timeoutMs"`)
})

test.each(['drain', 'pop'] as const)('%s: a signal of another type is a TypeError with its name', async (take) => {
  const options: object = { signal: {} }
  await expect(new DeltaFIFO()[take](options)).rejects.toThrow(`${take}: option "signal" must be an AbortSignal`)
})
