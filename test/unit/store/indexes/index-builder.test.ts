import { describe, expect, test } from 'vitest'
import type { IndexBuilder, Scalar } from '../../../../src/index.js'
import { declareIndexes, MAX_INDEX_VALUES } from '../../../../src/store/indexes/index-builder.js'
import { Store } from '../../../../src/store/store.js'
import { finish } from '../../../../src/util/steps.js'

/** Index functions of these tests return values of unknown types. */
type Item = { readonly value: unknown }

function declared<I extends object>(declare: (ix: IndexBuilder<Item>) => I) {
  const store = new Store<Item>()
  const reports: { readonly message: string; readonly cause: unknown; readonly key: string }[] = []
  const { by, declared: indexes } = declareIndexes(store, declare, (message, cause, key) => {
    reports.push({ message, cause, key })
  })
  for (const { index } of indexes) finish(store.addIndex(index))
  return { by, store, reports, put: (key: string, value: unknown) => store.set({ key, object: { value } }) }
}

const scalarOf = ({ value }: Item): Scalar => value as Scalar
const scalarsIn = ({ value }: Item): Iterable<Scalar> => value as Iterable<Scalar>
const tupleOf = ({ value }: Item): readonly Scalar[] => value as readonly Scalar[]
const numbers = (count: number): Iterable<number> => ({
  *[Symbol.iterator]() {
    for (let n = 0; n < count; n++) yield n
  },
})
const broken = (): never => {
  throw new RangeError('no such field')
}

/** One index of each kind under the name "it", and how to count what is in it. */
const kinds: [string, (ix: IndexBuilder<Item>, of?: () => never) => { values(): Iterable<unknown> }][] = [
  ['equal', (ix, of) => ix.equal(of ?? scalarOf)],
  ['multi', (ix, of) => ix.multi(of ?? scalarsIn)],
  ['ordered', (ix, of) => ix.ordered(of ?? scalarOf)],
  ['compound', (ix, of) => ix.compound(of ?? tupleOf)],
]

test('the function gets the object and its key', () => {
  const { by, put } = declared((ix) => ({ it: ix.equal(({ value }, key) => `${key}:${String(value)}`) }))
  put('a', 1)
  expect([...by.it.values()]).toEqual(['a:1'])
})

test.each(['__proto__', 'constructor', ''])('the hostile name %j is a name like any other', (name) => {
  const { by, put } = declared((ix) => Object.fromEntries([[name, ix.equal(scalarOf)]]))
  put('a', 1)
  expect(Object.entries(by).map(([each, index]) => [each, index(1)])).toEqual([[name, [{ value: 1 }]]])
})

test.each<[string, unknown, string]>([
  ['returns undefined', undefined, 'must return an object of indexes'],
  ['returns a promise', Promise.resolve({}), 'must return an object of indexes'],
  ['returns null', null, 'must return an object of indexes'],
  ['returns a function', () => 1, 'must return an object of indexes'],
  ['has no index', { tenant: scalarOf }, '"tenant" is not an index; make it with ix.equal, ix.multi, …'],
])('a declaration that %s is a TypeError with the reason', (_, given, reason) => {
  expect(() => declared(() => given as object)).toThrow(new TypeError(`indexes: ${reason}`))
})

test.each(kinds)('ix.%s without a function is a TypeError', (_, make) => {
  expect(() => declared((ix) => ({ it: make(ix, 'tenant' as never) }))).toThrow(
    new TypeError('indexes: an index needs a function'),
  )
})

test('an index that is made and not returned costs nothing', () => {
  let asked = 0
  const { put } = declared((ix) => {
    ix.equal(() => ++asked)
    return {}
  })
  put('a', 1)
  expect(asked).toBe(0)
})

