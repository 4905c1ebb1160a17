import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../../src/contract/source.js'
import type { Scalar } from '../../../../src/store/indexes/scalar.js'
import { SortedIndex } from '../../../../src/store/indexes/sorted-index.js'
import { Store } from '../../../../src/store/store.js'
import { finish } from '../../../../src/util/steps.js'

type Tuple = readonly Scalar[]
type Item = { readonly name: string; readonly at?: Tuple | undefined }

const entry = (name: string, at?: Tuple): Entry<Item> => ({ key: name, object: { name, at } })

function sorted(items: Readonly<Record<string, Tuple | undefined>> = {}) {
  const store = new Store<Item>()
  const index = new SortedIndex<Item>(store, ({ object }) => object.at)
  finish(store.addIndex(index))
  for (const [name, at] of Object.entries(items)) store.set(entry(name, at))
  return {
    store,
    index,
    put: (name: string, at?: Tuple) => store.set(entry(name, at)),
    by: index.ordered<Scalar>(),
    compound: index.compound<Tuple>(),
  }
}

const names = (items: Iterable<Item>): string => Array.from(items, ({ name }) => name).join('')
const digits = { e: [5], a: [1], d: [4], b: [2], c: [3] }

describe('an ordered index', () => {
  test('an ordered index of a cleared store is empty and usable', () => {
    const { by, store, put } = sorted(digits)
    by()
    store.clear()
    put('x', [1])
    expect([names(by()), by.count(5)]).toEqual(['x', 0])
  })

  test('5 000 objects in random order stay in order through 5 000 changes', () => {
    const { by, store, put } = sorted()
    const at = (n: number): number => (n * 7919) % 5003
    for (let n = 0; n < 5_000; n++) put(`k${n}`, [at(n)])
    by()
    for (let n = 0; n < 2_500; n++) put(`k${n}`, [at(n + 5_000)])
    for (let n = 2_500; n < 4_900; n++) store.delete(`k${n}`)
    const values = by().map((item) => Number(item.at?.[0]))
    expect([values.length, values]).toEqual([2_600, values.toSorted((a, b) => a - b)])
    expect(by({ gte: 100, lt: 200 }).length).toBe(values.filter((value) => value >= 100 && value < 200).length)
    // Whole chunks become empty.
    for (const { name } of by({ gte: 1_000, lt: 4_000 })) store.delete(name)
    put('x', [2_000])
    const later = values.filter((value) => value >= 4_000).length
    expect([by({ gte: 1_000, lt: 4_000 }).length, by({ gte: 4_000 }).length]).toEqual([1, later])
    expect(by()).toHaveLength(values.filter((value) => value < 1_000).length + 1 + later)
  })

  test('[I9] a large index that is prepared twice at the same time is in order', () => {
    for (let ahead = 0; ahead < 60; ahead += 5) {
      const { index, by, put } = sorted()
      for (let n = 0; n < 10_000; n++) put(`k${n}`, [`node-${(n * 7_919) % 10_007}`])
      const [one, other] = [index.prepare(), index.prepare()]
      for (let step = 0; step < ahead; step++) one.next()
      while (one.next().done !== true) other.next()
      for (let n = 0; n < 100; n++) put(`k${n}`, [`node-${n}`])
      const values = by().map(({ at }) => String(at?.[0]))
      expect([values.length, values]).toEqual([10_000, values.toSorted()])
    }
  })

  /** Values that many searches compare: long common beginnings, characters beyond ASCII, all kinds of scalars. */
  const mixed = (n: number): Scalar => {
    const others = [NaN, Infinity, -Infinity, -0, true, 2n ** 53n + BigInt(n % 3), 2 ** 53, new Date(n % 9), 'x', '']
    const ends = ['', 'a', 'é', 'éa', 'èb', '\u0000', 'pod-12345', 'pod-12345-1', 'pod-12345-2', '\u007f', '\u0080']
    return n % 5 === 0 ? (others[(n % 7919) % others.length] ?? '') : `node-${ends[n % ends.length]}`
  }

  test.each(
    Object.entries<(n: number) => Scalar>({
      'values of all kinds': mixed,
      'numbers and bigints': (n) => (n % 2 === 0 ? 2 ** 53 + (n % 7) : 2n ** 53n + BigInt(n % 7)),
      '50 numbers': (n) => n % 50,
      'long strings': (n) => `deployments/${(n * 7919) % 10}-replicas-${n % 3}`,
      'strings beyond ASCII': (n) => `node-${String.fromCharCode(120 + (n % 20))}${(n * 7919) % 7}`,
      'strings, of which later ones begin differently': (n) =>
        `${n < 6_000 ? 'node' : n % 2 ? 'job' : 'pod'}-${n % 300}`,
    }),
  )('6 000 objects with %s stay in order through 3 000 writes', (_title, valueAt) => {
    const { by, store, put } = sorted()
    const nameOf = (n: number): string => `team-${(n * 31) % 17}/${n % 2 === 0 ? 'é' : 'pod-'}${n}`
    for (let n = 0; n < 6_000; n++) put(nameOf(n), [valueAt(n)])
    by()
    for (let n = 0; n < 3_000; n++) put(nameOf(3 * n), [valueAt(n * 7 + 1)])
    const kept = by()
    store.clear()
    for (const item of kept.toReversed()) put(item.name, item.at)
    expect(names(kept)).toBe(names(by()))
  })
})

