import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeRecord, encodeRecord } from '../../adapters/common/record-text.js'
import { decodeValue, encodeValue, survivesJson } from '../../adapters/common/value-encoding.js'
import { fileCache } from '../../caches/file/index.js'
import { contextOf, folder, load, mirrorOf } from './support.js'

/** The value after a round trip through the text of the file. */
function roundTrip(object: unknown): unknown {
  const record = decodeRecord(encodeRecord({ type: 'entry', key: 'k', object }, '/f'))
  if (record.type !== 'entry') throw new Error('the record is not an entry')
  return record.object
}

const nullPrototype: object = Object.assign(Object.create(null), { a: 1, nested: { b: undefined } })
const named: object = JSON.parse('{"__proto__":{"a":1},"constructor":1,"b":{"__proto__":null}}')

describe('values that JSON loses come back equal', () => {
  test.each<readonly [string, unknown]>([
    ['a Date', new Date(1_700_000_000_123)],
    ['an invalid Date', new Date(Number.NaN)],
    ['a bigint', -(2n ** 70n)],
    ['a Uint8Array', Uint8Array.of(0, 1, 254, 255)],
    ['a Uint8Array that is a part of a buffer', new Uint8Array(Uint8Array.of(1, 2, 3, 4).buffer, 1, 2)],
    ['a Buffer', Buffer.from([0, 128, 255])],
    ['undefined', undefined],
    ['undefined in a field', { a: undefined, b: 1 }],
    ['undefined in an array', [1, undefined, null]],
    // biome-ignore lint/suspicious/noSparseArray: the hole is the case.
    ['a hole of an array', [1, , 3]],
    ['NaN', Number.NaN],
    ['Infinity', Number.POSITIVE_INFINITY],
    ['-Infinity', { a: [Number.NEGATIVE_INFINITY] }],
    ['-0', -0],
    [
      'a Map',
      new Map<unknown, unknown>([
        [{ a: 1n }, new Date(1)],
        ['b', new Map()],
      ]),
    ],
    ['a Set', new Set<unknown>([1, 'a', undefined, new Set([Number.NaN])])],
    ['an object without a prototype', nullPrototype],
    ['names of Object.prototype', { named, date: new Date(5) }],
    ['names of Object.prototype in plain JSON', named],
    ['an array that looks like a tag', [['u'], ['d', 5], { a: ['h'] }, undefined]],
    ['an array that looks like a tag in plain JSON', [['u'], ['d', 5], ['h']]],
    ['a lone surrogate', { '\ud800': '\udfff' }],
    ['a deep value', deep(300)],
  ])('%s', (_name, value) => {
    expect(roundTrip({ value })).toStrictEqual({ value })
    expect(roundTrip(value)).toStrictEqual(value)
  })

  test('bytes keep their class', () => {
    expect(Object.getPrototypeOf(roundTrip(Uint8Array.of(1)))).toBe(Uint8Array.prototype)
    expect(Object.getPrototypeOf(roundTrip(Buffer.of(1)))).toBe(Buffer.prototype)
  })

  test('the sign of 0 is kept', () => {
    expect(roundTrip([-0])).toSatisfy((value) => Array.isArray(value) && Object.is(value[0], -0))
  })
})

function deep(levels: number): unknown {
  let value: unknown = { end: true }
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? { value } : [value]
  return value
}

const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withSparseArray: true,
  withUnicodeString: true,
  maxDepth: 4,
})

describe('property', () => {
  const runs = Number(process.env['LISTWATCH_RUNS'] ?? 1)

  test('any value that can be saved comes back equal', () => {
    fc.assert(
      fc.property(anything, (value) => {
        expect(decodeValue(JSON.parse(JSON.stringify(encodeValue(value))))).toStrictEqual(value)
        expect(roundTrip(value)).toStrictEqual(value)
      }),
      { numRuns: 2_000 * runs },
    )
  })

  test('a value takes the fast path exactly if JSON returns it', () => {
    fc.assert(
      fc.property(fc.oneof(anything, fc.jsonValue()), (value) => {
        if (survivesJson(value)) expect(JSON.parse(JSON.stringify(value))).toStrictEqual(value)
      }),
      { numRuns: 2_000 * runs },
    )
    fc.assert(
      // JSON has no -0.
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => survivesJson(JSON.parse(JSON.stringify(value)))),
      { numRuns: 500 * runs },
    )
  })
})

class Money {
  readonly cents = 5
}

const cycle: Record<string, unknown> = {}
cycle['self'] = { cycle }

test.each<readonly [string, unknown, string]>([
  ['a function', { spec: { run: () => 1 } }, 'spec.run is a function'],
  ['a symbol', { spec: [1, Symbol('s')] }, 'spec.1 is a symbol'],
  ['an instance of a class', { price: new Money() }, 'price is an instance of Money'],
  ['an object with a toJSON', { at: { toJSON: () => 1 } }, 'at.toJSON is a function'],
  ['a RegExp', { a: /x/ }, 'a is an instance of RegExp'],
  ['a boxed string', { a: Object('x') }, 'a is an instance of String'],
  ['a typed array of other numbers', { a: Float64Array.of(1) }, 'a is an instance of Float64Array'],
  ['a class that extends Date', { a: new (class Day extends Date {})() }, 'a is an instance of Day'],
  ['a class that extends Array', { a: new (class List extends Array {})() }, 'a is an instance of List'],
  ['a symbol as a name', { a: { [Symbol('s')]: 1 } }, 'a is an object with a symbol as a name'],
  ['a cycle', cycle, 'self.cycle.self.cycle.self… contains itself, or nests deeper than 500 levels'],
  ['the object itself', new Money(), 'the object is an instance of Money'],
])('a value that cannot be saved fails the save, with key and path %s', async (_name, object, flaw) => {
  const path = `${folder()}/a.cache`
  const cache = fileCache({ path })
  await cache.save(mirrorOf([{ type: 'entry', key: 'good', object: 1 }]), contextOf())
  await expect(cache.save(mirrorOf([{ type: 'entry', key: 'bad\n', object }]), contextOf())).rejects.toMatchObject({
    code: 'PROTOCOL',
    key: 'bad\n',
    message: `file cache ${path} cannot save the object "bad\\n": ${flaw}`,
  })
  expect((await load(cache))?.records).toEqual([{ type: 'entry', key: 'good', object: 1 }])
})
