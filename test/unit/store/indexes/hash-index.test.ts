import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../../src/contract/source.js'
import { EqualIndex } from '../../../../src/store/indexes/hash-index.js'
import { MultiIndex } from '../../../../src/store/indexes/multi-index.js'
import type { Scalar } from '../../../../src/store/indexes/scalar.js'
import { Store } from '../../../../src/store/store.js'
import { hostileKeys } from '../../../support/hostile-keys.js'

interface Item {
  readonly name: string
  readonly color?: Scalar | undefined
  readonly tags?: readonly Scalar[]
}

const entry = (item: Item): Entry<Item> => ({ key: item.name, object: item })

function equal() {
  const store = new Store<Item>()
  const index = new EqualIndex<Item>(store, ({ object }) => object.color)
  store.addIndex(index)
  return { store, index, by: index.accessor<Scalar>(), put: (item: Item) => store.set(entry(item)) }
}

function multi() {
  const store = new Store<Item>()
  const index = new MultiIndex<Item>(store, ({ object }) => object.tags ?? [])
  store.addIndex(index)
  return { store, index, by: index.accessor<Scalar>(), put: (item: Item) => store.set(entry(item)) }
}

const names = (items: Iterable<Item>): string[] => Array.from(items, ({ name }) => name).sort()
const keys = (entries: Iterable<[string, Item]>): string[] => Array.from(entries, ([key]) => key).sort()

