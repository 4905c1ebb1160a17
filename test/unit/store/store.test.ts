import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../src/contract/source.js'
import type { Ordinal } from '../../../src/store/ordinals.js'
import { MAX_OBJECTS, Store } from '../../../src/store/store.js'
import type { StoreIndex } from '../../../src/store/store-index.js'

const entry = (key: string, object: string, version = '1'): Entry<string> => ({ key, object, version })

/** An index that remembers all calls. */
class Recorder implements StoreIndex<string> {
  readonly told: string[] = []

  set(ordinal: Ordinal, { key, object }: Entry<string>): void {
    this.told.push(`set ${ordinal} ${key}=${object}`)
  }

  delete(ordinal: Ordinal): void {
    this.told.push(`delete ${ordinal}`)
  }

  valueAt(): undefined {}

  clear(): void {}
}

function filled(...keys: string[]): Store<string> {
  const store = new Store<string>()
  for (const key of keys) store.set(entry(key, `${key}1`))
  return store
}

describe('Store', () => {
  test('the ordinal of a deleted key is used again', () => {
    const store = filled('a', 'b')
    store.delete('a')
    expect([store.set(entry('c', 'c1')), store.ordinalLimit]).toEqual([0, 2])
  })

  test('touch changes the version and calls no index', () => {
    const store = filled('a')
    const recorder = new Recorder()
    store.addIndex(recorder)
    recorder.told.length = 0
    store.touch(0, entry('a', 'a1', '2'))
    expect([store.entryOf('a')?.version, recorder.told]).toEqual(['2', []])
  })
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
})

describe('the limit of objects', () => {
  test('the default limit of a store is 16 000 000 objects', () => {
    expect(MAX_OBJECTS).toBe(16_000_000)
  })

  test('an object above the limit is rejected and changes nothing', () => {
    const store = new Store<string>(2)
    store.set(entry('a', '1'))
    store.set(entry('b', '1'))
    const message = 'there are more than 2 objects, the most that one store holds'
    expect(() => store.set(entry('c', '1'))).toThrow(
      expect.objectContaining({ code: 'PROTOCOL', phase: 'apply', message }),
    )
    expect([store.keys(), store.size, store.freeCapacity, store.ordinalLimit]).toEqual([['a', 'b'], 2, 0, 2])
  })
})

describe('indexes of a store', () => {
  test('an index that is added later receives all stored entries', () => {
    const store = filled('a', 'b', 'c')
    store.delete('b')
    const recorder = new Recorder()
    store.addIndex(recorder)
    expect(recorder.told).toEqual(['set 0 a=a1', 'set 2 c=c1'])
  })

  test('an index is called for every write, and for a delete before the store removes the entry', () => {
    const store = filled('a')
    const recorder = new Recorder()
    const seen: (string | undefined)[] = []
    recorder.delete = (ordinal) => seen.push(store.entryAt(ordinal)?.object)
    store.addIndex(recorder)
    store.set(entry('a', 'a2'))
    store.delete('a')
    expect([recorder.told, seen]).toEqual([['set 0 a=a1', 'set 0 a=a2'], ['a2']])
  })
})

describe('Pin', () => {
  test('a scan by ordinal returns every object once while the store changes', () => {
    const store = filled('a', 'b', 'c', 'd')
    const pin = store.pin()
    const met: string[] = []
    for (let ordinal = 0; ordinal < pin.ordinalLimit; ordinal++) {
      met.push(pin.entryAt(ordinal)?.object ?? '-')
      store.delete('d')
      store.delete('a')
      store.set(entry(`new${ordinal}`, 'new'))
    }
    expect(met).toEqual(['a1', 'b1', 'c1', 'd1'])
  })

  test('a write with many pins is kept once, and each pin shows its own state', () => {
    const store = filled('a', 'b')
    const pins = Array.from({ length: 50 }, (_, nth) => {
      store.set(entry('a', `a${nth}`))
      return store.pin()
    })
    store.set(entry('b', 'b2'))
    expect(pins.map(({ held }) => held)).toEqual(pins.map(() => 1))
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
    expect(pin.held).toBe(2)
    expect(pin.entries().map(({ object }) => object)).toEqual(['a1', 'b1'])
  })

  test('a pin shows its state after most of a large store was overwritten', () => {
    const keys = Array.from({ length: 3_000 }, (_, nth) => `k${nth}`)
    const store = filled(...keys)
    const older = store.pin()
    store.set(entry('k7', 'early'))
    const pin = store.pin()
    for (const key of keys) if (key !== 'k9') store.set(entry(key, 'new'))
    const shown = (each: typeof pin) => ['k7', 'k8', 'k9'].map((key) => each.entryOf(key)?.object)
    expect([shown(pin), shown(older)]).toEqual([
      ['early', 'k81', 'k91'],
      ['k71', 'k81', 'k91'],
    ])
    pin.close()
    // What the closed pin has kept is too much to copy: it stays until the older pin is closed.
    expect([shown(older), older.held]).toEqual([['k71', 'k81', 'k91'], 1])
    older.close()
    expect([store.pinCount, store.recordingLayer]).toEqual([0, undefined])
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
    expect(pin.held).toBe(1)
    expect(['a', 'x0', 'y99'].map((key) => pin.entryOf(key)?.object)).toEqual(['a1', undefined, undefined])
  })

  test('a pin keeps at most each ordinal and each key of its creation', () => {
    const store = filled('a', 'b')
    const pin = store.pin()
    for (let nth = 0; nth < 100; nth++) {
      for (const key of ['a', 'b', 'c', 'd']) store.set(entry(key, `${key}${nth}`))
      for (const key of ['b', 'd', 'a', 'c']) store.delete(key)
    }
    expect(pin.held).toBe(4)
    expect(['a', 'b', 'c'].map((key) => pin.entryOf(key)?.object)).toEqual(['a1', 'b1', undefined])
  })

  test.each<[string, (pin: ReturnType<Store<string>['pin']>) => unknown]>([
    ['entryOf', (pin) => pin.entryOf('a')],
    ['entryAt', (pin) => pin.entryAt(0)],
    ['entries', (pin) => pin.entries()],
    ['layer', (pin) => pin.layer],
  ])('after close %s throws STOPPED, over an empty store too', (_, read) => {
    for (const store of [filled('a'), filled()]) {
      const pin = store.pin()
      pin.close()
      expect(() => read(pin)).toThrow(expect.objectContaining({ code: 'STOPPED' }))
    }
  })
})
