import { expect, onTestFinished, test, vi } from 'vitest'
import type { Delete, ListEvent, Put, WatchEvent } from '../../../src/adapter.js'
import { type Change, type IndexBuilder, Indexer, type SourceError, type StoreView } from '../../../src/index.js'
import type { Commit } from '../../../src/store/write/commit.js'
import type { WriterOptions } from '../../../src/store/write/store-writer.js'
import { breakEqualIndexes } from '../../support/broken-index.js'

type Item = { readonly color?: string | null; readonly n?: number }

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

type By = ReturnType<typeof declare>

/** An indexer with one index of each kind, and all its commits. */
function made(hooks: WriterOptions<Item> = {}) {
  const commits: Commit<Item>[] = []
  const reports: SourceError[] = []
  const indexer = new Indexer(
    { indexes: declare },
    { onCommit: (commit) => void commits.push(commit), report: (error) => reports.push(error), ...hooks },
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
function seen(view: StoreView<Item, By>): object {
  const { by } = view
  return {
    get: view.get('a'),
    has: view.has('a'),
    size: view.size,
    version: view.version,
    keys: [...view.keys()],
    entries: [...view.entries()],
    list: view.list(),
    color: [by.color('red'), [...by.color.entries('red')], by.color.count('red'), [...by.color.values()]],
    colors: [by.colors('red'), [...by.colors.entries('red')], by.colors.count('red'), [...by.colors.values()]],
    n: [by.n(), [...by.n.entriesIn()], [...by.n.entries(1)], by.n.count(1), [...by.n.values()]],
    both: [by.both([]), [...by.both.entries(['red', 1])], by.both.count(['red', 1]), [...by.both.values()]],
  }
}

function emptyCommit(origin: string, version: string, committedAt?: number): object {
  return {
    origin,
    changes: [],
    memberships: [],
    tracked: [],
    version,
    position: version,
    source: undefined,
    committedAt,
  }
}

const red = { color: 'red', n: 1 }
const blue = { color: 'blue', n: 2 }
const onlyRed = (object: unknown): Item | undefined => ((object as Item).color === 'red' ? (object as Item) : undefined)

test('[S13] entries and keys return iterators like those of a Map', () => {
  const { indexer, apply } = made()
  apply('1', put('a', red), put('b', blue))
  for (const view of [indexer, indexer.snapshot()]) {
    const same = new Map(view.entries())
    expect(same.get('b')).toBe(blue)
    const colors = [...view.entries().map(([key, object]) => `${key}: ${object.color}`)]
    expect([colors, [...view.keys().filter((key) => key === 'a')]]).toEqual([['a: red', 'b: blue'], ['a']])
    expect([[...view.by.color.entries('red')], view.by.n.entriesIn().toArray().length]).toEqual([[['a', red]], 2])
  }
})

test.each([true, false])('[S12] a returned array is shared until an object changes (freeze: %s)', (freeze) => {
  const { indexer, apply } = made({ freeze })
  const { by } = indexer
  apply('1', put('a', red))
  const read = () => [indexer.list(), by.color('red'), by.colors('red')]
  const before = read()
  apply('2', put('a', red))
  expect(read().map((array, nth) => array === before[nth])).toEqual([true, true, true])
  expect([...before, indexer.snapshot().list()].map(Object.isFrozen)).toEqual([freeze, freeze, freeze, freeze])
  apply('3', put('a', { ...red, n: 3 }))
  expect([before, read()]).toEqual([before.map(() => [red]), before.map(() => [{ ...red, n: 3 }])])
  expect(by.color(null as never)).toEqual([])
})

test('[S1] an equal object keeps the stored one with its newer version, and reports no change', () => {
  const { indexer, apply, list, told } = made()
  apply('1', put('a', red, { version: '1' }))
  apply('2', put('a', { ...red }, { version: '2' }))
  expect([indexer.get('a') === red, indexer.entry('a')?.version, told()]).toEqual([true, '2', []])
  list('3', put('a', { ...red }, { version: '3', uid: 'u' }))
  expect([indexer.get('a') === red, indexer.entry('a'), told()]).toMatchObject([true, { version: '3', uid: 'u' }, []])
})

test('[S1][S2] an object with the same version is not prepared or compared, except by a list that ignores versions', () => {
  let prepared = 0
  const { indexer, apply, list, listByContent } = made({
    prepare: (object) => {
      prepared++
      return object as Item
    },
  })
  apply('1', put('a', red, { version: '1' }))
  apply('2', put('a', blue, { version: '1' }))
  list('3', put('a', blue, { version: '1' }))
  expect([indexer.get('a'), prepared]).toEqual([red, 1])
  listByContent('4', put('a', blue, { version: '1' }))
  expect([indexer.get('a'), prepared]).toEqual([blue, 2])
})

test('[S1] if equals throws, the object counts as changed and the error is reported once', () => {
  const cause = new Error('cyclic')
  const { indexer, apply, reports } = made({
    equals: () => {
      throw cause
    },
  })
  apply('1', put('a', red))
  apply('2', put('a', { ...red, n: 2 }))
  apply('3', put('a', { ...red, n: 3 }))
  const message = 'the equals function failed: cyclic; such objects count as changed'
  expect(indexer.get('a')).toEqual({ color: 'red', n: 3 })
  expect(reports).toEqual([expect.objectContaining({ code: 'DECODE', phase: 'apply', cause, message })])
})

test('[C28] another uid is reported as a delete, then an add, even if contents and versions are equal', () => {
  const { indexer, apply, told } = made()
  apply('1', put('a', red, { uid: 'first', version: '1' }))
  const twin = { ...red }
  apply('2', put('a', twin, { uid: 'second', version: '1' }))
  expect(told()).toEqual(['delete a {"color":"red","n":1} watch unknown', 'add a {"color":"red","n":1} watch'])
  expect(indexer.get('a')).toBe(twin)
})

test('[C28] another uid in a relist is another object', () => {
  const { list, told } = made()
  list('1', put('a', red, { uid: 'first' }))
  list('2', put('a', red, { uid: 'second' }))
  expect(told()).toEqual(['delete a {"color":"red","n":1} relist unknown', 'add a {"color":"red","n":1} relist'])
})

test('[B19] the first list is one commit without changes, in which later events override earlier ones', () => {
  const { indexer, list, commits } = made()
  list('5', put('a', red), put('b', blue), put('a', blue), gone('b'))
  expect([commits, [...indexer.entries()]]).toEqual([[emptyCommit('initial', '5')], [['a', blue]]])
})

test('a first list that is abandoned leaves nothing in the store, and the list after it is a first list', () => {
  const { indexer, list, commits } = made({ remembersFiltered: true, prepare: onlyRed })
  const before = seen(indexer)
  const replacement = indexer.replace()
  void replacement.page([put('a', red), put('b', blue), invalid('x')])
  expect(indexer.whole.unstored('b')).toBeDefined()
  replacement.abandon()
  expect(seen(indexer)).toEqual(before)
  expect(indexer.invalid.size).toBe(0)
  expect(commits).toEqual([])
  expect(indexer.whole.unstored('b')).toBeUndefined()
  list('5')
  expect([indexer.version, commits.map(({ origin }) => origin)]).toEqual(['5', ['initial']])
})

test('[I8] an index that is added during the first list returns nothing until the list is complete', async () => {
  const { indexer } = made()
  const replacement = indexer.replace()
  void replacement.page([put('a', red)])
  const late = await indexer.addIndex('late', (ix) => ix.equal((item) => item.n))
  expect([late(1), late.count(1), [...late.values()]]).toEqual([[], 0, []])
  void replacement.commit('5')
  expect(late(1)).toEqual([red])
})

test('[I8] an object that cannot be frozen does not break its batch in two', () => {
  const { indexer, apply } = made({ freeze: true })
  const hostile = Object.defineProperty({}, 'trap', {
    enumerable: true,
    get: () => {
      throw new Error('a getter threw')
    },
  })
  apply('1', put('a', red), put('b', hostile), put('c', blue))
  expect([...indexer.keys()]).toEqual(['a', 'c'])
  expect(indexer.version).toBe('1')
  expect(indexer.invalid.get('b')?.message).toBe('the object "b" is invalid: a getter threw')
})

test.each([
  ['objects that it could not decode', 'a'],
  ['all keys that it does not name, if it is incomplete', undefined],
])('[S3] a relist of another history removes the versions of %s', (_, bad) => {
  const { indexer, list, listByContent, apply, told } = made()
  list('1', put('a', { n: 1 }, { version: '5' }))
  listByContent('1', invalid(bad))
  apply('2', put('a', { n: 2 }, { version: '5' }))
  expect([told(), indexer.get('a')]).toEqual([['update a {"n":2} watch'], { n: 2 }])
})

test.each<[string, WatchEvent<Item>[]]>([
  ['puts', [put('c', red), put('d', red)]],
  ['a replace', [replaced(put('c', red), put('d', red), put('e', red))]],
  ['a put before a replace', [put('c', red), replaced(put('a', blue), put('d', red), put('e', red))]],
])('[S16][B29] a batch of %s that does not fit is refused whole', (_, events) => {
  const { indexer, list, apply, commits } = made({ maxObjects: 2 })
  list('5', put('a', red))
  const before = seen(indexer)
  expect(() => apply('6', ...events)).toThrow(expect.objectContaining({ code: 'PROTOCOL', phase: 'apply' }))
  expect([seen(indexer), commits.length]).toEqual([before, 1])
})

test('[S16][B29] deltas above the capacity are rejected as a whole', () => {
  const { indexer } = made({ maxObjects: 1 })
  const before = seen(indexer)
  const deltas = ['a', 'b'].map((key) => ({ type: 'added', key, object: red, version: '1' }) as const)
  expect(() => indexer.apply({ deltas, version: '1', isBoundary: true })).toThrow(
    expect.objectContaining({ code: 'PROTOCOL' }),
  )
  expect(seen(indexer)).toEqual(before)
})

test.each<[string, WatchEvent<Item>[], string[]]>([
  ['changes and deletes its objects', [put('a', blue), put('a', red), put('b', blue), gone('a')], ['b']],
  ['deletes as many objects as it adds', [gone('a'), put('c', red)], ['b', 'c']],
  ['replaces all of them', [replaced(put('c', red), put('d', red))], ['c', 'd']],
])('[S16][B29] a batch for a full store that %s is accepted', (_, events, expected) => {
  const { indexer, list, apply } = made({ maxObjects: 2 })
  list('5', put('a', red), put('b', red))
  apply('6', ...events)
  expect([...indexer.keys()].sort()).toEqual(expected)
})

test.each([
  ['changes all objects', ['a', 'b']],
  ['fits after its deletions', ['c', 'd']],
])('[S16][B29] a relist of a full store that %s is accepted', (_, keys) => {
  const { indexer, list } = made({ maxObjects: 2 })
  list('5', put('a', red), put('b', red))
  list('6', ...keys.map((key) => put(key, blue)))
  expect(new Map(indexer.entries())).toEqual(new Map(keys.map((key) => [key, blue])))
})

test('[C36] a replace inside a batch makes the collection equal to its entries', () => {
  const { indexer, apply, told } = made()
  apply('1', put('a', red), put('b', blue), invalid('c'), invalid('x'))
  apply('2', replaced(put('b', red), put('c', red)))
  expect(indexer.invalid.size).toBe(0)
  expect(told()).toEqual([
    'delete a {"color":"red","n":1} watch unknown',
    'update b {"color":"red","n":1} watch',
    'add c {"color":"red","n":1} watch',
  ])
  apply('3', replaced(put('b', { ...red }), put('c', { ...red })))
  expect(told()).toEqual([])
})

test('an invalid object is reported once, and again for another error', () => {
  const { apply, reports } = made()
  apply('1', invalid('a', 'one'))
  apply('2', invalid('a', 'one'))
  apply('3', invalid('a', 'other'))
  apply('4', invalid())
  expect(reports.map(({ message }) => message)).toEqual([
    'the object "a" is invalid: one',
    'the object "a" is invalid: other',
    'an object whose key is unknown is invalid: bad',
  ])
})

test('of an object that prepare filters out prepare receives the key, and the last state of a delete; without a result the stored object is reported', () => {
  const { indexer, apply, told } = made({
    prepare: (object, key) => (onlyRed(object) === undefined ? undefined : { ...(object as Item), n: key.length }),
  })
  apply('1', put('key', red), put('other', red))
  expect(indexer.get('key')).toEqual({ color: 'red', n: 3 })
  apply('2', gone('key', blue), gone('other', { color: 'red', n: 7 }))
  expect(told()).toEqual([
    'delete key {"color":"red","n":3} watch known',
    'delete other {"color":"red","n":5} watch known',
  ])
})

test('[S4] an index function is called once for each object, and never for an old or an equal one', () => {
  const asked: unknown[] = []
  const ask = (item: Item): number => {
    asked.push(item.n)
    return item.n ?? 0
  }
  const indexer = new Indexer({
    indexes: (ix: IndexBuilder<Item>) => ({ equal: ix.equal(ask), ordered: ix.ordered(ask) }),
  })
  void indexer.apply({ events: [put('a', { n: 1 })], version: '1' })
  void indexer.apply({ events: [put('a', { n: 1 })], version: '2' })
  indexer.by.ordered()
  void indexer.apply({ events: [put('a', { n: 2 })], version: '3' })
  indexer.by.ordered()
  void indexer.apply({ events: [gone('a')], version: '4' })
  expect(asked).toEqual([1, 1, 2, 2])
})

test.each(['late', '__proto__', 'constructor'])(
  'addIndex with the name %s on a store with objects indexes them, and follows changes',
  async (name) => {
    const { indexer, list, apply } = made()
    list('5', put('a', red), put('b', blue))
    const late = await indexer.addIndex(name, (ix) => ix.ordered((item) => item.color))
    expect(late()).toEqual([blue, red])
    apply('6', gone('b'), put('c', { color: 'green' }))
    expect(late()).toEqual([{ color: 'green' }, red])
    expect(Object.entries(indexer.by).find(([each]) => each === name)?.[1]).toBe(late)
    expect(Object.getPrototypeOf(indexer.by)).toBe(null)
  },
)

test('[S14] no accessor of a snapshot changes after later writes, and it has no later index', async () => {
  const { indexer, apply } = made()
  apply('1', put('a', red), put('b', blue))
  const before = seen(indexer)
  const snapshot = indexer.snapshot()
  await indexer.addIndex('late', (ix) => ix.equal((item) => item.n))
  apply('2', put('a', blue), gone('b'), put('d', red))
  apply('3', replaced(put('b', red)))
  expect(seen(snapshot)).toEqual(before)
  expect(seen(indexer)).not.toEqual(before)
  expect(snapshot.list()).toBe(snapshot.list())
  expect(Object.keys(snapshot.by)).toEqual(['color', 'colors', 'n', 'both'])
})

test('[S15] a disposed snapshot releases its pin, and may be disposed again', () => {
  const { indexer } = made()
  const snapshot = indexer.snapshot()
  expect(indexer.store.pinCount).toBe(1)
  for (let times = 0; times < 2; times++) snapshot[Symbol.dispose]()
  expect(indexer.store.pinCount).toBe(0)
})

test.each<[string, (view: StoreView<Item, By>) => unknown]>([
  ['get', (view) => view.get('a')],
  ['has', (view) => view.has('a')],
  ['entry', (view) => view.entry('a')],
  ['keys', (view) => [...view.keys()]],
  ['entries', (view) => [...view.entries()]],
  ['list', (view) => view.list()],
  ['by.color', (view) => view.by.color('red')],
  ['by.color.entries', (view) => [...view.by.color.entries('red')]],
  ['by.color.count', (view) => view.by.color.count('nobody')],
  ['by.color.values', (view) => [...view.by.color.values()]],
  ['by.colors', (view) => view.by.colors('red')],
  ['by.n', (view) => view.by.n()],
  ['by.n.entriesIn', (view) => [...view.by.n.entriesIn({ gt: 100 })]],
  ['by.n.count', (view) => view.by.n.count(1)],
  ['by.n.values', (view) => [...view.by.n.values()]],
  ['by.both', (view) => view.by.both(['red'])],
])('a snapshot after it was disposed %s throws STOPPED', (_, read) => {
  const { indexer, apply } = made()
  apply('1', put('a', red))
  const snapshot = indexer.snapshot()
  read(snapshot)
  snapshot[Symbol.dispose]()
  expect(() => read(snapshot)).toThrow(expect.objectContaining({ code: 'STOPPED' }))
})

test('a batch that an index refuses leaves a key left out by prepare, also without a version', () => {
  let isOmitted = true
  const { indexer, apply } = made({
    remembersFiltered: true,
    prepare: (object) => (isOmitted ? undefined : (object as Item)),
  })
  apply('1', { type: 'put', key: 'a', object: red })
  isOmitted = false
  onTestFinished(breakEqualIndexes((_ordinal, key) => key === 'b', new Error('broken index')))
  expect(() => apply('2', put('a', red), put('b', red))).toThrow('broken index')
  expect([...indexer.whole.filtered.keys()]).toEqual(['a'])
})

test('commits have memberships until the last tracker stops', () => {
  const { indexer, apply, commits } = made()
  const index = indexer.declared.get('color')
  const untrack = index === undefined ? [] : [indexer.writer.track(index), indexer.writer.track(index)]
  untrack[0]?.()
  apply('1', put('a', red))
  untrack[1]?.()
  apply('2', put('a', blue))
  expect(commits.map(({ memberships }) => memberships)).toEqual([[[undefined, 'red']], []])
  expect([...indexer.writer.tracked]).toEqual([])
})

test('[B30] an object with an own __proto__ property pollutes nothing', () => {
  const { indexer, apply } = made({ freeze: true })
  apply('1', put('a', JSON.parse('{"__proto__":{"color":"polluted"},"color":"red"}')))
  expect([indexer.by.color.count('red'), Object.hasOwn(Object.prototype, 'color')]).toEqual([1, false])
})

test.each<[string, object]>([
  ['unknown option "index"; allowed are indexes', { index: declare }],
  ['option "indexes" must be a function, got an object', { indexes: {} }],
])('options: %s', (flaw, options) => {
  expect(() => new Indexer(options)).toThrow(expect.objectContaining({ message: `new Indexer: ${flaw}` }))
})

test('an indexer without an informer reports errors as process warnings', () => {
  using warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const indexer = new Indexer<Item, object>({ indexes: (ix) => ({ bad: ix.multi(() => 'text') }) })
  void indexer.apply({ events: [put('a', red)], version: '1' })
  expect(warn).toHaveBeenCalledWith(expect.stringContaining('index "bad" failed'), {
    type: 'ListwatchWarning',
    code: 'DECODE',
  })
})
