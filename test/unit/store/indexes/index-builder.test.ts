import { describe, expect, test } from 'vitest'
import { type DeclaredIndex, declareIndexes, MAX_INDEX_VALUES } from '../../../../src/store/indexes/index-builder.js'
import type { IndexBuilder } from '../../../../src/store/indexes/index-types.js'
import type { Scalar } from '../../../../src/store/indexes/scalar.js'
import { Store } from '../../../../src/store/store.js'

/** Index functions of these tests return values of unknown types. */
interface Item {
  readonly value: unknown
}

function declared<I extends object>(declare: (ix: IndexBuilder<Item>) => I) {
  const store = new Store<Item>()
  const reports: { readonly message: string; readonly cause: unknown; readonly key: string }[] = []
  const { by, declared: indexes } = declareIndexes(store, declare, (message, cause, key) => {
    reports.push({ message, cause, key })
  })
  for (const { index } of indexes) store.addIndex(index)
  return {
    by,
    store,
    reports,
    indexes,
    put: (key: string, value: unknown) => store.set({ key, object: { value } }),
  }
}

const scalarOf = ({ value }: Item): Scalar => value as Scalar
const scalarsIn = ({ value }: Item): Iterable<Scalar> => value as Iterable<Scalar>
const tupleOf = ({ value }: Item): readonly Scalar[] => value as readonly Scalar[]
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

describe('declaring indexes', () => {
  test('the declared indexes are returned by name', () => {
    const { by, put } = declared((ix) => ({ one: ix.equal(scalarOf), other: ix.ordered(scalarOf) }))
    put('a', 1)
    expect([by.one(1), by.other({ gte: 1 })]).toEqual([[{ value: 1 }], [{ value: 1 }]])
  })

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

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a function', () => 1],
  ])('a declaration that returns %s is a TypeError', (_, given) => {
    expect(() => declared(() => given as object)).toThrow(new TypeError('indexes: must return an object of indexes'))
  })

  test('a value that is not an index is a TypeError that names it', () => {
    expect(() => declared(() => ({ tenant: scalarOf }))).toThrow(
      new TypeError('indexes: "tenant" is not an index; make it with ix.equal, ix.multi, …'),
    )
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

  test('if the function throws, the object is stored and is not in this index', () => {
    const { by, put, store } = declared((ix) => ({ it: make(ix, broken) }))
    put('a', good)
    expect([[...by.it.values()], store.entryOf('a')?.object]).toEqual([[], { value: good }])
  })

  test('if the function throws, that is reported once, with index, cause and key', () => {
    const { put, reports } = declared((ix) => ({ it: make(ix, broken) }))
    put('a', good)
    put('b', good)
    expect(reports).toEqual([
      { message: 'the function of index "it" failed: no such field', cause: new RangeError('no such field'), key: 'a' },
    ])
  })

  test('if the function throws, other indexes contain the object', () => {
    const { by, put } = declared((ix) => ({ it: make(ix, broken), other: ix.equal(() => 'here') }))
    put('a', good)
    expect(by.other.count('here')).toBe(1)
  })

  test('if the function throws for a new object, the old one leaves the index', () => {
    const { by, put } = declared((ix) => ({ it: make(ix) }))
    put('a', good)
    expect([...by.it.values()]).toHaveLength(1)
    put('a', Symbol('no scalar'))
    expect([...by.it.values()]).toEqual([])
  })

  test.each<[string, unknown, string]>([
    ['an object', {}, 'a value of type object'],
    ['a symbol', Symbol('s'), 'a value of type symbol'],
    ['a promise', Promise.resolve(1), 'a value of type object'],
    ['a function', () => 1, 'a value of type function'],
  ])('an index function that returns %s is reported, and the object is not in the index', (_, value, described) => {
    const { by, put, reports } = declared((ix) => ({ it: make(ix) }))
    put('a', value)
    expect([...by.it.values()]).toEqual([])
    expect(reports.map(({ message }) => message)).toEqual([
      expect.stringContaining(`the function of index "it" failed: it returned ${described}; `),
    ])
  })
})

describe('ix.equal and ix.ordered', () => {
  test.each(['equal', 'ordered'] as const)('an array given to ix.%s is reported', (kind) => {
    const { put, reports } = declared((ix) => ({ it: ix[kind](scalarOf) }))
    put('a', ['x'])
    expect(reports.map(({ message }) => message)).toEqual([
      'the function of index "it" failed: it returned an array; a string, number, bigint, boolean or Date is allowed',
    ])
  })
})

