import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { ListEvent, WatchEvent } from '../../../src/contract/source.js'
import type { Change, DeltaBatch } from '../../../src/queue/change.js'
import { ChangeQueue, DEFAULT_CAPACITY } from '../../../src/queue/change-queue.js'
import { DeltaFIFO, type DeltaFIFOOptions } from '../../../src/queue/delta-fifo.js'
import { Indexer } from '../../../src/store/indexer.js'
import { hostileKeys } from '../../support/hostile-keys.js'

const put = (key: string, object: string): ListEvent<string> => ({ type: 'put', key, object })
const gone = (key: string, object?: string): ListEvent<string> => {
  return object === undefined ? { type: 'delete', key } : { type: 'delete', key, object }
}
const invalid = (key?: string): ListEvent<string> => {
  return key === undefined ? { type: 'invalid', error: 'bad' } : { type: 'invalid', key, error: 'bad' }
}
const replaced = (entries: Record<string, string>): WatchEvent<string> => {
  return { type: 'replace', entries: Object.entries(entries).map(([key, object]) => ({ key, object })) }
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

/** Resolves after all promise reactions that are due have run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const add = (key: string, object: string, version = '1'): Change<string> => {
  return { type: 'add', key, object, previous: undefined, version, origin: 'watch' }
}
const update = (key: string, object: string, previous: string, version = '1'): Change<string> => {
  return { type: 'update', key, object, previous, version, origin: 'watch' }
}
const removal = (key: string, previous: string, version = '1'): Change<string> => {
  return { type: 'delete', key, object: previous, previous, version, origin: 'watch', finalState: 'known' }
}

describe('[law 1] a key is in the queue exactly when it has deltas, in the order in which it entered', () => {
  test.each(['every', 'latest'] as const)(
    '%s: pop returns the keys in the order in which they were added',
    async (delivery) => {
      const { fifo, apply } = composed({ delivery })
      apply('1', put('b', '1'), put('a', '1'))
      apply('2', put('c', '1'))
      expect([await fifo.pop(), await fifo.pop(), await fifo.pop()].flatMap(textOf)).toEqual([
        'added b=1',
        'added a=1',
        'added c=1',
      ])
    },
  )

  test.each(['every', 'latest'] as const)('%s: a key that is queued keeps its place', async (delivery) => {
    const { fifo, apply } = composed({ delivery })
    apply('1', put('a', '1'), put('b', '1'))
    apply('2', put('a', '2'))
    const [first, second] = [await fifo.pop(), await fifo.pop()]
    expect([first.deltas.at(-1)?.object, textOf(second)]).toEqual(['2', ['added b=1']])
  })

  test.each(['every', 'latest'] as const)(
    '%s: a key that was taken is added again behind the others',
    async (delivery) => {
      const { fifo, apply } = composed({ delivery })
      apply('1', put('a', '1'), put('b', '1'))
      await fifo.pop()
      apply('2', put('a', '2'))
      expect([await fifo.pop(), await fifo.pop()].flatMap(textOf)).toEqual(['added b=1', 'updated a=2'])
    },
  )

  test('every: pop returns all deltas of the key, oldest first', async () => {
    const { fifo, apply } = composed()
    apply('1', put('a', '1'), put('b', '1'))
    apply('2', put('a', '2'))
    apply('3', gone('a'))
    expect(textOf(await fifo.pop())).toEqual(['added a=1', 'updated a=2', 'deleted a=2'])
  })

  test.each(['every', 'latest'] as const)('%s: a key that was popped is not drained again', async (delivery) => {
    const { fifo, apply } = composed({ delivery })
    apply('1', put('a', '1'), put('b', '1'))
    await fifo.pop()
    expect(textOf(await fifo.drain())).toEqual(['added b=1'])
  })

  test('keys counts the keys that wait, once each', () => {
    const queue = new ChangeQueue<string>({})
    queue.push([add('a', '1'), update('a', '2', '1'), add('b', '1')], '1')
    expect(queue.keys).toBe(2)
  })

  test.each(hostileKeys)('the hostile key %s is a key like any other', async (_, key) => {
    const { indexer, fifo, apply, list } = composed()
    list('1', put(key, '1'))
    await indexer.apply(await fifo.drain())
    apply('2', put(key, '2'))
    await indexer.apply(await fifo.drain())
    expect(indexer.get(key)).toBe('2')
    list('3')
    expect(textOf(await fifo.drain())).toEqual([`deleted ${key}=2`])
  })
})

describe('[law 2] replace and every batch are atomic', () => {
  test('every: a drain returns one whole batch, and the version of the source after it', async () => {
    const { fifo, apply } = composed()
    apply('1', put('a', '1'), put('b', '1'))
    apply('2', gone('a'), put('b', '2'))
    const [first, second] = [await fifo.drain(), await fifo.drain()]
    expect([textOf(first), first.version, first.isBoundary]).toEqual([['added a=1', 'added b=1'], '1', true])
    expect([textOf(second), second.version, second.isBoundary]).toEqual([['deleted a=1', 'updated b=2'], '2', true])
  })

  test('nothing of a list is in the queue before its commit', async () => {
    const { fifo } = composed()
    const replacement = fifo.replace()
    void replacement.page([put('a', '1')])
    expect(fifo.isEmpty).toBe(true)
    void replacement.page([put('b', '1')])
    void replacement.commit('1')
    expect(textOf(await fifo.drain())).toEqual(['replaced a=1', 'replaced b=1'])
  })

  test('an abandoned list leaves no trace', async () => {
    const { indexer, fifo, list } = composed()
    list('1', put('a', '1'))
    await indexer.apply(await fifo.drain())
    const replacement = fifo.replace()
    void replacement.page([put('b', '1')])
    replacement.abandon()
    expect([fifo.isEmpty, fifo.version]).toEqual([true, '1'])
  })

  test('the deletions and the objects of a list are one batch', async () => {
    const { indexer, fifo, list } = composed()
    list('1', put('a', '1'), put('b', '1'))
    await indexer.apply(await fifo.drain())
    list('2', put('b', '2'))
    expect(textOf(await fifo.drain())).toEqual(['deleted a=1', 'replaced b=2'])
  })

  test('every: the part of a batch that pop has not taken ends at the boundary of the batch', async () => {
    const { fifo, apply } = composed()
    apply('1', put('a', '1'), put('b', '1'))
    apply('2', put('c', '1'))
    const popped = await fifo.pop()
    const rest = await fifo.drain()
    expect([popped.isBoundary, popped.version]).toEqual([false, undefined])
    expect([textOf(rest), rest.isBoundary, rest.version]).toEqual([['added b=1'], true, '1'])
  })

  test('every: if pop has taken from a later batch, the earlier one does not end at a boundary, the later one does', async () => {
    const { fifo, apply } = composed()
    apply('1', put('a', '1'), put('b', '1'))
    apply('2', put('a', '2'), put('c', '2'))
    await fifo.pop()
    const [first, second] = [await fifo.drain(), await fifo.drain()]
    expect([textOf(first), first.isBoundary, first.version]).toEqual([['added b=1'], false, undefined])
    expect([textOf(second), second.isBoundary, second.version]).toEqual([['added c=2'], true, '2'])
  })

  test.each(['every', 'latest'] as const)('%s: the last pop stands at a boundary', async (delivery) => {
    const { fifo, apply } = composed({ delivery })
    apply('1', put('a', '1'))
    apply('2', put('b', '1'))
    const [first, last] = [await fifo.pop(), await fifo.pop()]
    expect([first.isBoundary, last.isBoundary, last.version]).toEqual([false, true, '2'])
  })

  test('a polled replace inside a batch deletes the keys that it does not name', async () => {
    const { indexer, fifo, apply } = composed()
    apply('1', put('a', '1'), put('b', '1'))
    await indexer.apply(await fifo.drain())
    apply('2', put('c', '1'), replaced({ b: '2' }))
    const batch = await fifo.drain()
    void indexer.apply(batch)
    expect([textOf(batch).sort(), indexer.list()]).toEqual([
      ['added c=1', 'deleted a=1', 'deleted c=1', 'updated b=2'],
      ['2'],
    ])
  })

  test('later events of a list override earlier ones', async () => {
    const { fifo, list } = composed()
    list('1', put('a', '1'), put('b', '1'), put('a', '2'), gone('b'))
    expect(textOf(await fifo.drain())).toEqual(['replaced a=2'])
  })

  test('two changes of one key in one batch leave the later one in the store', async () => {
    const { indexer, fifo, apply } = composed()
    apply('1', put('a', '1'), put('a', '2'))
    await indexer.apply(await fifo.drain())
    expect(indexer.get('a')).toBe('2')
  })

  test('a source that repeats its last safe version loses no change in the store', async () => {
    const { indexer, fifo, apply } = composed()
    apply('1', put('a', '1'))
    await indexer.apply(await fifo.drain())
    apply('1', put('a', '2'))
    await indexer.apply(await fifo.drain())
    expect(indexer.get('a')).toBe('2')
  })
})

describe('[law 3] deletion detection looks at the queue, at what was taken last, and at the known objects', () => {
  test.each(['every', 'latest'] as const)(
    '%s: a key that is only queued and not in the list is deleted',
    async (delivery) => {
      const { indexer, apply, list, settle } = composed({ delivery })
      apply('1', put('a', '1'))
      list('2', put('b', '1'))
      await settle()
      expect([...indexer.keys()]).toEqual(['b'])
    },
  )

  test.each(['every', 'latest'] as const)(
    '%s: a key that was taken but is not known yet, and not in the list, is deleted',
    async (delivery) => {
      const { indexer, fifo, apply, list, settle } = composed({ delivery })
      apply('1', put('a', '1'))
      const taken = await fifo.drain()
      list('2', put('b', '1'))
      void indexer.apply(taken)
      await settle()
      expect([...indexer.keys()]).toEqual(['b'])
    },
  )

  test('a popped key that is not known yet, and not in the list, is deleted', async () => {
    const { indexer, fifo, apply, list, settle } = composed()
    apply('1', put('a', '1'))
    const taken = await fifo.pop()
    list('2')
    void indexer.apply(taken)
    await settle()
    expect(indexer.size).toBe(0)
  })

  test('a known key that is not in the list is deleted, with its last known state', async () => {
    const { fifo, list, indexer } = composed()
    void indexer.apply({ events: [{ type: 'put', key: 'a', object: '1' }], version: '1' })
    list('2')
    expect(textOf(await fifo.drain())).toEqual(['deleted a=1'])
  })

  test('a key whose deletion is queued is not deleted twice', async () => {
    const { indexer, fifo, apply, list } = composed()
    list('1', put('a', '1'))
    await indexer.apply(await fifo.drain())
    apply('2', gone('a'))
    list('3')
    expect([...textOf(await fifo.drain()), ...textOf(await fifo.drain())]).toEqual(['deleted a=1'])
  })

  test('a key whose deletion was taken is not deleted again', async () => {
    const { indexer, fifo, apply, list } = composed()
    list('1', put('a', '1'))
    await indexer.apply(await fifo.drain())
    apply('2', gone('a'))
    await fifo.drain()
    list('3')
    expect(textOf(await fifo.drain())).toEqual([])
  })

  test('without known objects, keys that were taken before the last drain are unknown', async () => {
    const fifo = new DeltaFIFO<string>()
    fifo.apply({ events: [put('a', '1')], version: '1' })
    await fifo.drain()
    await fifo.drain({ signal: AbortSignal.abort() })
    listInto(fifo, '2')
    expect(textOf(await fifo.drain())).toEqual([])
  })

  test('a key that an invalid event names counts as listed', async () => {
    const { indexer, fifo, list, settle } = composed()
    list('1', put('a', '1'), put('b', '1'))
    await indexer.apply(await fifo.drain())
    list('2', put('b', '1'), invalid('a'))
    await settle()
    expect(indexer.get('a')).toBe('1')
  })

  test('an invalid event without a key suppresses the deletions of its list', async () => {
    const { indexer, fifo, list, settle } = composed()
    list('1', put('a', '1'), put('b', '1'))
    await indexer.apply(await fifo.drain())
    list('2', put('b', '2'), invalid())
    await settle()
    expect([indexer.get('a'), indexer.get('b')]).toEqual(['1', '2'])
  })

  test.each([
    ['after', (...[bad, all]: [WatchEvent<string>, WatchEvent<string>]) => [all, bad]],
    ['before', (...[bad, all]: [WatchEvent<string>, WatchEvent<string>]) => [bad, all]],
  ])('a key that an invalid event names %s a polled replace counts as listed', async (_, ordered) => {
    const { indexer, fifo, apply, settle } = composed()
    apply('1', put('a', '1'), put('b', '1'))
    await indexer.apply(await fifo.drain())
    apply('2', ...ordered(invalid('a'), replaced({ b: '2' })))
    await settle()
    expect([indexer.get('a'), indexer.get('b')]).toEqual(['1', '2'])
  })

  test('an invalid event without a key suppresses the deletions of the replaces in its batch', async () => {
    const { indexer, fifo, apply, settle } = composed()
    apply('1', put('a', '1'), put('b', '1'))
    await indexer.apply(await fifo.drain())
    apply('2', replaced({ b: '2' }), invalid())
    await settle()
    expect([indexer.get('a'), indexer.get('b')]).toEqual(['1', '2'])
  })

  test('an invalid event in a batch counts as applied: the version moves, and there is no delta', async () => {
    const { fifo, apply } = composed()
    apply('1', invalid('a'))
    const batch = await fifo.drain()
    expect([textOf(batch), batch.version]).toEqual([[], '1'])
  })
})

describe('[law 4a][law 4b] every returns the batches as they came, latest all pending changes as one', () => {
  test('every: batches are unmerged and in order', () => {
    const queue = new ChangeQueue<string>({})
    queue.push([add('a', '1', '1')], '1')
    queue.push([update('a', '2', '1', '2')], '2')
    queue.push([removal('a', '2', '3')], '3')
    const taken = [queue.take(), queue.take(), queue.take(), queue.take()]
    expect(taken).toEqual([
      { changes: [add('a', '1', '1')], version: '1' },
      { changes: [update('a', '2', '1', '2')], version: '2' },
      { changes: [removal('a', '2', '3')], version: '3' },
      undefined,
    ])
  })

  test('latest: a drain takes everything pending, at the version of the last batch', async () => {
    const { fifo, apply } = composed({ delivery: 'latest' })
    apply('1', put('a', '1'), put('b', '1'))
    apply('2', put('a', '2'))
    const batch = await fifo.drain()
    expect([textOf(batch), batch.version, batch.isBoundary]).toEqual([['added a=2', 'added b=1'], '2', true])
  })

  test('latest: absent, put, delete merge to nothing', async () => {
    const { fifo, apply } = composed({ delivery: 'latest' })
    apply('1', put('a', '1'))
    apply('2', gone('a'))
    expect(textOf(await fifo.drain())).toEqual([])
  })

  test('latest: present, delete, put is a delete, then an add', async () => {
    const { indexer, fifo, apply } = composed({ delivery: 'latest' })
    apply('1', put('a', '1'))
    await indexer.apply(await fifo.drain())
    apply('2', gone('a'))
    apply('3', put('a', '3'))
    expect(textOf(await fifo.drain())).toEqual(['deleted a=1', 'added a=3'])
  })

  test('latest: previous is the last delivered state', () => {
    const queue = new ChangeQueue<string>({ delivery: 'latest' })
    queue.push([update('a', '2', '1')], '1')
    queue.push([update('a', '3', '2')], '2')
    expect(queue.take()?.changes).toMatchObject([{ type: 'update', object: '3', previous: '1' }])
  })

  test.each(['every', 'latest'] as const)('%s: changes that a reader has taken are never merged', (delivery) => {
    const queue = new ChangeQueue<string>({ delivery })
    queue.push([add('a', '1')], '1')
    const taken = queue.take()
    queue.push([removal('a', '1')], '2')
    expect(taken).toEqual({ changes: [add('a', '1')], version: '1' })
    expect(queue.take()?.changes).toEqual([removal('a', '1')])
  })

  test('a delete after a put that was taken and is still being processed is delivered', async () => {
    const { fifo, apply } = composed({ delivery: 'latest' })
    apply('1', put('a', '1'))
    await fifo.drain()
    apply('2', gone('a'))
    const waiting = fifo.drain()
    expect(textOf(await waiting)).toEqual(['deleted a=1'])
  })
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

  test('latest: a second delete within the batch that also added the key is dropped', async () => {
    const { fifo, apply } = composed({ delivery: 'latest' })
    apply('1', put('a', '1'), gone('a'), gone('a', 'final'))
    expect(textOf(await fifo.drain())).toEqual([])
  })

  test('latest: a second delete of a key that was only queued is dropped', async () => {
    const { fifo, apply } = composed({ delivery: 'latest' })
    apply('1', put('a', '1'))
    apply('2', gone('a'), gone('a'))
    expect(textOf(await fifo.drain())).toEqual([])
  })

  test('latest: two deletes in one batch of a key that is known are one, with the final state', async () => {
    const { indexer, fifo, apply, list } = composed({ delivery: 'latest' })
    list('1', put('a', '1'))
    await indexer.apply(await fifo.drain())
    apply('2', gone('a'), gone('a', 'final'))
    expect(textOf(await fifo.drain())).toEqual(['deleted a=final'])
  })
})

describe('[law 6] bookmarks travel through the queue', () => {
  test.each(['every', 'latest'] as const)('%s: a bookmark is an empty batch with a version', async (delivery) => {
    const { fifo, apply } = composed({ delivery })
    apply('7')
    expect(await fifo.drain()).toEqual({ deltas: [], version: '7', isBoundary: true })
  })

  test('every: a bookmark comes after the changes before it', async () => {
    const { fifo, apply } = composed()
    apply('1', put('a', '1'))
    apply('2')
    expect([(await fifo.drain()).version, (await fifo.drain()).version]).toEqual(['1', '2'])
  })

  test('every: of bookmarks in a row only the last is kept', () => {
    const queue = new ChangeQueue<string>({})
    for (let version = 1; version <= 1_000; version++) queue.push([], String(version))
    expect([queue.take(), queue.take()]).toEqual([{ changes: [], version: '1000' }, undefined])
  })

  test('every: a bookmark does not swallow the batch before it', () => {
    const queue = new ChangeQueue<string>({})
    queue.push([add('a', '1')], '1')
    queue.push([], '2')
    queue.push([update('a', '2', '1')], '3')
    expect([queue.take()?.version, queue.take()?.version, queue.take()?.version]).toEqual(['1', '2', '3'])
  })

  test('pop returns a bookmark if no key is queued', async () => {
    const { fifo, apply } = composed()
    apply('7')
    expect(await fifo.pop()).toEqual({ deltas: [], version: '7', isBoundary: true })
  })

  test('version is that of the last accepted batch, not of the last taken one', async () => {
    const { fifo, apply } = composed()
    expect(fifo.version).toBeUndefined()
    apply('1', put('a', '1'))
    apply('2')
    await fifo.drain()
    expect(fifo.version).toBe('2')
  })
})

describe('[law 7] hasSynced is true only after the whole first list has been processed', () => {
  test.each(['every', 'latest'] as const)(
    '%s: not when it is committed or taken, but at the next call of pop or drain',
    async (delivery) => {
      const { fifo, list } = composed({ delivery })
      const seen = [fifo.hasSynced]
      list('1', put('a', '1'))
      seen.push(fifo.hasSynced)
      await fifo.drain()
      seen.push(fifo.hasSynced)
      void fifo.drain()
      seen.push(fifo.hasSynced)
      expect(seen).toEqual([false, false, false, true])
    },
  )

  test('an empty first list is processed like any other', async () => {
    const { fifo, list } = composed()
    list('1')
    await fifo.drain()
    expect(fifo.hasSynced).toBe(false)
    void fifo.drain()
    expect(fifo.hasSynced).toBe(true)
  })

  test('popped key by key it is true after the last key of the first list', async () => {
    const { fifo, list, apply } = composed()
    list('1', put('a', '1'), put('b', '1'))
    apply('2', put('c', '1'))
    await fifo.pop()
    await fifo.pop()
    expect(fifo.hasSynced).toBe(false)
    await fifo.pop()
    expect(fifo.hasSynced).toBe(true)
  })

  test('batches before the first list do not count as the list', async () => {
    const { fifo, apply, list } = composed()
    apply('1', put('a', '1'))
    list('2', put('a', '2'))
    await fifo.drain()
    await fifo.drain()
    expect(fifo.hasSynced).toBe(false)
    void fifo.drain()
    expect(fifo.hasSynced).toBe(true)
  })

  test('batches alone never make it true', async () => {
    const { fifo, apply } = composed()
    apply('1', put('a', '1'))
    await fifo.drain()
    void fifo.drain()
    expect(fifo.hasSynced).toBe(false)
  })

  test('latest: a key of the first list that disappears before it is popped does not delay hasSynced', async () => {
    const { fifo, apply, list } = composed({ delivery: 'latest' })
    list('1', put('a', '1'), put('b', '1'))
    apply('2', gone('b'), put('c', '1'))
    await fifo.pop()
    await fifo.pop()
    expect(fifo.hasSynced).toBe(true)
  })

  test('it stays true through later lists', async () => {
    const { fifo, list } = composed()
    list('1', put('a', '1'))
    await fifo.drain()
    void fifo.drain()
    list('2', put('a', '2'))
    expect(fifo.hasSynced).toBe(true)
  })

  test.each(['every', 'latest'] as const)('%s: a delete of an unknown key is dropped', async (delivery) => {
    const { fifo, apply } = composed({ delivery })
    apply('1', gone('nobody', 'final'))
    expect(textOf(await fifo.drain())).toEqual([])
  })
})

describe('[law 8a][law 8b][law 8c][I12] the queue is bounded', () => {
  test('every holds 10 000 changes by default', () => {
    expect(DEFAULT_CAPACITY).toBe(10_000)
  })

  test('every holds capacity changes unmerged', () => {
    const queue = new ChangeQueue<string>({ capacity: 3 })
    const fits = [
      queue.push([add('a', '1')], '1'),
      queue.push([update('a', '2', '1'), update('a', '3', '2')], '2'),
      queue.push([], '3'),
      queue.push([update('a', '4', '3')], '4'),
    ]
    expect(fits).toEqual([true, true, true, false])
  })

  test('changes that were taken do not count', () => {
    const queue = new ChangeQueue<string>({ capacity: 1 })
    queue.push([add('a', '1')], '1')
    queue.take()
    expect(queue.push([removal('a', '1')], '2')).toBe(true)
  })

  test('resyncs do not count, neither when they are queued nor when they are taken', () => {
    const queue = new ChangeQueue<string>({ capacity: 1 })
    const resync = { ...update('a', '1', '1'), origin: 'resync' } as const
    expect(queue.push([resync, resync, resync], undefined)).toBe(true)
    queue.take()
    expect([queue.push([add('b', '1')], '1'), queue.push([add('c', '1')], '2')]).toEqual([true, false])
  })

  test('changes that were popped do not count', async () => {
    const { fifo, apply } = composed({ capacity: 2 })
    apply('1', put('a', '1'), put('b', '1'))
    await fifo.pop()
    apply('2', put('b', '2'))
    expect([(await fifo.drain()).version, (await fifo.drain()).version]).toEqual(['1', '2'])
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

  test('beyond its capacity no change that pop has taken is delivered again', async () => {
    const { fifo, apply } = composed({ capacity: 3 })
    apply('1', put('a', '1'), put('b', '1'))
    await fifo.pop()
    apply('2', put('b', '2'), put('c', '2'), put('d', '2'))
    expect(textOf(await fifo.drain())).toEqual(['added b=2', 'added c=2', 'added d=2'])
  })

  test('latest accepts every batch', () => {
    const queue = new ChangeQueue<string>({ delivery: 'latest', capacity: 1 })
    expect(queue.push([add('a', '1'), add('b', '1'), add('c', '1')], '1')).toBe(true)
  })

  test('latest holds at most two deltas a key, whatever happens to it', () => {
    const queue = new ChangeQueue<string>({ delivery: 'latest' })
    queue.push([removal('a', '0')], '0')
    for (let version = 1; version <= 1_000; version++) {
      queue.push(
        [add('a', `${version}`), update('a', `${version}b`, `${version}`), removal('a', `${version}b`)],
        `${version}`,
      )
    }
    queue.push([add('a', 'last')], '1001')
    expect(queue.take()?.changes.map(({ type }) => type)).toEqual(['delete', 'add'])
  })

  test('a coalesced internal queue is one batch', () => {
    const queue = new ChangeQueue<string>({ capacity: 1 })
    queue.push([add('a', '1')], '1')
    queue.push([update('a', '2', '1')], '2')
    queue.coalesce()
    queue.push([add('b', '3')], '3')
    expect([queue.take()?.version, queue.take(), queue.isEmpty]).toEqual(['3', undefined, true])
  })

  test('coalescing twice is coalescing once', () => {
    const queue = new ChangeQueue<string>({})
    queue.push([add('a', '1')], '1')
    queue.coalesce()
    queue.coalesce()
    expect(queue.take()).toEqual({ changes: [add('a', '1')], version: '1' })
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

describe('drain and pop', () => {
  test.each(['drain', 'pop'] as const)('%s waits until a batch arrives', async (take) => {
    const { fifo, apply } = composed()
    let batch: DeltaBatch<string> | undefined
    const waiting = fifo[take]().then((came) => {
      batch = came
    })
    await settled()
    expect(batch).toBeUndefined()
    apply('1', put('a', '1'))
    await waiting
    expect(batch === undefined ? [] : textOf(batch)).toEqual(['added a=1'])
  })

  test.each(['drain', 'pop'] as const)(
    '%s resolves with an empty batch at no boundary when the signal aborts',
    async (take) => {
      const { fifo } = composed()
      const controller = new AbortController()
      const waiting = fifo[take]({ signal: controller.signal })
      controller.abort()
      expect(await waiting).toEqual({ deltas: [], version: undefined, isBoundary: false })
    },
  )

  test.each(['drain', 'pop'] as const)(
    '%s resolves at once if the signal has aborted and the queue is empty',
    async (take) => {
      const { fifo } = composed()
      expect(await fifo[take]({ signal: AbortSignal.abort() })).toMatchObject({ deltas: [], isBoundary: false })
    },
  )

  test('an aborted wait takes no batch: the next wait receives it', async () => {
    const { fifo, apply } = composed()
    const controller = new AbortController()
    const aborted = fifo.drain({ signal: controller.signal })
    controller.abort()
    await aborted
    apply('1', put('a', '1'))
    expect(textOf(await fifo.drain())).toEqual(['added a=1'])
  })

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

  test('the type of a delta names its cause: replaced for lists, added, updated and deleted for the watch', async () => {
    const { indexer, fifo, apply, list } = composed()
    list('1', put('a', '1'))
    await indexer.apply(await fifo.drain())
    apply('2', put('a', '2'), put('b', '2'))
    apply('3', gone('a', 'final'))
    const later = [await fifo.drain(), await fifo.drain()].flatMap(({ deltas }) => deltas)
    expect(later).toEqual([
      { type: 'updated', key: 'a', object: '2', version: '2' },
      { type: 'added', key: 'b', object: '2', version: '2' },
      { type: 'deleted', key: 'a', object: 'final', version: '3' },
    ])
  })
})

describe('options', () => {
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

  test.each(['drain', 'pop'] as const)('%s: an unknown option is a TypeError that names the option', (take) => {
    const options: object = { timeoutMs: 1 }
    expect(() => new DeltaFIFO()[take](options)).toThrow(`${take}: unknown option "timeoutMs"`)
  })

  test.each(['drain', 'pop'] as const)('%s: a signal of another type is a TypeError that names the option', (take) => {
    const options: object = { signal: {} }
    expect(() => new DeltaFIFO()[take](options)).toThrow(`${take}: option "signal" must be an AbortSignal`)
  })
})
