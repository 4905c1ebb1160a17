import { afterEach, describe, expect, test, vi } from 'vitest'
import type { SourceError } from '../../../src/contract/errors.js'
import type { Delete, ListEvent, Put, WatchEvent } from '../../../src/contract/source.js'
import type { Change } from '../../../src/queue/change.js'
import type { Commit } from '../../../src/store/commit.js'
import { Indexer } from '../../../src/store/indexer.js'
import type { IndexBuilder } from '../../../src/store/indexes/index-types.js'
import type { WriterHooks } from '../../../src/store/store-writer.js'
import { hostileKeys } from '../../support/hostile-keys.js'

interface Item {
  readonly color?: string | null
  readonly n?: number
}

const put = (key: string, object: Item, more: { version?: string; uid?: string } = {}): Put<Item> => {
  return { type: 'put', key, object, ...more }
}
const gone = (key: string, object?: Item): Delete<Item> => {
  return object === undefined ? { type: 'delete', key } : { type: 'delete', key, object }
}
const invalid = (key?: string, error: unknown = 'bad'): ListEvent<Item> => {
  return key === undefined ? { type: 'invalid', error } : { type: 'invalid', key, error }
}
const replaced = (...entries: Put<Item>[]): WatchEvent<Item> => ({ type: 'replace', entries })

const declare = (ix: IndexBuilder<Item>) => ({
  color: ix.equal((item) => item.color),
  colors: ix.multi((item) => (item.color ?? '').split(' ')),
  n: ix.ordered((item) => item.n),
  both: ix.compound((item) => [item.color ?? '', item.n ?? 0]),
})

/** An indexer with one index of each kind, and all its commits. */
function made(hooks: WriterHooks<Item> = {}) {
  const commits: Commit<Item>[] = []
  const reports: SourceError[] = []
  const indexer = new Indexer(
    { indexes: declare },
    {
      onCommit: (commit) => void commits.push(commit),
      report: (error) => reports.push(error),
      ...hooks,
    },
  )
  return {
    indexer,
    commits,
    reports,
    apply: (version: string, ...events: WatchEvent<Item>[]) => void indexer.apply({ events, version }),
    list: (version: string, ...events: ListEvent<Item>[]) => listInto(indexer, version, events),
    listByContent: (version: string, ...events: ListEvent<Item>[]) =>
      listInto(indexer, version, events, { ignoreVersions: true }),
    /** The changes of the last commit, on one line each. */
    told: () => (commits.at(-1)?.changes ?? []).map(lineOf),
  }
}

function listInto(
  indexer: Indexer<Item, object>,
  version: string,
  events: ListEvent<Item>[],
  options?: { ignoreVersions: boolean },
): void {
  const replacement = indexer.replace(options)
  void replacement.page(events)
  void replacement.commit(version)
}

function lineOf(change: Change<Item>): string {
  const { type, key, object, origin } = change
  const state = type === 'delete' ? ` ${change.finalState}` : ''
  return `${type} ${key} ${JSON.stringify(object)} ${origin}${state}`
}

/** Everything that a reader can see. */
function seen(indexer: Indexer<Item, ReturnType<typeof declare>>): object {
  const { by } = indexer
  return {
    get: indexer.get('a'),
    has: indexer.has('a'),
    size: indexer.size,
    version: indexer.version,
    keys: [...indexer.keys()],
    entries: [...indexer.entries()],
    list: indexer.list(),
    color: [by.color('red'), [...by.color.entries('red')], by.color.count('red'), [...by.color.values()]],
    colors: [by.colors('red'), [...by.colors.entries('red')], by.colors.count('red'), [...by.colors.values()]],
    n: [by.n(), [...by.n.entriesIn()], [...by.n.entries(1)], by.n.count(1), [...by.n.values()]],
    both: [by.both([]), [...by.both.entries(['red', 1])], by.both.count(['red', 1]), [...by.both.values()]],
  }
}

const red = { color: 'red', n: 1 }
const blue = { color: 'blue', n: 2 }

describe('reading', () => {
  test('an object is found by its key', () => {
    const { indexer, apply } = made()
    apply('1', put('a', red))
    expect([indexer.get('a'), indexer.has('a'), indexer.get('b'), indexer.has('b')]).toEqual([
      red,
      true,
      undefined,
      false,
    ])
  })

  test('an object is returned without a copy', () => {
    const { indexer, apply } = made()
    apply('1', put('a', red))
    expect(indexer.get('a')).toBe(red)
  })

  test('[S13] entries and keys return iterators like those of a Map', () => {
    const { indexer, apply } = made()
    apply('1', put('a', red), put('b', blue))
    const views = [indexer, indexer.snapshot()]
    for (const view of views) {
      const same = new Map(view.entries())
      expect(same.get('b')).toBe(blue)
      const colors = [...view.entries().map(([key, object]) => `${key}: ${object.color}`)]
      expect([colors, [...view.keys().filter((key) => key === 'a')]]).toEqual([['a: red', 'b: blue'], ['a']])
      expect([[...view.by.color.entries('red')], view.by.n.entriesIn().toArray().length]).toEqual([[['a', red]], 2])
    }
  })

  test('size, keys, entries and list return the same objects', () => {
    const { indexer, apply } = made()
    apply('1', put('a', red, { version: '7', uid: 'u' }), put('b', blue))
    expect([indexer.size, [...indexer.keys()], indexer.list()]).toEqual([2, ['a', 'b'], [red, blue]])
    expect(new Map(indexer.entries())).toEqual(new Map(Object.entries({ a: red, b: blue })))
    expect(['a', 'b', 'c'].map((key) => indexer.entry(key))).toMatchObject([
      { key: 'a', object: red, version: '7', uid: 'u' },
      { key: 'b', object: blue },
      undefined,
    ])
  })

  test('version is undefined before the first list, then the version of the last list or batch', () => {
    const { indexer, list, apply } = made()
    const versions = [indexer.version]
    list('5')
    versions.push(indexer.version)
    apply('6')
    versions.push(indexer.version)
    expect(versions).toEqual([undefined, '5', '6'])
  })

  test('list returns the same frozen array until an object changes', () => {
    const { indexer, apply } = made()
    apply('1', put('a', red))
    const list = indexer.list()
    apply('2', put('a', red))
    expect([indexer.list() === list, Object.isFrozen(list)]).toEqual([true, true])
  })

  test('an indexer without indexes has none', () => {
    expect(Object.keys(new Indexer().by)).toEqual([])
  })
})

