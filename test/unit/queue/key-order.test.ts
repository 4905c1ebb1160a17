import { expect, test } from 'vitest'
import { KeyOrder } from '../../../src/queue/key-order.js'

test('the keys come in the order in which they were added, also those that are added later or again', () => {
  const map = new Map<string, number>()
  const order = new KeyOrder(map)
  const take = (): string | undefined => {
    const key = order.next()
    if (key !== undefined) map.delete(key)
    return key
  }
  expect(take()).toBeUndefined()
  for (const key of ['a', 'b', 'c', 'd']) map.set(key, 1)
  expect([take(), take()]).toEqual(['a', 'b'])
  map.delete('c')
  map.set('a', 2)
  expect([take(), take(), take()]).toEqual(['d', 'a', undefined])
  map.set('e', 3)
  expect([take(), take()]).toEqual(['e', undefined])
  map.set('f', 4)
  map.clear()
  map.set('g', 5)
  expect([take(), take()]).toEqual(['g', undefined])
})
