import { describe, expect, test } from 'vitest'
import { deepFreeze } from '../../../src/store/deep-freeze.js'

class Box {
  content = { value: 1 }
}

describe('deepFreeze', () => {
  test('deepFreeze returns the same value', () => {
    const value = { a: 1 }
    expect(deepFreeze(value)).toBe(value)
  })

  test('plain objects and arrays are frozen at any depth', () => {
    const leaf = { value: 1 }
    const list = [leaf]
    const value = deepFreeze({ list })
    expect([value, list, leaf].every(Object.isFrozen)).toBe(true)
  })

  test('objects without a prototype are frozen', () => {
    const bare: object = Object.create(null)
    deepFreeze({ bare })
    expect(Object.isFrozen(bare)).toBe(true)
  })

  test.each<[string, object]>([
    ['a typed array', new Uint8Array([1])],
    ['a Date', new Date(0)],
    ['a Map', new Map([['a', { value: 1 }]])],
    ['a Set', new Set([1])],
    ['an instance of a class', new Box()],
    ['a function', () => 1],
  ])('%s is not frozen', (_, value) => {
    deepFreeze({ value })
    expect(Object.isFrozen(value)).toBe(false)
  })

  test('the properties of a class instance are not frozen', () => {
    const box = new Box()
    deepFreeze({ box })
    expect(Object.isFrozen(box.content)).toBe(false)
  })

  test.each([null, undefined, 1, 'text', true, 1n])('%s passes through', (value) => {
    expect(deepFreeze(value)).toBe(value)
  })

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
})