describe('an equal index', () => {
  test('an object that loses its value twice takes no other object out of the index', () => {
    const { by, put } = equal()
    for (const name of ['a', 'b', 'c', 'd']) put({ name, color: 'red' })
    put({ name: 'a', color: undefined })
    put({ name: 'a', color: undefined })
    expect([names(by('red')), by.count('red')]).toEqual([['b', 'c', 'd'], 3])
  })

  test('an equal index returns the objects of a value, their entries and their count', () => {
    const { by, put } = equal()
    put({ name: 'a', color: 'red' })
    put({ name: 'b', color: 'blue' })
    put({ name: 'c', color: 'red' })
    expect([names(by('red')), keys(by.entries('red')), by.count('red')]).toEqual([['a', 'c'], ['a', 'c'], 2])
  })

  test.each([null, undefined])('an equal index returns nothing for %s, which is not a scalar', (nothing) => {
    const { by, put } = equal()
    put({ name: 'a', color: undefined })
    expect([by(nothing as never), [...by.entries(nothing as never)], by.count(nothing as never)]).toEqual([[], [], 0])
  })

  test('an equal index returns nothing for a value that no object has', () => {
    const { by, put } = equal()
    put({ name: 'a', color: 'red' })
    expect([by('green'), [...by.entries('green')], by.count('green')]).toEqual([[], [], 0])
  })

  test('values returns each value that an object has, once', () => {
    const { by, store, put } = equal()
    put({ name: 'a', color: 'red' })
    put({ name: 'b', color: 'red' })
    put({ name: 'c', color: 1 })
    put({ name: 'd', color: 'gone' })
    store.delete('d')
    expect(new Set(by.values())).toEqual(new Set(['red', 1]))
    expect([...by.values()]).toHaveLength(2)
  })

  test('an object without a value is not in it', () => {
    const { by, put } = equal()
    put({ name: 'a' })
    expect([[...by.values()], by.count('undefined')]).toEqual([[], 0])
  })

  test('an object moves with its value', () => {
    const { by, put } = equal()
    put({ name: 'a', color: 'red' })
    put({ name: 'b', color: 'red' })
    put({ name: 'a', color: 'blue' })
    expect([names(by('red')), names(by('blue'))]).toEqual([['b'], ['a']])
  })

  test('an object without a value leaves the index, and returns with a new value', () => {
    const { by, put } = equal()
    put({ name: 'a', color: 'red' })
    put({ name: 'a' })
    expect(by('red')).toEqual([])
    put({ name: 'a', color: 'red' })
    expect(names(by('red'))).toEqual(['a'])
  })

  test('a new object with the same value replaces the old one in its position', () => {
    const { by, put } = equal()
    put({ name: 'a', color: 'red' })
    const newer: Item = { name: 'a', color: 'red', tags: [1] }
    put(newer)
    expect([by('red').length, by('red')[0] === newer]).toEqual([1, true])
  })

  test.each([0, 1, 2])('deleting the object at position %d keeps the others', (at) => {
    const { by, store, put } = equal()
    const all = ['a', 'b', 'c']
    for (const name of all) put({ name, color: 'red' })
    store.delete(all[at] ?? '')
    expect(names(by('red'))).toEqual(all.toSpliced(at, 1))
    for (const name of all.toSpliced(at, 1)) store.delete(name)
    expect([by.count('red'), [...by.values()]]).toEqual([0, []])
  })

  test('[S12] a result is frozen, shared until an object changes, and never changes', () => {
    const { by, store, put } = equal()
    put({ name: 'a', color: 'red' })
    const before = by('red')
    expect([Object.isFrozen(before), by('red') === before]).toEqual([true, true])
    put({ name: 'b', color: 'red' })
    put({ name: 'a', color: 'red', tags: [1] })
    store.delete('a')
    expect([before, names(by('red'))]).toEqual([[{ name: 'a', color: 'red' }], ['b']])
  })

  test('Dates match by value', () => {
    const { by, put } = equal()
    put({ name: 'a', color: new Date(7) })
    put({ name: 'b', color: new Date(7) })
    expect([names(by(new Date(7))), by.count(7), [...by.values()].length]).toEqual([['a', 'b'], 0, 1])
  })

  test.each<[string, Scalar, Scalar]>([
    ['a number and its text', 1, '1'],
    ['2 ** 53 and the bigint after it', 2 ** 53, 2n ** 53n + 1n],
    ['a boolean and its text', true, 'true'],
    ['a Date and its milliseconds', new Date(7), 7],
  ])('%s are two values', (_, one, other) => {
    const { by, put } = equal()
    put({ name: 'a', color: one })
    put({ name: 'b', color: other })
    expect([names(by(one)), names(by(other))]).toEqual([['a'], ['b']])
  })

  test('NaN is a value', () => {
    const { by, put } = equal()
    put({ name: 'a', color: Number.NaN })
    put({ name: 'a', color: Number.NaN })
    expect(names(by(Number.NaN))).toEqual(['a'])
  })

  test.each(hostileKeys)('the hostile value %s is a value like any other', (_, color) => {
    const { by, put } = equal()
    expect(by(color)).toEqual([])
    put({ name: 'a', color })
    expect([names(by(color)), [...by.values()]]).toEqual([['a'], [color]])
  })

  test('[S4] the index function is called once for each object that arrives, and never for an old one', () => {
    const store = new Store<Item>()
    const asked: string[] = []
    const index = new EqualIndex<Item>(store, ({ object }) => {
      asked.push(`${object.name} ${String(object.color)}`)
      return object.color
    })
    store.addIndex(index)
    store.set(entry({ name: 'a', color: 'red' }))
    store.set(entry({ name: 'b', color: 'red' }))
    store.set(entry({ name: 'a', color: 'blue' }))
    store.delete('a')
    store.delete('b')
    expect(asked).toEqual(['a red', 'b red', 'a blue'])
  })

  test('it remembers the value of each object', () => {
    const { index, put } = equal()
    const [a, b] = [put({ name: 'a', color: 'red' }), put({ name: 'b' })]
    expect([index.valueAt(a), index.valueAt(b)]).toEqual(['red', undefined])
    expect([index.includes('red', 'red'), index.includes('red', 'blue'), index.includes(undefined, 'red')]).toEqual([
      true,
      false,
      false,
    ])
  })

  test('a cleared store leaves it empty and usable', () => {
    const { by, store, put } = equal()
    put({ name: 'a', color: 'red' })
    store.clear()
    expect([by('red'), [...by.values()]]).toEqual([[], []])
    put({ name: 'b', color: 'red' })
    expect(names(by('red'))).toEqual(['b'])
  })
})