test('tuples that become longer stay in order in a large index', () => {
  const { compound, put } = sorted()
  for (let n = 0; n < 6_000; n++) put(`k${n}`, [n % 3])
  compound([])
  for (let n = 0; n < 1_000; n++) put(`k${n}`, [n % 3, 1_000 - n])
  const places = compound([1]).map(({ at }) => at?.[1] ?? 0)
  expect([places.length, places]).toEqual([2_000, places.toSorted((a, b) => Number(a) - Number(b))])
})

test.each<[string, object]>([
  ['limit', { limit: 0 }],
  ['limit', { limit: -1 }],
  ['limit', { limit: Number.NaN }],
  ['limit', { limit: Infinity }],
  ['limit', { limit: 1.5 }],
  ['reverse', { reverse: 1 }],
  ['gt', { gt: {} }],
  ['gte', { gte: null }],
  ['lt', { lt: [] }],
  ['lte', { lte: Symbol('s') }],
  ['greaterThan', { greaterThan: 1 }],
])('an invalid "%s" (%o) is a TypeError that names it', (name, range) => {
  const { by, compound } = sorted(digits)
  for (const call of [() => by(range), () => by.entriesIn(range), () => compound([], range)]) {
    expect(call).toThrow(TypeError)
    expect(call).toThrow(`"${name}"`)
  }
})

test.each<[string, object]>([
  ['gte', { gte: '2026-01-15' }],
  ['lt', { lt: 5 }],
  ['gt', { gt: new Date('nope') }],
  ['prefix', { prefix: '2026' }],
])('[S11a] a bound "%s" of another type than the values (%o) is an OptionError', (option, range) => {
  const { by } = sorted({ a: [new Date(0)] })
  const { compound } = sorted({ a: ['acme', new Date(0)] })
  const calls = [
    () => by(range),
    () => by.entriesIn(range),
    ...(option === 'prefix' ? [] : [() => compound(['acme'], range)]),
  ]
  for (const call of calls) expect(call).toThrow(expect.objectContaining({ option }))
})

test('[S11] Infinity is later than every Date, and -Infinity is earlier', () => {
  const { by } = sorted({ never: [Infinity], day: [new Date(1)], ever: [-Infinity], later: [new Date(9)] })
  const bound = new Date(5)
  expect([{ lt: bound }, { gte: bound }, { lt: Infinity }].map((range) => by(range).map(({ name }) => name))).toEqual([
    ['ever', 'day'],
    ['later', 'never'],
    ['ever', 'day', 'later'],
  ])
})

test('only an ordered index has a prefix in its range, which is a string', () => {
  const { by, compound } = sorted(digits)
  const range: object = { prefix: 1 }
  expect(() => by(range)).toThrow('option "prefix" must be a string')
  expect(() => compound([], range)).toThrow('unknown option "prefix"')
})
