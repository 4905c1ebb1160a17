import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../src/contract/source.js'
import type { Ordinal } from '../../../src/store/ordinals.js'
import { MAX_OBJECTS, Store } from '../../../src/store/store.js'
import type { StoreIndex } from '../../../src/store/store-index.js'
import { hostileKeys } from '../../support/hostile-keys.js'

const entry = (key: string, object: string, version = '1'): Entry<string> => ({ key, object, version })

/** An index that remembers the object itself and all calls. */
class Recorder implements StoreIndex<string> {
  readonly values: (string | undefined)[] = []
  readonly told: string[] = []

  set(ordinal: Ordinal, { key, object }: Entry<string>): void {
    this.values[ordinal] = object
    this.told.push(`set ${ordinal} ${key}=${object}`)
  }

  delete(ordinal: Ordinal): void {
    this.values[ordinal] = undefined
    this.told.push(`delete ${ordinal}`)
  }

  valueAt(ordinal: Ordinal): string | undefined {
    return this.values[ordinal]
  }

  clear(): void {
    this.values.length = 0
    this.told.push('clear')
  }
}

function filled(...keys: string[]): Store<string> {
  const store = new Store<string>()
  for (const key of keys) store.set(entry(key, `${key}1`))
  return store
}

describe('Store', () => {
  test('entries are stored without a copy', () => {
    const store = new Store<string>()
    const kept = entry('a', '1')
    store.set(kept)
    expect([store.entryOf('a') === kept, store.entries()[0] === kept]).toEqual([true, true])
  })

  test('set replaces the entry of its key at the same ordinal', () => {
    const store = filled('a')
    const ordinal = store.set(entry('a', 'a2'))
    expect([ordinal, store.size, store.entryAt(ordinal)?.object]).toEqual([0, 1, 'a2'])
  })

  test('delete returns the removed entry', () => {
    const store = filled('a', 'b')
    expect([store.delete('a')?.object, store.entryOf('a'), store.size]).toEqual(['a1', undefined, 1])
  })

  test('deleting an unknown key changes nothing', () => {
    const store = filled('a')
    const list = store.list()
    expect([store.delete('x'), store.list() === list]).toEqual([undefined, true])
  })

  test('the ordinal of a deleted key is used again', () => {
    const store = filled('a', 'b')
    store.delete('a')
    expect([store.set(entry('c', 'c1')), store.ordinalLimit]).toEqual([0, 2])
  })

  test('keys, entries and list return the same objects', () => {
    const store = filled('a', 'b', 'c')
    store.delete('b')
    store.set(entry('d', 'd1'))
    const entries = store.entries()
    expect(store.keys().sort()).toEqual(['a', 'c', 'd'])
    expect(entries.map(({ key }) => key).sort()).toEqual(['a', 'c', 'd'])
    expect(store.list()).toEqual(entries.map(({ object }) => object))
  })

  test('list returns the same frozen array until an object changes', () => {
    const store = filled('a')
    const list = store.list()
    expect([Object.isFrozen(list), store.list() === list]).toEqual([true, true])
    store.set(entry('a', 'a2'))
    expect([store.list(), list]).toEqual([['a2'], ['a1']])
  })

  test('a delete does not change an array that list returned', () => {
    const store = filled('a', 'b')
    const list = store.list()
    store.delete('a')
    expect([store.list(), list]).toEqual([['b1'], ['a1', 'b1']])
  })

  test('a delete does not change arrays that keys and entries returned', () => {
    const store = filled('a')
    const [keys, entries] = [store.keys(), store.entries()]
    store.set(entry('b', 'b1'))
    expect([keys, entries.map(({ key }) => key)]).toEqual([['a'], ['a']])
  })

  test('touch changes the version and calls no index', () => {
    const store = filled('a')
    const recorder = new Recorder()
    store.addIndex(recorder)
    recorder.told.length = 0
    store.touch(0, entry('a', 'a1', '2'))
    expect([store.entryOf('a')?.version, recorder.told]).toEqual(['2', []])
  })

  test('clear removes all entries and frees all ordinals', () => {
    const store = filled('a', 'b')
    store.delete('a')
    store.clear()
    expect([store.size, store.ordinalLimit, store.keys(), store.entries(), store.list()]).toEqual([0, 0, [], [], []])
    expect(store.set(entry('c', 'c1'))).toBe(0)
  })

  test.each(hostileKeys)('the hostile key %s is a key like any other', (_, key) => {
    const store = new Store<string>()
    expect(store.entryOf(key)).toBeUndefined()
    store.set(entry(key, '1'))
    expect([store.entryOf(key)?.object, store.keys()]).toEqual(['1', [key]])
    expect([store.delete(key)?.object, store.size]).toEqual(['1', 0])
  })
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

  test('a full store accepts updates of its objects', () => {
    const store = new Store<string>(1)
    store.set(entry('a', '1'))
    store.set(entry('a', '2'))
    expect(store.entryOf('a')?.object).toBe('2')
  })

  test('after a delete a full store accepts a new object', () => {
    const store = new Store<string>(1)
    store.set(entry('a', '1'))
    store.delete('a')
    expect(() => store.set(entry('b', '1'))).not.toThrow()
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

  test('a clear of the store clears its indexes', () => {
    const store = filled('a')
    const recorder = new Recorder()
    store.addIndex(recorder)
    store.clear()
    expect(recorder.told.at(-1)).toBe('clear')
  })
})

describe('Pin', () => {
  test('a pin shows the state at its creation after later writes, deletes and additions', () => {
    const store = filled('a', 'b', 'c')
    const pin = store.pin()
    store.set(entry('a', 'a2'))
    store.delete('b')
    store.set(entry('d', 'd1'))
    store.set(entry('b', 'b2'))
    expect(['a', 'b', 'c', 'd'].map((key) => pin.entryOf(key)?.object)).toEqual(['a1', 'b1', 'c1', undefined])
    expect(pin.entries().map(({ object }) => object)).toEqual(['a1', 'b1', 'c1'])
    expect(pin.size).toBe(3)
  })

  test('a pin does not show a key that uses the ordinal of a deleted one', () => {
    const store = filled('a')
    const pin = store.pin()
    store.delete('a')
    store.set(entry('b', 'b1'))
    expect([pin.entryOf('a')?.object, pin.entryOf('b'), pin.entryAt(0)?.object]).toEqual(['a1', undefined, 'a1'])
  })

  test('a pin shows the old state of a key that was added again at another ordinal', () => {
    const store = filled('a', 'b')
    const pin = store.pin()
    store.delete('a')
    store.set(entry('x', 'x1'))
    store.set(entry('a', 'a2'))
    expect([pin.entryOf('a')?.object, pin.entries().map(({ object }) => object)]).toEqual(['a1', ['a1', 'b1']])
  })

  test('a pin shows the old version of a touched entry', () => {
    const store = filled('a')
    const pin = store.pin()
    store.touch(0, entry('a', 'a1', '2'))
    expect([pin.entryOf('a')?.version, store.entryOf('a')?.version]).toEqual(['1', '2'])
  })

  test('two pins show the states at their own creation', () => {
    const store = filled('a')
    const first = store.pin()
    store.set(entry('a', 'a2'))
    const second = store.pin()
    store.delete('a')
    expect([first.entryOf('a')?.object, second.entryOf('a')?.object]).toEqual(['a1', 'a2'])
  })

  test('a pin shows the entries of a store that was cleared later', () => {
    const store = filled('a', 'b')
    const pin = store.pin()
    store.clear()
    expect([pin.entries().length, store.size]).toEqual([2, 0])
  })

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

  test('pins without a write between them share what is kept', () => {
    const store = filled('a')
    const [first, second] = [store.pin(), store.pin()]
    store.set(entry('a', 'a2'))
    first.close()
    expect([second.held, second.entryOf('a')?.object]).toEqual([1, 'a1'])
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

  test('a closed pin is removed from its store', () => {
    const store = filled('a')
    const pin = store.pin()
    expect(store.pinCount).toBe(1)
    pin.close()
    expect([store.pinCount, pin.isClosed]).toEqual([0, true])
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