describe('a batch', () => {
  test('a batch reports adds, updates and deletes with their previous objects', () => {
    const { apply, commits } = made()
    apply('1', put('a', red))
    apply('2', put('a', blue))
    apply('3', gone('a'))
    expect(commits.map(({ changes }) => changes)).toEqual([
      [{ type: 'add', key: 'a', object: red, previous: undefined, version: '1', origin: 'watch' }],
      [{ type: 'update', key: 'a', object: blue, previous: red, version: '2', origin: 'watch' }],
      [{ type: 'delete', key: 'a', object: blue, previous: blue, version: '3', origin: 'watch', finalState: 'known' }],
    ])
  })

  test('a batch is one commit, reported after all of it is visible', () => {
    const states: unknown[] = []
    const { indexer, apply } = made({
      onCommit: () => void states.push([indexer.size, indexer.version, indexer.by.n().length]),
    })
    apply('1', put('a', red), put('b', blue))
    expect(states).toEqual([[2, '1', 2]])
  })

  test('a delete with a final state reports that and the stored object', () => {
    const { apply, commits } = made()
    apply('1', put('a', red))
    apply('2', gone('a', blue))
    expect(commits.at(-1)?.changes).toMatchObject([{ object: blue, previous: red, finalState: 'known' }])
  })

  test('a delete of an unknown key reports no change', () => {
    const { apply, told } = made()
    apply('1', gone('a', red))
    expect(told()).toEqual([])
  })

  test('a bookmark changes the version, and its commit has no changes', () => {
    const { apply, commits } = made()
    apply('7')
    expect(commits).toEqual([
      {
        origin: 'watch',
        changes: [],
        memberships: [],
        tracked: [],
        version: '7',
        position: '7',
        source: undefined,
        committedAt: undefined,
      },
    ])
  })

  test('a commit has the time of its batch', () => {
    const { indexer, commits } = made()
    void indexer.apply({ events: [], version: '7', committedAt: 1_234 })
    expect(commits[0]?.committedAt).toBe(1_234)
  })

  test('later events of a batch override earlier ones, and each is reported', () => {
    const { indexer, apply, told } = made()
    apply('1', put('a', red), put('a', blue), gone('a'), put('a', red))
    expect(indexer.get('a')).toBe(red)
    expect(told()).toEqual([
      'add a {"color":"red","n":1} watch',
      'update a {"color":"blue","n":2} watch',
      'delete a {"color":"blue","n":2} watch known',
      'add a {"color":"red","n":1} watch',
    ])
  })
})

describe('[S1] an equal object is not a change', () => {
  test('an equal object keeps the stored one, and reports no change', () => {
    const { indexer, apply, told } = made()
    apply('1', put('a', red))
    apply('2', put('a', { ...red }))
    expect([indexer.get('a') === red, told()]).toEqual([true, []])
  })

  test('an equal object with a newer version changes the version of its entry', () => {
    const { indexer, apply, told } = made()
    apply('1', put('a', red, { version: '1' }))
    apply('2', put('a', { ...red }, { version: '2' }))
    expect([indexer.entry('a')?.version, told()]).toEqual(['2', []])
  })

  test('[S2] an object with the same version is not compared: equal versions mean equal objects', () => {
    const { indexer, apply } = made()
    apply('1', put('a', red, { version: '1' }))
    apply('2', put('a', blue, { version: '1' }))
    expect(indexer.get('a')).toBe(red)
  })

  test('an equals function of the caller decides which objects are equal', () => {
    const { indexer, apply } = made({ equals: (a, b) => a.color === b.color })
    apply('1', put('a', red))
    apply('2', put('a', { color: 'red', n: 9 }))
    expect(indexer.get('a')).toBe(red)
  })

  test('if equals throws, the object counts as changed and the error is reported once', () => {
    const { indexer, apply, reports } = made({
      equals: () => {
        throw new Error('cyclic')
      },
    })
    apply('1', put('a', red))
    apply('2', put('a', { ...red, n: 2 }))
    apply('3', put('a', { ...red, n: 3 }))
    expect([indexer.get('a'), reports.map(({ message }) => message)]).toEqual([
      { color: 'red', n: 3 },
      ['the equals function failed: cyclic; such objects count as changed'],
    ])
  })
})

