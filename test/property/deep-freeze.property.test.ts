import fc from 'fast-check'
import { expect, test } from 'vitest'
import { deepFreeze } from '../../src/store/deep-freeze.js'
import { runs } from '../support/property.js'

const value = fc.anything({
  withDate: true,
  withMap: true,
  withSet: true,
  withTypedArray: true,
  withNullPrototype: true,
})

function isPlain(each: unknown): each is object {
  if (typeof each !== 'object' || each === null) return false
  const prototype: unknown = Object.getPrototypeOf(each)
  return Array.isArray(each) || prototype === Object.prototype || prototype === null
}

/** Every object that is reached through plain objects and arrays. */
function reached(from: unknown, all = new Set<object>()): Set<object> {
  if (typeof from !== 'object' || from === null || all.has(from)) return all
  all.add(from)
  if (isPlain(from)) for (const child of Object.values(from)) reached(child, all)
  return all
}

test('deepFreeze freezes plain objects and arrays, and nothing else', () => {
  fc.assert(
    fc.property(value, (original) => {
      const before = new Map([...reached(original)].map((each) => [each, Object.isFrozen(each)]))
      deepFreeze(original)
      for (const [each, wasFrozen] of before) expect(Object.isFrozen(each)).toBe(isPlain(each) || wasFrozen)
    }),
    runs(500),
  )
})

test('deepFreeze changes no readable value', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(JSON.stringify(deepFreeze<unknown>(JSON.parse(text)))).toBe(JSON.stringify(JSON.parse(text)))
    }),
    runs(500),
  )
})
