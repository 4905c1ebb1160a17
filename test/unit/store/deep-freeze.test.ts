import { expect, test } from 'vitest'
import { deepFreeze } from '../../../src/store/deep-freeze.js'

test('a value that contains itself is frozen once', () => {
  const value: { self?: object; other: object } = { other: {} }
  value.self = value
  deepFreeze(value)
  expect([Object.isFrozen(value), Object.isFrozen(value.other)]).toEqual([true, true])
})

test('200 000 levels are frozen without a stack overflow', () => {
  const leaf: unknown[] = []
  let value: unknown[] = leaf
  for (let i = 0; i < 200_000; i++) value = [value]
  deepFreeze(value)
  expect(Object.isFrozen(leaf)).toBe(true)
})

test('a frozen object is assumed to be deeply frozen', () => {
  const inner = { value: 1 }
  deepFreeze({ outer: Object.freeze({ inner }) })
  expect(Object.isFrozen(inner)).toBe(false)
})