describe('[C28] another uid under the same key is another object', () => {
  test('another uid is reported as a delete, then an add', () => {
    const { apply, told } = made()
    apply('1', put('a', red, { uid: 'first' }))
    apply('2', put('a', blue, { uid: 'second' }))
    expect(told()).toEqual(['delete a {"color":"red","n":1} watch unknown', 'add a {"color":"blue","n":2} watch'])
  })

  test('another uid is another object, even if contents and versions are equal', () => {
    const { indexer, apply, told } = made()
    apply('1', put('a', red, { uid: 'first', version: '1' }))
    const twin = { ...red }
    apply('2', put('a', twin, { uid: 'second', version: '1' }))
    expect([told().length, indexer.get('a') === twin]).toEqual([2, true])
  })

  test('another uid in a relist is another object', () => {
    const { list, told } = made()
    list('1', put('a', red, { uid: 'first' }))
    list('2', put('a', red, { uid: 'second' }))
    expect(told()).toEqual(['delete a {"color":"red","n":1} relist unknown', 'add a {"color":"red","n":1} relist'])
  })
})

describe('the first list', () => {
  test('the first list is one commit of origin initial, without changes', () => {
    const { list, commits } = made()
    list('5', put('a', red), put('b', blue))
    expect(commits).toEqual([
      {
        origin: 'initial',
        changes: [],
        memberships: [],
        tracked: [],
        version: '5',
        position: '5',
        source: undefined,
        committedAt: undefined,
      },
    ])
  })

  test('[B19] later events override earlier ones', () => {
    const { indexer, list } = made()
    list('5', put('a', red), put('b', blue), put('a', blue), gone('b'))
    expect([...indexer.entries()]).toEqual([['a', blue]])
  })

  test('an empty first list is a list', () => {
    const { indexer, list, commits } = made()
    list('5')
    expect([indexer.version, commits.map(({ origin }) => origin)]).toEqual(['5', ['initial']])
  })

  test('a first list that is abandoned leaves nothing in the store', () => {
    const { indexer, commits } = made()
    const before = seen(indexer)
    const replacement = indexer.replace()
    void replacement.page([put('a', red), invalid('x')])
    replacement.abandon()
    expect([seen(indexer), indexer.invalid.size, commits]).toEqual([before, 0, []])
  })

  test('a first list that is abandoned leaves no filtered key behind', () => {
    const { indexer } = made({ remembersFiltered: true, prepare: () => undefined })
    const replacement = indexer.replace()
    void replacement.page([put('a', red)])
    expect(indexer.whole.unstored('a')).toBeDefined()
    replacement.abandon()
    expect(indexer.whole.unstored('a')).toBeUndefined()
  })

  test('the list after an abandoned first list is a first list', () => {
    const { indexer, list, commits } = made()
    const replacement = indexer.replace()
    void replacement.page([put('a', red)])
    replacement.abandon()
    list('5', put('b', blue))
    expect([[...indexer.keys()], commits.map(({ origin }) => origin)]).toEqual([['b'], ['initial']])
  })
})

describe('[I8] no read sees part of a list or of a batch', () => {
  test('during the first list no accessor returns an object', () => {
    const { indexer } = made()
    const before = seen(indexer)
    const replacement = indexer.replace()
    void replacement.page([put('a', red), put('b', blue)])
    expect(seen(indexer)).toEqual(before)
    void replacement.page([put('c', red)])
    expect(seen(indexer)).toEqual(before)
    void replacement.commit('5')
    expect([indexer.size, indexer.by.color.count('red'), indexer.by.n().length]).toEqual([3, 2, 3])
  })

  test('a snapshot that is taken during the first list is empty and remains so', () => {
    const { indexer } = made()
    const replacement = indexer.replace()
    void replacement.page([put('a', red)])
    const snapshot = indexer.snapshot()
    void replacement.commit('5')
    expect([snapshot.size, snapshot.get('a'), snapshot.list(), snapshot.by.color('red'), snapshot.by.n()]).toEqual([
      0,
      undefined,
      [],
      [],
      [],
    ])
    expect(snapshot.version).toBeUndefined()
  })

  test('an index that is added during the first list returns nothing until the list is complete', async () => {
    const { indexer } = made()
    const replacement = indexer.replace()
    void replacement.page([put('a', red)])
    const late = await indexer.addIndex('late', (ix) => ix.equal((item) => item.n))
    expect([late(1), late.count(1), [...late.values()]]).toEqual([[], 0, []])
    void replacement.commit('5')
    expect(late(1)).toEqual([red])
  })

  test('during a later list every accessor returns the state before it', () => {
    const { indexer, list } = made()
    list('5', put('a', red), put('b', blue))
    const before = seen(indexer)
    const replacement = indexer.replace()
    void replacement.page([put('a', blue), put('c', red), invalid('b')])
    expect([seen(indexer), indexer.invalid.size]).toEqual([before, 0])
    void replacement.commit('6')
    expect([...indexer.keys()].sort()).toEqual(['a', 'b', 'c'])
  })

  test('a later list that is abandoned changes nothing', () => {
    const { indexer, list, commits } = made()
    list('5', put('a', red))
    const before = seen(indexer)
    const replacement = indexer.replace()
    void replacement.page([put('a', blue), put('c', red)])
    replacement.abandon()
    expect([seen(indexer), commits.length]).toEqual([before, 1])
  })

  test.each<[string, WatchEvent<Item>[]]>([
    ['puts', [put('c', red), put('d', red)]],
    ['a replace', [replaced(put('c', red), put('d', red), put('e', red))]],
    ['a put before a replace', [put('c', red), replaced(put('a', blue), put('d', red), put('e', red))]],
  ])('a batch of %s that does not fit is refused whole', (_, events) => {
    const { indexer, list, apply, commits } = made({ maxObjects: 2 })
    list('5', put('a', red))
    const before = seen(indexer)
    expect(() => apply('6', ...events)).toThrow(expect.objectContaining({ code: 'PROTOCOL', phase: 'apply' }))
    expect([seen(indexer), commits.length]).toEqual([before, 1])
  })

  test('deltas above the capacity are rejected as a whole', () => {
    const { indexer } = made({ maxObjects: 1 })
    const before = seen(indexer)
    const deltas = ['a', 'b'].map((key) => ({ type: 'added', key, object: red, version: '1' }) as const)
    expect(() => indexer.apply({ deltas, version: '1', isBoundary: true })).toThrow(
      expect.objectContaining({ code: 'PROTOCOL' }),
    )
    expect(seen(indexer)).toEqual(before)
  })

  test('an object that cannot be frozen does not break its batch in two', () => {
    const { indexer, apply } = made({ freeze: true })
    const hostile = Object.defineProperty({}, 'trap', {
      enumerable: true,
      get: () => {
        throw new Error('a getter threw')
      },
    })
    apply('1', put('a', red), put('b', hostile), put('c', blue))
    expect([[...indexer.keys()], indexer.version, [...indexer.invalid.keys()]]).toEqual([['a', 'c'], '1', ['b']])
  })
})

