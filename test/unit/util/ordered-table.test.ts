import { expect, test } from 'vitest'
import { OrderedTable } from '../../../src/util/ordered-table.js'

test('the keys come in the order in which they were added, also those that are added later or again', () => {
  const table = new OrderedTable<number>(2)
  const take = (): string | undefined => {
    const key = table.firstKey()
    if (key !== undefined) table.delete(key)
    return key
  }
  expect(take()).toBeUndefined()
  for (const key of ['a', 'b', 'c', 'd']) table.set(key, 1)
  expect([take(), take()]).toEqual(['a', 'b'])
  table.delete('c')
  table.set('a', 2)
  expect([take(), take(), take()]).toEqual(['d', 'a', undefined])
  table.set('e', 3)
  expect([take(), take()]).toEqual(['e', undefined])
  table.set('f', 4)
  table.delete('f')
  table.set('g', 5)
  expect([take(), take()]).toEqual(['g', undefined])
})
