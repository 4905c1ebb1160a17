import { describe, expect, test } from 'vitest'
import type { WatchEvent } from '../../../src/contract/source.js'
import { Indexer } from '../../../src/store/indexer.js'
import type { IndexBuilder } from '../../../src/store/indexes/index-types.js'
import type { StoreView } from '../../../src/store/store-view.js'

interface Item {
  readonly color: string
  readonly n: number
}

const declare = (ix: IndexBuilder<Item>) => ({
  color: ix.equal((item) => item.color),
  parts: ix.multi((item) => item.color.split('-')),
  n: ix.ordered((item) => item.n),
  both: ix.compound((item) => [item.color, item.n]),
})
type By = ReturnType<typeof declare>

const put = (key: string, color: string, n: number): WatchEvent<Item> => ({ type: 'put', key, object: { color, n } })

function filled() {
  const indexer = new Indexer({ indexes: declare })
  const apply = (version: string, ...events: WatchEvent<Item>[]) => void indexer.apply({ events, version })
  apply('1', put('a', 'red', 1), put('b', 'blue', 2), put('c', 'red-ish', 3))
  /** Changes every object, and adds and removes some. */
  const stir = (): void => {
    apply('2', put('a', 'blue', 5), { type: 'delete', key: 'b' }, put('d', 'red', 2))
    apply('3', { type: 'replace', entries: [{ key: 'b', object: { color: 'red', n: 1 } }] })
  }
  return { indexer, apply, stir }
}

/** Everything that a view shows. */
function shown(view: StoreView<Item, By>): object {
  const { by } = view
  return {
    size: view.size,
    version: view.version,
    objects: ['a', 'b', 'c', 'd'].map((key) => [view.has(key), view.get(key)]),
    keys: [...view.keys()].sort(),
    entries: new Map(view.entries()),
    list: [...view.list()].sort((x, y) => x.n - y.n),
    color: [...by.color.values()].sort().map((value) => [value, by.color.count(value), by.color(value)]),
    parts: [...by.parts.values()].sort().map((value) => [value, by.parts.count(value), by.parts(value).length]),
    n: [by.n(), by.n({ reverse: true, limit: 2 }), [...by.n.values()], by.n.count(2)],
    both: [by.both(['red']), by.both([], { gt: 'blue' }), [...by.both.values()]],
  }
}

describe('a snapshot', () => {
  test('a snapshot shows the state of the store at its creation', () => {
    const { indexer } = filled()
    expect(shown(indexer.snapshot())).toEqual(shown(indexer))
  })

  test('[S14] no accessor of a snapshot changes after later writes', () => {
    const { indexer, stir } = filled()
    const snapshot = indexer.snapshot()
    const before = shown(indexer)
    stir()
    expect(shown(snapshot)).toEqual(before)
    expect(shown(indexer)).not.toEqual(before)
  })

  test('a snapshot returns the same instances', () => {
    const { indexer, stir } = filled()
    const [a, b] = [indexer.get('a'), indexer.get('b')]
    const snapshot = indexer.snapshot()
    stir()
    expect([snapshot.get('a') === a, snapshot.get('b') === b]).toEqual([true, true])
  })

  test('a snapshot does not change with a relist', () => {
    const { indexer } = filled()
    const snapshot = indexer.snapshot()
    const before = shown(indexer)
    const replacement = indexer.replace()
    void replacement.page([{ type: 'put', key: 'x', object: { color: 'green', n: 9 } }])
    void replacement.commit('9')
    expect([shown(snapshot), indexer.size]).toEqual([before, 1])
  })

  test('a snapshot does not change when another one is disposed', () => {
    const { indexer, stir } = filled()
    const before = shown(indexer)
    const [first, second] = [indexer.snapshot(), indexer.snapshot()]
    stir()
    first[Symbol.dispose]()
    expect(shown(second)).toEqual(before)
  })

  test('a snapshot between two writes shows the state between them', () => {
    const { indexer, apply } = filled()
    const first = indexer.snapshot()
    apply('2', put('a', 'green', 7))
    const second = indexer.snapshot()
    apply('3', put('a', 'white', 8))
    expect([first.get('a')?.n, second.get('a')?.n, indexer.get('a')?.n]).toEqual([1, 7, 8])
    expect([first.by.n.count(7), second.by.n.count(7), second.by.color('green').length]).toEqual([0, 1, 1])
  })

  test('a snapshot does not have an index that is added later', async () => {
    const { indexer } = filled()
    const snapshot = indexer.snapshot()
    await indexer.addIndex('late', (ix) => ix.equal((item) => item.n))
    expect([Object.keys(snapshot.by), Object.keys(indexer.by)]).toEqual([
      ['color', 'parts', 'n', 'both'],
      ['color', 'parts', 'n', 'both', 'late'],
    ])
  })

  test('list of a snapshot returns the same frozen array', () => {
    const snapshot = filled().indexer.snapshot()
    const list = snapshot.list()
    expect([Object.isFrozen(list), snapshot.list() === list]).toEqual([true, true])
  })

  test.each(['__proto__', 'constructor'])('the hostile key %s is a key like any other', (key) => {
    const { indexer, apply } = filled()
    const snapshot = indexer.snapshot()
    apply('2', put(key, 'red', 1))
    expect([snapshot.get(key), snapshot.has(key), indexer.has(key)]).toEqual([undefined, false, true])
  })

  test('[S15] a disposed snapshot releases its pin', () => {
    const { indexer } = filled()
    const snapshot = indexer.snapshot()
    expect(indexer.store.pinCount).toBe(1)
    snapshot[Symbol.dispose]()
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
    ['by.parts', (view) => view.by.parts('red')],
    ['by.n', (view) => view.by.n()],
    ['by.n.entriesIn', (view) => [...view.by.n.entriesIn({ gt: 100 })]],
    ['by.n.count', (view) => view.by.n.count(1)],
    ['by.n.values', (view) => [...view.by.n.values()]],
    ['by.both', (view) => view.by.both(['red'])],
  ])('after it was disposed %s throws STOPPED', (_, read) => {
    const snapshot = filled().indexer.snapshot()
    read(snapshot)
    snapshot[Symbol.dispose]()
    expect(() => read(snapshot)).toThrow(expect.objectContaining({ code: 'STOPPED' }))
  })

  test('disposing a snapshot twice is allowed', () => {
    const snapshot = filled().indexer.snapshot()
    snapshot[Symbol.dispose]()
    expect(() => snapshot[Symbol.dispose]()).not.toThrow()
  })
})