describe('a later list', () => {
  test('an equal object in a relist keeps the stored one and reports no change', () => {
    const { indexer, list, told } = made()
    list('5', put('a', red), put('b', blue))
    list('6', put('a', { ...red }), put('b', { ...blue }))
    expect([told(), indexer.get('a') === red, indexer.version]).toEqual([[], true, '6'])
  })

  test('a relist reports new, changed and deleted objects', () => {
    const { list, told, commits } = made()
    list('5', put('a', red), put('b', blue))
    list('6', put('c', red), put('b', red))
    expect(told().sort()).toEqual([
      'add c {"color":"red","n":1} relist',
      'delete a {"color":"red","n":1} relist unknown',
      'update b {"color":"red","n":1} relist',
    ])
    expect(commits.at(-1)).toMatchObject({ origin: 'relist', version: '6' })
  })

  test('a relist does not compare or prepare an object with an equal version', () => {
    let prepared = 0
    const { list, listByContent } = made({
      prepare: (object) => {
        prepared++
        return object as Item
      },
    })
    list('5', put('a', red, { version: '1' }))
    list('6', put('a', red, { version: '1' }))
    expect(prepared).toBe(1)
    listByContent('7', put('a', red, { version: '1' }))
    expect(prepared).toBe(2)
  })

  test('a relist that ignores versions compares contents', () => {
    const { indexer, list, listByContent } = made()
    list('5', put('a', red, { version: '1' }))
    listByContent('6', put('a', blue, { version: '1' }))
    expect(indexer.get('a')).toBe(blue)
  })

  test('[S3] a relist of another history removes the versions of objects that it could not decode', () => {
    const { indexer, list, listByContent, apply, told } = made()
    list('1', put('a', { n: 1 }, { version: '5' }))
    listByContent('1', invalid('a'))
    apply('2', put('a', { n: 2 }, { version: '5' }))
    expect([told(), indexer.get('a')]).toEqual([['update a {"n":2} watch'], { n: 2 }])
  })

  test('[S3] a relist of another history that is incomplete removes the versions of all keys that it does not name', () => {
    const { list, listByContent, apply, told } = made()
    list('1', put('a', { n: 1 }, { version: '5' }))
    listByContent('1', invalid())
    apply('2', put('a', { n: 2 }, { version: '5' }))
    expect(told()).toEqual(['update a {"n":2} watch'])
  })

  test('a relist changes the version of an unchanged entry', () => {
    const { indexer, list } = made()
    list('5', put('a', red, { version: '1' }))
    list('6', put('a', { ...red }, { version: '2' }))
    expect(indexer.entry('a')?.version).toBe('2')
  })

  test.each<[string, ListEvent<Item>[], Record<string, Item>]>([
    ['a change and back', [put('a', blue), put('a', red)], { a: red }],
    ['a put, then a delete', [put('a', blue), gone('a')], {}],
    ['a new key, then a delete', [put('a', red), put('c', red), gone('c')], { a: red }],
    ['a delete, then a put', [put('a', red), gone('a'), put('a', blue)], { a: blue }],
    ['a new key twice', [put('a', red), put('c', red), put('c', blue)], { a: red, c: blue }],
  ])('[B19] later events override earlier ones: %s', (_, events, expected) => {
    const { indexer, list } = made()
    list('5', put('a', red))
    list('6', ...events)
    expect(Object.fromEntries(indexer.entries())).toEqual(expected)
  })

  test('a list after a batch is compared with the objects of the batch', () => {
    const { indexer, apply, list, told } = made()
    apply('4', put('a', red))
    list('5', put('b', blue))
    expect([told(), [...indexer.keys()]]).toEqual([
      ['delete a {"color":"red","n":1} relist unknown', 'add b {"color":"blue","n":2} relist'],
      ['b'],
    ])
  })

  test('a relist above the capacity is rejected as a whole', () => {
    const { indexer, list } = made({ maxObjects: 2 })
    list('5', put('a', red), put('b', blue))
    const before = seen(indexer)
    expect(() => list('6', put('a', blue), put('c', red), put('d', red))).toThrow('there are more than 2 objects')
    expect(seen(indexer)).toEqual(before)
  })

  test('a relist that changes all objects of a full store is accepted', () => {
    const { indexer, list } = made({ maxObjects: 2 })
    list('5', put('a', red), put('b', blue))
    list('6', put('a', blue), put('b', red))
    expect([...indexer.entries()]).toEqual([
      ['a', blue],
      ['b', red],
    ])
  })

  test('a relist that fits after its deletions is accepted', () => {
    const { indexer, list } = made({ maxObjects: 2 })
    list('5', put('a', red), put('b', blue))
    list('6', put('c', red), put('d', red))
    expect([...indexer.keys()].sort()).toEqual(['c', 'd'])
  })
})