describe('ix.multi', () => {
  test('ix.multi accepts any iterable', () => {
    const { by, put } = declared((ix) => ({ it: ix.multi(scalarsIn) }))
    put('a', new Set(['x', 'y']))
    put('b', new Map([['x', 1]]).keys())
    expect([by.it.count('x'), by.it.count('y')]).toEqual([2, 1])
  })

  test('the same value twice counts once, equal Dates too', () => {
    const { by, put } = declared((ix) => ({ it: ix.multi(scalarsIn) }))
    put('a', ['x', 'x', new Date(7), new Date(7)])
    expect([by.it.count('x'), by.it.count(new Date(7)), [...by.it.values()].length]).toEqual([1, 1, 2])
  })

  test('null and undefined among the values are left out', () => {
    const { by, put, reports } = declared((ix) => ({ it: ix.multi(scalarsIn) }))
    put('a', [null, 'x', undefined])
    expect([[...by.it.values()], reports]).toEqual([['x'], []])
  })

  test('ix.multi rejects a string', () => {
    const { by, put, reports } = declared((ix) => ({ it: ix.multi(scalarsIn) }))
    put('a', 'red')
    expect([...by.it.values()]).toEqual([])
    expect(reports.map(({ message }) => message)).toEqual([
      'the function of index "it" failed: it returned a string; an iterable of scalars is allowed',
    ])
  })

  test('one value that is not a scalar leaves the object out of the index', () => {
    const { by, put, reports } = declared((ix) => ({ it: ix.multi(scalarsIn) }))
    put('a', ['x', {}])
    expect([[...by.it.values()], reports.length]).toEqual([[], 1])
  })

  test('10 000 values are allowed', () => {
    const { by, put, reports } = declared((ix) => ({ it: ix.multi(scalarsIn) }))
    put(
      'a',
      Array.from({ length: MAX_INDEX_VALUES }, (_, n) => n),
    )
    expect([by.it.count(9_999), reports]).toEqual([1, []])
  })

  test('[B14] more than 10 000 values leave the object out, and are reported', () => {
    const { by, put, reports } = declared((ix) => ({ it: ix.multi(scalarsIn) }))
    put(
      'a',
      Array.from({ length: 10_001 }, (_, n) => n),
    )
    expect([...by.it.values()]).toEqual([])
    expect(reports.map(({ message }) => message)).toEqual([
      'the function of index "it" failed: it returned more than 10000 values for one object',
    ])
  })

  test('an infinite iterable is closed after 10 001 values', () => {
    const { put, reports } = declared((ix) => ({ it: ix.multi(scalarsIn) }))
    put('a', {
      *[Symbol.iterator]() {
        for (let n = 0; ; n++) yield n
      },
    })
    expect(reports).toHaveLength(1)
  })
})

describe('ix.compound', () => {
  test.each([null, undefined])('a tuple with %s inside leaves the object out without a report', (nothing) => {
    const { by, put, reports } = declared((ix) => ({ it: ix.compound(({ value }) => ['acme', scalarOf({ value })]) }))
    put('a', nothing)
    put('b', 1)
    expect([[...by.it.values()], reports]).toEqual([[['acme', 1]], []])
  })

  test('an object leaves the index while its tuple contains undefined', () => {
    const { by, put } = declared((ix) => ({ it: ix.compound(({ value }) => [scalarOf({ value }), 'x']) }))
    put('a', 1)
    put('a', undefined)
    expect(by.it([])).toEqual([])
    put('a', 2)
    expect(by.it([2])).toEqual([{ value: 2 }])
  })

  test('a tuple with a value that is not a scalar is reported', () => {
    const { put, reports } = declared((ix) => ({ it: ix.compound(tupleOf) }))
    put('a', ['acme', ['nested']])
    expect(reports.map(({ message }) => message)).toEqual([
      expect.stringContaining('it returned an array; a string, number'),
    ])
  })

  test('ix.compound rejects a string', () => {
    const { put, reports } = declared((ix) => ({ it: ix.compound(tupleOf) }))
    put('a', 'acme')
    expect(reports.map(({ message }) => message)).toEqual([
      expect.stringContaining('it returned a string; an array of scalars is allowed'),
    ])
  })

  test('a tuple that is changed later does not move the object', () => {
    const tuple = ['acme', 1]
    const { by, put } = declared((ix) => ({ it: ix.compound(() => tuple) }))
    put('a', 1)
    tuple[0] = 'bolt'
    expect([by.it(['acme']).length, by.it(['bolt']).length]).toEqual([1, 0])
  })
})

describe('the reads of a declared index for subscriptions', () => {
  const all = declared((ix) => ({
    equal: ix.equal(scalarOf),
    multi: ix.multi(({ value }) => [scalarOf({ value }), 'also']),
    ordered: ix.ordered(scalarOf),
    compound: ix.compound(({ value }) => [scalarOf({ value }), 1]),
  }))
  const index = (name: string): DeclaredIndex<Item> => {
    const found = all.indexes.find((each) => each.name === name)
    if (found === undefined) throw new Error(`no index ${name}`)
    return found
  }
  const ordinal = all.put('a', new Date(7))

  test.each<[string, unknown, boolean]>([
    ['equal', new Date(7), true],
    ['equal', new Date(8), false],
    ['multi', new Date(7), true],
    ['multi', 'also', true],
    ['multi', 'not', false],
    ['ordered', new Date(7), true],
    ['ordered', new Date(8), false],
    ['compound', [new Date(7), 1], true],
    ['compound', [new Date(7)], true],
    ['compound', [new Date(7), 2], false],
  ])('%s: the remembered values include %o: %s', (name, value, expected) => {
    const { index: store, includes } = index(name)
    expect(includes(store.valueAt(ordinal), value)).toBe(expected)
  })

  test.each(['equal', 'multi', 'ordered', 'compound'])('%s: an unknown object matches no value', (name) => {
    expect(index(name).includes(undefined, name === 'compound' ? [1] : 1)).toBe(false)
  })

  test.each<[string, readonly Scalar[] | undefined]>([
    ['equal', [new Date(7)]],
    ['multi', ['also', new Date(7)]],
    ['ordered', [new Date(7)]],
    ['compound', undefined],
  ])('%s: an object is found under the scalars %o', (name, scalars) => {
    const { index: store, scalarsOf } = index(name)
    expect(scalarsOf(store.valueAt(ordinal))).toEqual(scalars)
  })

  test.each<[string, unknown, boolean]>([
    ['equal', 'a', true],
    ['equal', null, false],
    ['equal', ['a'], false],
    ['multi', {}, false],
    ['ordered', new Date(0), true],
    ['compound', ['a', 1], true],
    ['compound', 'a', false],
    ['compound', ['a', null], false],
  ])('%s: the scope value %o is valid: %s', (name, value, isAllowed) => {
    expect(index(name).flawIn(value) === undefined).toBe(isAllowed)
  })
})
