import { expect, test } from 'vitest'
import type { Entry } from '../../../src/contract/source.js'
import { MAX_OBJECTS, Store } from '../../../src/store/store.js'

const entry = (key: string, object: string, version = '1'): Entry<string> => ({ key, object, version })

function filled(...keys: string[]): Store<string> {
  const store = new Store<string>()
  for (const key of keys) store.set(entry(key, `${key}1`))
  return store
}

test('the ordinal of a deleted key is used again', () => {
  const store = filled('a', 'b')
  store.delete('a')
  expect([store.set(entry('c', 'c1')), store.ordinalLimit]).toEqual([0, 2])
})

test('[S7] a rollback of 10 000 writes restores all of them, and the next transaction starts empty', () => {
  const keys = Array.from({ length: 5_000 }, (_, nth) => `k${nth}`)
  const store = filled(...keys)
  for (const written of [keys, keys.slice(0, 3)]) {
    store.begin()
    for (const key of written) store.set(entry(key, 'new'))
    for (const key of written) store.delete(key)
    store.rollback()
    expect(store.list()).toEqual(keys.map((key) => `${key}1`))
  }
  store.begin()
  store.set(entry('k0', 'new'))
  store.commit()
  // Outside of a transaction nothing is recorded.
  store.set(entry('k1', 'new'))
  store.begin()
  store.rollback()
  expect(['k0', 'k1'].map((key) => store.entryOf(key)?.object)).toEqual(['new', 'new'])
})

test('the default limit of a store is 16 000 000 objects', () => expect(MAX_OBJECTS).toBe(16_000_000))

test('a write with many pins is kept once, and each pin shows its own state', () => {
  const store = filled('a', 'b')
  const pins = Array.from({ length: 50 }, (_, nth) => {
    store.set(entry('a', `a${nth}`))
    return store.pin()
  })
  store.set(entry('b', 'b2'))
  expect(pins.map(({ layer }) => layer.held)).toEqual(pins.map(() => 1))
  expect(pins.map((pin) => pin.entryOf('a')?.object)).toEqual(pins.map((_, nth) => `a${nth}`))
  expect(new Set(pins.map((pin) => pin.entryOf('b')?.object))).toEqual(new Set(['b1']))
})

test('after a newer pin is closed, an older one keeps only what it needs', () => {
  const store = filled('a', 'b')
  const pin = store.pin()
  for (let nth = 0; nth < 10; nth++) {
    store.set(entry('a', `a${nth + 2}`))
    const newer = store.pin()
    store.set(entry('b', `b${nth + 2}`))
    store.set(entry(`c${nth}`, 'c'))
    newer.close()
  }
  expect(pin.layer.held).toBe(2)
  expect(pin.entries().map(({ object }) => object)).toEqual(['a1', 'b1'])
})

test('[I12] a pin keeps no entries of later keys', () => {
  const store = filled('a', 'b', 'c')
  store.delete('b')
  const pin = store.pin()
  for (let nth = 0; nth < 100; nth++) {
    store.set(entry(`x${nth}`, 'x'))
    store.set(entry(`y${nth}`, 'y'))
    store.delete(`x${nth}`)
    store.delete(`y${nth}`)
  }
  // The place that was free then, and is used again.
  expect(pin.layer.held).toBe(1)
  expect(['a', 'x0', 'y99'].map((key) => pin.entryOf(key)?.object)).toEqual(['a1', undefined, undefined])
})

test('a pin keeps at most each ordinal and each key of its creation', () => {
  const store = filled('a', 'b')
  const pin = store.pin()
  for (let nth = 0; nth < 100; nth++) {
    for (const key of ['a', 'b', 'c', 'd']) store.set(entry(key, `${key}${nth}`))
    for (const key of ['b', 'd', 'a', 'c']) store.delete(key)
  }
  expect(pin.layer.held).toBe(4)
  expect(['a', 'b', 'c'].map((key) => pin.entryOf(key)?.object)).toEqual(['a1', 'b1', undefined])
})