describe('[S16][B29] too many objects', () => {
  test('a first list above the capacity is rejected, and no object of it is visible', () => {
    const { indexer } = made({ maxObjects: 2 })
    const replacement = indexer.replace()
    expect(() => void replacement.page([put('a', red), put('b', red), put('c', red)])).toThrow(
      expect.objectContaining({ code: 'PROTOCOL', message: expect.stringContaining('more than 2 objects') }),
    )
    replacement.abandon()
    expect([indexer.size, indexer.by.color('red')]).toEqual([0, []])
  })

  test('a batch that changes and deletes objects of a full store is accepted', () => {
    const { indexer, list, apply } = made({ maxObjects: 2 })
    list('5', put('a', red), put('b', red))
    apply('6', put('a', blue), put('a', red), put('b', blue), gone('a'))
    expect([...indexer.entries()]).toEqual([['b', blue]])
  })

  test('a batch that deletes as many objects as it adds is accepted', () => {
    const { indexer, list, apply } = made({ maxObjects: 2 })
    list('5', put('a', red), put('b', red))
    apply('6', gone('a'), put('c', red))
    expect([...indexer.keys()].sort()).toEqual(['b', 'c'])
  })

  test('a replace of all objects of a full store is accepted', () => {
    const { indexer, list, apply } = made({ maxObjects: 2 })
    list('5', put('a', red), put('b', red))
    apply('6', replaced(put('c', red), put('d', red)))
    expect([...indexer.keys()].sort()).toEqual(['c', 'd'])
  })
})

describe('[C36] a replace inside a batch', () => {
  test('a replace makes the collection equal to its entries', () => {
    const { apply, told } = made()
    apply('1', put('a', red), put('b', blue))
    apply('2', replaced(put('b', red), put('c', red)))
    expect(told()).toEqual([
      'delete a {"color":"red","n":1} watch unknown',
      'update b {"color":"red","n":1} watch',
      'add c {"color":"red","n":1} watch',
    ])
  })

  test('a replace with the stored objects reports no change', () => {
    const { apply, told } = made()
    apply('1', put('a', red), put('b', blue))
    apply('2', replaced(put('a', { ...red }), put('b', { ...blue })))
    expect(told()).toEqual([])
  })

  test.each<[string, WatchEvent<Item>[]]>([
    ['after', [replaced(put('b', red)), invalid('a')]],
    ['before', [invalid('a'), replaced(put('b', red))]],
  ])('a key that an invalid event names %s it counts as listed', (_, events) => {
    const { indexer, apply } = made()
    apply('1', put('a', red), put('b', blue))
    apply('2', ...events)
    expect([indexer.get('a'), indexer.get('b'), [...indexer.invalid.keys()]]).toEqual([red, red, ['a']])
  })

  test('an invalid event without a key suppresses its deletions', () => {
    const { indexer, apply } = made()
    apply('1', put('a', red), put('b', blue))
    apply('2', replaced(put('b', red)), invalid())
    expect([indexer.get('a'), indexer.get('b')]).toEqual([red, red])
  })

  test('a replace clears invalid keys that it does not name', () => {
    const { indexer, apply } = made()
    apply('1', invalid('a'), invalid('b'))
    apply('2', replaced(put('b', red)))
    expect(indexer.invalid.size).toBe(0)
  })
})