describe('a multi index', () => {
  test('a multi index returns an object for each of its values', () => {
    const { by, put } = multi()
    put({ name: 'a', tags: ['x', 'y'] })
    put({ name: 'b', tags: ['y'] })
    expect([names(by('x')), names(by('y')), by.count('y')]).toEqual([['a'], ['a', 'b'], 2])
  })

  test('an object without values is not in it', () => {
    const { by, put } = multi()
    put({ name: 'a', tags: [] })
    expect([...by.values()]).toEqual([])
  })

  test('an object moves from its old values to its new ones', () => {
    const { by, put } = multi()
    put({ name: 'a', tags: ['x', 'y'] })
    put({ name: 'a', tags: ['y', 'z'] })
    expect([names(by('x')), names(by('y')), names(by('z'))]).toEqual([[], ['a'], ['a']])
  })

  test('the same values in another order are the same', () => {
    const { by, put } = multi()
    put({ name: 'a', tags: ['x', 'y'] })
    put({ name: 'a', tags: ['y', 'x'] })
    expect([by.count('x'), by.count('y')]).toEqual([1, 1])
  })

  test('a new object with the same values replaces the old one in all its buckets', () => {
    const { by, put } = multi()
    put({ name: 'a', tags: ['x', 'y'] })
    const newer: Item = { name: 'a', tags: ['x', 'y'], color: 'red' }
    put(newer)
    expect([by('x'), by('y')]).toEqual([[newer], [newer]])
  })

  test('deleting one object keeps the others in all its buckets', () => {
    const { by, store, put } = multi()
    put({ name: 'a', tags: ['x', 'y'] })
    put({ name: 'b', tags: ['y', 'x'] })
    put({ name: 'c', tags: ['x'] })
    store.delete('a')
    expect([names(by('x')), names(by('y'))]).toEqual([['b', 'c'], ['b']])
    store.delete('c')
    store.delete('b')
    expect([...by.values()]).toEqual([])
  })

  test('a result of a multi index never changes', () => {
    const { by, store, put } = multi()
    put({ name: 'a', tags: ['x'] })
    put({ name: 'b', tags: ['x'] })
    const before = by('x')
    store.delete('a')
    expect([names(before), Object.isFrozen(before)]).toEqual([['a', 'b'], true])
  })

  test('it remembers the values of each object', () => {
    const { index, put } = multi()
    const [a, b] = [put({ name: 'a', tags: ['x', new Date(7)] }), put({ name: 'b' })]
    expect([index.valueAt(a), index.valueAt(b)]).toEqual([['x', new Date(7)], []])
    expect([index.includes(['x', new Date(7)], new Date(7)), index.includes(['x'], 'y')]).toEqual([true, false])
  })

  test('a cleared store leaves it empty and usable', () => {
    const { by, store, put } = multi()
    put({ name: 'a', tags: ['x'] })
    store.clear()
    put({ name: 'b', tags: ['x'] })
    expect(names(by('x'))).toEqual(['b'])
  })
})

describe.each([
  ['an equal index', (store: Store<Item>) => new EqualIndex<Item>(store, ({ object }) => object.color)],
  [
    'a multi index',
    (store: Store<Item>) =>
      new MultiIndex<Item>(store, ({ object }) => (object.color === undefined ? [] : [object.color])),
  ],
])('%s over a pinned store', (_, make) => {
  function pinned() {
    const store = new Store<Item>()
    const index = make(store)
    store.addIndex(index)
    for (const name of ['a', 'b', 'c', 'd']) store.set(entry({ name, color: name < 'c' ? 'red' : 'blue' }))
    const pin = store.pin()
    store.set(entry({ name: 'a', color: 'blue' }))
    store.delete('b')
    store.set(entry({ name: 'c' }))
    store.set(entry({ name: 'd', color: 'blue', tags: [1] }))
    store.set(entry({ name: 'e', color: 'green' }))
    return { store, pin, at: index.accessorAt<Scalar>(pin), now: index.accessor<Scalar>() }
  }

  test('an index over a pin returns the pinned objects', () => {
    const { at, now } = pinned()
    expect([names(at('red')), names(at('blue')), names(at('green'))]).toEqual([['a', 'b'], ['c', 'd'], []])
    expect([names(now('red')), names(now('blue')), names(now('green'))]).toEqual([[], ['a', 'd'], ['e']])
  })

  test('an index over a pin returns the same instances', () => {
    const { at } = pinned()
    expect(at('blue').find(({ name }) => name === 'd')).toEqual({ name: 'd', color: 'blue' })
  })

  test('an index over a pin counts and returns the pinned values', () => {
    const { at } = pinned()
    expect([at.count('red'), at.count('green'), keys(at.entries('blue'))]).toEqual([2, 0, ['c', 'd']])
    expect(new Set(at.values())).toEqual(new Set(['blue', 'red']))
    expect([...at.values()]).toHaveLength(2)
  })

  test('an index over a pin returns a new array to each caller', () => {
    const { at } = pinned()
    expect(at('red')).not.toBe(at('red'))
  })
})

describe('[I8] while the store is hidden', () => {
  test.each([
    ['an equal index', equal],
    ['a multi index', multi],
  ])('%s shows nothing', (_, make) => {
    const { store, by, put } = make()
    store.isVisible = false
    put({ name: 'a', color: 'red', tags: ['red'] })
    expect([by('red'), [...by.entries('red')], by.count('red'), [...by.values()]]).toEqual([[], [], 0, []])
    store.isVisible = true
    expect(names(by('red'))).toEqual(['a'])
  })
})
