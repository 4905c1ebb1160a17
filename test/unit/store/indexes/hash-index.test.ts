import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../../src/contract/source.js'
import { EqualIndex } from '../../../../src/store/indexes/hash-index.js'
import type { Scalar } from '../../../../src/store/indexes/scalar.js'
import { Store } from '../../../../src/store/store.js'

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
  return { store, by: index.accessor<Scalar>(), put: (item: Item) => store.set(entry(item)) }
}

const names = (items: Iterable<Item>): string[] => Array.from(items, ({ name }) => name).sort()

describe('an equal index', () => {
  test('an object that loses its value twice takes no other object out of the index', () => {
    const { by, put } = equal()
    for (const name of ['a', 'b', 'c', 'd']) put({ name, color: 'red' })
    put({ name: 'a', color: undefined })
    put({ name: 'a', color: undefined })
    expect([names(by('red')), by.count('red')]).toEqual([['b', 'c', 'd'], 3])
  })

  test.each([null, undefined])('an equal index returns nothing for %s, which is not a scalar', (nothing) => {
    const { by, put } = equal()
    put({ name: 'a', color: undefined })
    expect([by(nothing as never), [...by.entries(nothing as never)], by.count(nothing as never)]).toEqual([[], [], 0])
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
})