describe('an invalid object', () => {
  test('an invalid object changes the version, and its key and error are kept', () => {
    const { indexer, apply } = made()
    apply('1', invalid('a', new Error('no such field')))
    expect([indexer.version, indexer.invalid.get('a')]).toMatchObject([
      '1',
      { code: 'DECODE', phase: 'decode', key: 'a', message: 'the object "a" is invalid: no such field' },
    ])
  })

  test('an invalid object keeps the last good object, and reports no change', () => {
    const { indexer, apply, told } = made()
    apply('1', put('a', red))
    apply('2', invalid('a'))
    expect([indexer.get('a'), told()]).toEqual([red, []])
  })

  test('with omit an invalid object deletes the last good object', () => {
    const { indexer, apply, told } = made({ onInvalid: 'omit' })
    apply('1', put('a', red))
    apply('2', invalid('a'))
    expect([indexer.has('a'), told()]).toEqual([false, ['delete a {"color":"red","n":1} watch unknown']])
  })

  test('an invalid object is reported once, and again for another error', () => {
    const { apply, reports } = made()
    apply('1', invalid('a', 'one'))
    apply('2', invalid('a', 'one'))
    apply('3', invalid('a', 'other'))
    expect(reports.map(({ message }) => message)).toEqual([
      'the object "a" is invalid: one',
      'the object "a" is invalid: other',
    ])
  })

  test('an invalid object without a key is reported', () => {
    const { apply, reports } = made()
    apply('1', invalid())
    expect(reports.map(({ message }) => message)).toEqual(['an object whose key is unknown is invalid: bad'])
  })

  test.each<[string, WatchEvent<Item>]>([
    ['a good object', put('a', red)],
    ['a delete', gone('a')],
  ])('is cleared by %s', (_, event) => {
    const { indexer, apply } = made()
    apply('1', invalid('a'))
    apply('2', event)
    expect(indexer.invalid.size).toBe(0)
  })

  test('an invalid key is cleared by a good object with the stored version', () => {
    const { indexer, apply } = made()
    apply('1', put('a', red, { version: '1' }))
    apply('2', invalid('a'))
    apply('3', put('a', red, { version: '1' }))
    expect(indexer.invalid.size).toBe(0)
  })

  test('an invalid object in a list counts as listed', () => {
    const { indexer, list, told } = made()
    list('5', put('a', red), put('b', blue))
    list('6', put('b', blue), invalid('a'))
    expect([indexer.get('a'), told(), [...indexer.invalid.keys()]]).toEqual([red, [], ['a']])
  })

  test('with omit an invalid object in a list deletes the object', () => {
    const { indexer, list, told } = made({ onInvalid: 'omit' })
    list('5', put('a', red))
    list('6', invalid('a'))
    expect([indexer.size, told()]).toEqual([0, ['delete a {"color":"red","n":1} relist unknown']])
  })

  test('with omit an invalid object in a first list leaves no object of its key', () => {
    const { indexer, list } = made({ onInvalid: 'omit' })
    list('5', put('a', red), invalid('a'))
    expect([indexer.size, [...indexer.invalid.keys()]]).toEqual([0, ['a']])
  })

  test('an invalid object without a key suppresses the deletions of its list', () => {
    const { indexer, list, reports } = made()
    list('5', put('a', red), put('b', blue))
    list('6', put('b', red), invalid())
    expect([indexer.get('a'), indexer.get('b'), reports.length]).toEqual([red, red, 1])
  })

  test('an invalid key is cleared by a list in which it is good and equal to the stored object', () => {
    const { indexer, list } = made()
    list('5', put('a', red))
    list('6', invalid('a'))
    list('7', put('a', { ...red }))
    expect(indexer.invalid.size).toBe(0)
  })

  test('an invalid key is cleared by a list in which it is good, even if that list has an invalid object without a key', () => {
    const { indexer, list } = made()
    list('5', put('a', red))
    list('6', invalid('a'))
    list('7', put('a', { ...red }), invalid())
    expect(indexer.invalid.size).toBe(0)
  })

  test('an invalid key is cleared by a list that does not name it', () => {
    const { indexer, list } = made()
    list('5')
    list('6', invalid('a'))
    list('7')
    expect(indexer.invalid.size).toBe(0)
  })

  test('an invalid key remains after a list that has an invalid object without a key', () => {
    const { indexer, list } = made()
    list('5', invalid('a'))
    list('6', invalid())
    expect([...indexer.invalid.keys()]).toEqual(['a'])
  })
})

describe('an object that prepare filters out', () => {
  const onlyRed = (object: unknown): Item | undefined =>
    (object as Item).color === 'red' ? (object as Item) : undefined

  test('a filtered object is not in the store', () => {
    const { indexer, list, apply } = made({ prepare: onlyRed })
    list('5', put('a', red), put('b', blue))
    apply('6', put('c', blue))
    expect([...indexer.keys()]).toEqual(['a'])
  })

  test('a stored object that is filtered out is deleted', () => {
    const { apply, told } = made({ prepare: onlyRed })
    apply('1', put('a', red))
    apply('2', put('a', blue))
    expect(told()).toEqual(['delete a {"color":"red","n":1} watch known'])
  })

  test('a stored object that is filtered out of a list is deleted', () => {
    const { indexer, list, told } = made({ prepare: onlyRed })
    list('5', put('a', red))
    list('6', put('a', blue))
    expect([indexer.size, told()]).toEqual([0, ['delete a {"color":"red","n":1} relist unknown']])
  })

  test('a filtered object is not invalid any more', () => {
    const { indexer, apply, list } = made({ prepare: onlyRed })
    list('5')
    apply('6', invalid('a'))
    apply('7', put('a', blue))
    expect(indexer.invalid.size).toBe(0)
  })

  test('if prepare throws, the object is invalid and the last good one remains', () => {
    const { indexer, apply } = made({
      prepare: (object) => {
        if ((object as Item).n === 2) throw new Error('two')
        return object as Item
      },
    })
    apply('1', put('a', red))
    apply('2', put('a', blue))
    expect([indexer.get('a'), indexer.invalid.get('a')?.message]).toEqual([red, 'the object "a" is invalid: two'])
  })

  test('if prepare filters out a last state, the stored object is reported', () => {
    const { apply, told } = made({ prepare: onlyRed })
    apply('1', put('a', red))
    apply('2', gone('a', blue))
    expect(told()).toEqual(['delete a {"color":"red","n":1} watch known'])
  })
})

