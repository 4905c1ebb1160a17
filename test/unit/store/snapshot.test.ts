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
  test('[S14] no accessor of a snapshot changes after later writes', () => {
    const { indexer, stir } = filled()
    const snapshot = indexer.snapshot()
    const before = shown(indexer)
    stir()
    expect(shown(snapshot)).toEqual(before)
    expect(shown(indexer)).not.toEqual(before)
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

  test('[S15] a disposed snapshot releases its pin, and may be disposed again', () => {
    const { indexer } = filled()
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
})