describe.each(kinds)('[B14] an index function of ix.%s', (kind, make) => {
  const good: unknown = kind === 'multi' || kind === 'compound' ? ['x'] : 'x'

  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
  ])('an index function that returns %s leaves the object out of the index without a report', (_, value) => {
    const { by, put, reports } = declared((ix) => ({ it: make(ix) }))
    put('a', value)
    expect([[...by.it.values()], reports]).toEqual([[], []])
  })

  test('[S5] if the function throws, the object is not in this index, and that is reported once', () => {
    const { by, put, store, reports } = declared((ix) => ({ it: make(ix, broken), other: ix.equal(() => 'here') }))
    put('a', good)
    put('b', good)
    expect([[...by.it.values()], by.other.count('here'), store.entryOf('a')?.object]).toEqual([[], 2, { value: good }])
    expect(reports).toEqual([
      { message: 'the function of index "it" failed: no such field', cause: new RangeError('no such field'), key: 'a' },
    ])
  })

  test('if the function throws for a new object, the old one leaves the index', () => {
    const { by, put } = declared((ix) => ({ it: make(ix) }))
    put('a', good)
    expect([...by.it.values()]).toHaveLength(1)
    put('a', Symbol('no scalar'))
    expect([...by.it.values()]).toEqual([])
  })

  test.each<[string, () => unknown, string]>([
    ['an object', () => ({}), 'a value of type object'],
    ['a symbol', () => Symbol('s'), 'a value of type symbol'],
    ['a promise', () => Promise.reject(new Error('not awaited')), 'a promise'],
    ['a function', () => () => 1, 'a value of type function'],
  ])('an index function that returns %s is reported, and the object is not in the index', (_, returned, described) => {
    const { by, put, reports } = declared((ix) => ({ it: make(ix) }))
    put('a', returned())
    expect([...by.it.values()]).toEqual([])
    expect(reports.map(({ message }) => message)).toEqual([
      expect.stringContaining(`the function of index "it" failed: it returned ${described}; `),
    ])
  })
})

test.each<[string, unknown, string]>([
  ['equal', ['x'], 'an array; a string, number, bigint, boolean or Date is allowed'],
  ['ordered', ['x'], 'an array; a string, number, bigint, boolean or Date is allowed'],
  ['multi', 'red', 'a string; an iterable of scalars is allowed'],
  ['multi', ['x', {}], 'a value of type object; a string, number, bigint, boolean or Date is allowed'],
  ['multi', numbers(MAX_INDEX_VALUES + 1), 'more than 10000 values for one object'],
  ['multi', numbers(Infinity), 'more than 10000 values for one object'],
  ['compound', 'acme', 'a string; an array of scalars is allowed'],
  ['compound', ['acme', ['nested']], 'an array; a string, number, bigint, boolean or Date is allowed'],
])('[B14] an object for which ix.%s has %o from its function is left out, and reported', (kind, value, flaw) => {
  const { by, put, reports } = declared((ix) => ({ it: kinds.find(([name]) => name === kind)?.[1](ix) }))
  put('a', value)
  expect([...(by.it?.values() ?? ['none'])]).toEqual([])
  expect(reports.map(({ message }) => message)).toEqual([`the function of index "it" failed: it returned ${flaw}`])
})

test.each<[string, Iterable<unknown>, Scalar[]]>([
  ['a Set', new Set(['x', 'y']), ['x', 'y']],
  ['an iterator', new Map([['x', 1]]).keys(), ['x']],
  ['the same value twice, equal Dates too', ['x', 'x', new Date(7), new Date(7)], ['x', new Date(7)]],
  ['null and undefined, which it leaves out', [null, 'x', undefined], ['x']],
  ['10 000 values', numbers(MAX_INDEX_VALUES), [...numbers(MAX_INDEX_VALUES)]],
])('ix.multi accepts %s', (_, value, expected) => {
  const { by, put, reports } = declared((ix) => ({ it: ix.multi(scalarsIn) }))
  put('a', value)
  expect(new Set(by.it.values())).toEqual(new Set(expected))
  expect([...by.it.values()].length).toEqual(expected.length)
  expect(reports).toEqual([])
  expect(expected.every((each) => by.it.count(each) === 1)).toBe(true)
})

test.each([null, undefined])('an object leaves the index while its tuple has %s, without a report', (nothing) => {
  const { by, put, reports } = declared((ix) => ({ it: ix.compound(({ value }) => [scalarOf({ value }), 'x']) }))
  put('a', 1)
  put('b', 2)
  put('a', nothing)
  expect([by.it([]), reports]).toEqual([[{ value: 2 }], []])
  put('a', 3)
  expect(by.it([3])).toEqual([{ value: 3 }])
})

test('a tuple that is changed later does not move the object', () => {
  const tuple = ['acme', 1]
  const { by, put } = declared((ix) => ({ it: ix.compound(() => tuple) }))
  put('a', 1)
  tuple[0] = 'bolt'
  expect([by.it(['acme']).length, by.it(['bolt']).length]).toEqual([1, 0])
})