describe('freeze', () => {
  test('with freeze, stored objects are frozen', () => {
    const { indexer, list } = made({ freeze: true })
    list('5', put('a', { color: 'red' }))
    expect(Object.isFrozen(indexer.get('a'))).toBe(true)
  })

  test('without freeze, stored objects are not frozen', () => {
    const { indexer, list } = made()
    list('5', put('a', { color: 'red' }))
    expect(Object.isFrozen(indexer.get('a'))).toBe(false)
  })
})

describe('deltas of a DeltaFIFO', () => {
  test('deltas are applied in order, at the version of their batch', () => {
    const { indexer, told } = made()
    void indexer.apply({
      deltas: [
        { type: 'replaced', key: 'a', object: red, version: '1' },
        { type: 'updated', key: 'a', object: blue, version: '1' },
        { type: 'added', key: 'b', object: red, version: '1' },
        { type: 'deleted', key: 'b', object: red, version: '1' },
        { type: 'sync', key: 'c', object: red, version: '1' },
      ],
      version: '1',
      isBoundary: true,
    })
    expect([indexer.get('a'), indexer.has('b'), indexer.get('c'), indexer.version]).toEqual([blue, false, red, '1'])
    expect(told()).toHaveLength(5)
  })

  test('deltas between two batch boundaries do not change the version', () => {
    const { indexer, apply } = made()
    apply('1')
    void indexer.apply({
      deltas: [{ type: 'added', key: 'a', object: red, version: '2' }],
      version: undefined,
      isBoundary: false,
    })
    expect([indexer.get('a'), indexer.version]).toEqual([red, '1'])
  })

  test('deltas with equal objects report no change', () => {
    const { indexer, apply, told } = made()
    apply('1', put('a', red))
    const deltas = [{ type: 'replaced', key: 'a', object: { ...red }, version: '2' }] as const
    void indexer.apply({ deltas, version: '2', isBoundary: true })
    expect([told(), indexer.get('a') === red]).toEqual([[], true])
  })
})

describe('indexes', () => {
  test('indexes are available by name, each with its own values', () => {
    const { indexer, list } = made()
    list('5', put('a', { color: 'red', n: 3 }), put('b', { color: 'red blue', n: 1 }), put('c', { n: 2 }))
    const { by } = indexer
    expect([by.color('red').length, by.colors('red').length, by.n({ gte: 2 }), by.both(['red']).length]).toEqual([
      1,
      2,
      [{ n: 2 }, { color: 'red', n: 3 }],
      1,
    ])
  })

  test('an object whose index value is null or undefined is not in the index', () => {
    const { indexer, list } = made()
    list('5', put('a', { color: null }), put('b', {}))
    expect([[...indexer.by.color.values()], [...indexer.by.n.values()], indexer.size]).toEqual([[], [], 2])
  })

  test('indexes follow batches, lists, and entries of which only the version changes', () => {
    const { indexer, list, apply } = made()
    list('5', put('a', red, { version: '1' }), put('b', blue))
    apply('6', put('a', { ...red }, { version: '2' }), gone('b'))
    expect([...indexer.by.color.entries('red')]).toEqual([['a', red]])
    list('7', put('b', red))
    expect([indexer.by.color.count('red'), indexer.by.color.count('blue'), indexer.by.n.count(1)]).toEqual([1, 0, 1])
  })

  test('an index function is called once for each object, and never for an old or an equal one', () => {
    const asked: unknown[] = []
    const indexer = new Indexer<Item, object>({
      indexes: (ix) => ({
        it: ix.equal((item) => {
          asked.push(item.n)
          return item.n
        }),
      }),
    })
    void indexer.apply({ events: [put('a', { n: 1 })], version: '1' })
    void indexer.apply({ events: [put('a', { n: 1 })], version: '2' })
    void indexer.apply({ events: [put('a', { n: 2 })], version: '3' })
    void indexer.apply({ events: [gone('a')], version: '4' })
    expect(asked).toEqual([1, 2])
  })

  test('[S5] if an index function throws, the object is stored and the error is reported once', () => {
    const reports: SourceError[] = []
    const throwing = (ix: IndexBuilder<Item>) => ({
      bad: ix.equal((): string => {
        throw new Error('no such field')
      }),
    })
    const indexer = new Indexer({ indexes: throwing }, { report: (error) => reports.push(error) })
    void indexer.apply({ events: [put('a', red), put('b', blue)], version: '1' })
    expect([indexer.size, [...indexer.by.bad.values()], reports]).toMatchObject([
      2,
      [],
      [
        {
          code: 'DECODE',
          phase: 'apply',
          key: 'a',
          message: 'the function of index "bad" failed: no such field; such objects are not in this index',
        },
      ],
    ])
  })

  test('addIndex on a store with objects indexes them and follows changes', async () => {
    const { indexer, list, apply } = made()
    list('5', put('a', red), put('b', blue))
    const late = await indexer.addIndex('late', (ix) => ix.ordered((item) => item.color))
    expect(late()).toEqual([blue, red])
    apply('6', gone('b'), put('c', { color: 'green' }))
    expect(late()).toEqual([{ color: 'green' }, red])
  })

  test('addIndex returns the index that is also available by its name', async () => {
    const { indexer } = made()
    const late = await indexer.addIndex('late', (ix) => ix.equal((item) => item.n))
    expect(Object.entries(indexer.by).find(([name]) => name === 'late')?.[1]).toBe(late)
  })

  test('addIndex with a name that is taken is a TypeError', () => {
    expect(() => made().indexer.addIndex('color', (ix) => ix.equal((item) => item.n))).toThrow(
      new TypeError('addIndex: there is an index "color" already'),
    )
  })

  test.each(['__proto__', 'constructor'])(
    'addIndex with the hostile name %s is an index like any other',
    async (name) => {
      const { indexer, list } = made()
      list('5', put('a', red))
      const late = await indexer.addIndex(name, (ix) => ix.equal((item) => item.n))
      expect([late(1), Object.keys(indexer.by).includes(name), Object.getPrototypeOf(indexer.by)]).toEqual([
        [red],
        true,
        null,
      ])
    },
  )
})

