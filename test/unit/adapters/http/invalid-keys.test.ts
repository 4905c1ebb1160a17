import { expect, test, vi } from 'vitest'
import { InvalidKeys } from '../../../../adapters/http/invalid-keys.js'
import { CountingMap } from '../../../../src/util/counting-map.js'

test('the invalid keys of a feed are compared with its mirror only after one of them has changed', () => {
  const invalid = new CountingMap<string, Error>()
  const keys = vi.spyOn(invalid, 'keys')
  const taken = new InvalidKeys()
  const differing = (): readonly string[] => {
    keys.mockClear()
    return taken.take(invalid)
  }
  expect(differing()).toEqual([])
  expect(keys).toHaveBeenCalledOnce()
  expect(differing()).toEqual([])
  expect(keys).not.toHaveBeenCalled()

  invalid.set('a', new Error('broken')).set('b', new Error('broken'))
  expect(differing()).toEqual(['a', 'b'])
  expect(differing()).toEqual([])
  expect(keys).not.toHaveBeenCalled()

  invalid.delete('missing')
  expect(differing()).toEqual([])
  expect(keys).not.toHaveBeenCalled()

  invalid.delete('a')
  expect(differing()).toEqual(['a'])
  expect([...taken]).toEqual(['b'])

  // A frame has an older state of the key, which is still invalid.
  taken.replaced('b')
  expect(differing()).toEqual(['b'])

  invalid.clear()
  expect(differing()).toEqual(['b'])
})

test('the invalid keys of a feed are compared with each map that does not count its changes', () => {
  const taken = new InvalidKeys()
  expect(taken.take(new CountingMap())).toEqual([])
  const plain = new Map([['a', 1]])
  expect(taken.take(plain)).toEqual(['a'])
  plain.delete('a')
  expect(taken.take(plain)).toEqual(['a'])
  plain.set('b', 1)
  expect(taken.take(plain)).toEqual(['b'])
})