describe('memberships, beside the changes of a commit', () => {
  test('memberships are empty if no index is tracked', () => {
    const { apply, commits } = made()
    apply('1', put('a', red))
    expect(commits[0]?.memberships).toEqual([])
  })

  test('memberships are the values before and after, in the order of the tracked indexes', () => {
    const { indexer, apply, commits } = made()
    for (const name of ['n', 'colors']) {
      const index = indexer.declared.get(name)
      if (index !== undefined) indexer.writer.track(index)
    }
    apply('1', put('a', red))
    apply('2', put('a', blue))
    apply('3', gone('a'))
    expect(commits.map(({ memberships }) => memberships)).toEqual([
      [[undefined, undefined, [1], ['red']]],
      [[[1], ['red'], [2], ['blue']]],
      [[[2], ['blue'], undefined, undefined]],
    ])
  })

  test('memberships of another uid belong to the delete and to the add', () => {
    const { indexer, apply, commits } = made()
    const index = indexer.declared.get('color')
    if (index !== undefined) indexer.writer.track(index)
    apply('1', put('a', red, { uid: 'first' }))
    apply('2', put('a', blue, { uid: 'second' }))
    expect(commits.at(-1)?.memberships).toEqual([
      ['red', undefined],
      [undefined, 'blue'],
    ])
  })

  test('commits have memberships until the last tracker stops', () => {
    const { indexer, apply, commits } = made()
    const index = indexer.declared.get('color')
    const untrack = index === undefined ? [] : [indexer.writer.track(index), indexer.writer.track(index)]
    untrack[0]?.()
    apply('1', put('a', red))
    untrack[1]?.()
    apply('2', put('a', blue))
    expect([commits[0]?.memberships.length, commits[1]?.memberships.length, [...indexer.writer.tracked]]).toEqual([
      1,
      0,
      [],
    ])
  })
})

describe('commits', () => {
  test('lists, batches and bookmarks are counted as commits', () => {
    const { indexer, list, apply } = made()
    list('1')
    apply('2', put('a', red))
    apply('3')
    list('4')
    expect(indexer.writer.commits).toBe(4)
  })

  test('an abandoned list is not counted as a commit', () => {
    const { indexer } = made()
    indexer.replace().abandon()
    expect(indexer.writer.commits).toBe(0)
  })
})

describe('hostile keys', () => {
  test.each(hostileKeys)('a key %s is a key like any other', (_, key) => {
    const { indexer, list, apply, told } = made()
    expect([indexer.get(key), indexer.has(key)]).toEqual([undefined, false])
    list('5', put(key, red))
    apply('6', put(key, blue), invalid(`${key}!`))
    expect([indexer.get(key), indexer.by.color.count('blue'), [...indexer.keys()]]).toEqual([blue, 1, [key]])
    list('7')
    expect([told().length, indexer.size]).toEqual([1, 0])
  })

  test('[B30] an object with an own __proto__ property pollutes nothing', () => {
    const { indexer, apply } = made({ freeze: true })
    apply('1', put('a', JSON.parse('{"__proto__":{"color":"polluted"},"color":"red"}')))
    expect([indexer.by.color.count('red'), Object.hasOwn(Object.prototype, 'color')]).toEqual([1, false])
  })
})

describe('options', () => {
  test('an unknown option is a TypeError that names it', () => {
    const options: object = { index: declare }
    expect(() => new Indexer(options)).toThrow('new Indexer: unknown option "index"; allowed are indexes')
  })

  test('an indexes option that is not a function is a TypeError', () => {
    const options: object = { indexes: {} }
    expect(() => new Indexer(options)).toThrow('new Indexer: option "indexes" must be a function, got an object')
  })
})

describe('without an informer', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  test('an indexer without an informer reports errors as process warnings', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const indexer = new Indexer<Item, object>({ indexes: (ix) => ({ bad: ix.multi(() => 'text') }) })
    void indexer.apply({ events: [put('a', red)], version: '1' })
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('index "bad" failed'), {
      type: 'ListwatchWarning',
      code: 'DECODE',
    })
  })
})
