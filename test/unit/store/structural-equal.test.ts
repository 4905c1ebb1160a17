import { describe, expect, test } from 'vitest'
import { structuralEqual } from '../../../src/store/structural-equal.js'

class Point {
  readonly x: number
  readonly y: number
  constructor(x: number, y: number) {
    this.x = x
    this.y = y
  }
}

class Vector extends Point {}

/** As classes were written before there were any: their methods are enumerable. */
const oldStyle = { toPostgres: (): string => 'P' }
const interval = (days: number): object => Object.assign(Object.create(oldStyle), { days })

/** It fills its own properties with the result of a call, as the intervals of pg do. */
class Filled {
  constructor(text: string) {
    fill(this, JSON.parse(text))
  }
}
function fill(target: object, parsed: object): void {
  Object.assign(target, parsed)
}

class Bag {
  constructor(properties: object) {
    Object.assign(this, properties)
  }
}

class Opaque {
  readonly kind = 'opaque'
  readonly #secret: number
  constructor(secret: number) {
    this.#secret = secret
  }
  reveal(): number {
    return this.#secret
  }
}

class Heir extends Opaque {}

const secrets = new WeakMap<object, number>()
/** Its private state is kept as compilers keep it. */
class Compiled {
  readonly kind = 'compiled'
  constructor(secret: number) {
    secrets.set(this, secret)
  }
}

/** A function finds its private state. */
const cellOf = (_owner: object): { readonly kind: string } => ({ kind: 'delegating' })
class Delegating {
  readonly kind = cellOf(this).kind
}

class Moment extends Date {
  readonly zone: string
  constructor(zone: string) {
    super(0)
    this.zone = zone
  }
}

class Table extends Map<string, number> {
  readonly #secret = 1
  reveal(): number {
    return this.#secret
  }
}

const hiding = (version: string): object => Object.defineProperty({}, 'version', { value: version })
const mapOf = (of: object): object => new Map(Object.entries(of))
const error = new TypeError('a')
const opaque = new Opaque(1)

function nested(depth: number): unknown {
  let value: unknown = 'leaf'
  for (let i = 0; i < depth; i++) value = [value]
  return value
}

const made = { isMade: true }

describe('structuralEqual', () => {
  test.each<[string, unknown, unknown]>([
    ['objects without a prototype', Object.create(null), Object.create(null)],
    ['NaN', { n: Number.NaN }, { n: Number.NaN }],
    ['0 and -0', 0, -0],
    ['invalid Dates', new Date(Number.NaN), new Date(Number.NaN)],
    ['views of the same bytes at other offsets', new Uint8Array([9, 1, 2]).subarray(1), new Uint8Array([1, 2])],
    ['data views', new DataView(new Uint8Array([1]).buffer), new DataView(new Uint8Array([1]).buffer)],
    ['Maps, whatever their order', mapOf({ a: [1], b: [2] }), mapOf({ b: [2], a: [1] })],
    ['Sets of the same values', new Set([1, 'a']), new Set(['a', 1])],
    ['instances of one class with the same properties', new Point(1, 2), new Point(1, 2)],
    ['instances whose methods are enumerable', interval(1), interval(1)],
    ['instances that are filled by a call', new Filled('{"days":1}'), new Filled('{"days":1}')],
    ['instances of a class that adds properties to Date', new Moment('UTC'), new Moment('UTC')],
    ['properties that are not enumerable', hiding('1'), hiding('1')],
    ['one instance with private fields', { opaque }, { opaque }],
    ['500 levels', nested(500), nested(500)],
  ])('equal: %s', (_, a, b) => expect([structuralEqual(a, b, made), structuralEqual(b, a, made)]).toEqual([true, true]))

  test.each<[string, unknown, unknown]>([
    ['one property more', { a: 1 }, { a: 1, b: undefined }],
    ['another name for an undefined property', { a: undefined }, { b: undefined }],
    ['a property that only the prototype has', { toString: undefined }, {}],
    ['an own __proto__ property and none', JSON.parse('{"__proto__":{"a":1}}'), { a: 1 }],
    ['an array and an object with its indices', [1], { 0: 1, length: 1 }],
    ['null and undefined', null, undefined],
    ['Dates of two moments', new Date(7), new Date(8)],
    ['typed arrays of other bytes', new Uint8Array([1, 2]), new Uint8Array([1, 3])],
    ['typed arrays of other lengths', new Uint8Array([1, 2]), new Uint8Array([1])],
    ['typed arrays of other types', new Uint8Array([1]), new Int8Array([1])],
    ['Maps with other values', new Map([['a', 1]]), new Map([['a', 2]])],
    ['Maps with other keys', new Map([['a', undefined]]), new Map([['b', undefined]])],
    ['Maps of other sizes', new Map([['a', 1]]), new Map()],
    ['Sets of other values', new Set([1]), new Set([2])],
    ['Sets of other sizes', new Set([1]), new Set([1, 2])],
    ['instances of two classes', new Point(1, 2), new Vector(1, 2)],
    ['instances whose methods are enumerable, with other values', interval(1), interval(2)],
    ['instances with another name for an undefined property', new Bag({ a: undefined }), new Bag({ b: undefined })],
    ['an instance and a plain object', new Point(1, 2), { x: 1, y: 2 }],
    ['two instances with private fields', new Opaque(1), new Opaque(1)],
    ['two instances of a class that inherits private fields', new Heir(1), new Heir(1)],
    ['two instances with private fields in a WeakMap', new Compiled(1), new Compiled(1)],
    ['two instances whose state a function finds', new Delegating(), new Delegating()],
    ['two Maps of a class with private fields', new Table(), new Table()],
    ['Dates of a class with other properties', new Moment('UTC'), new Moment('CET')],
    ['a Map and one with a property', new Map(), Object.assign(new Map(), { a: 1 })],
    ['Sets with other properties', Object.assign(new Set(), { a: 1 }), Object.assign(new Set(), { a: 2 })],
    ['errors with other properties', Object.assign(Object.create(error), { a: 1 }), Object.create(error)],
    ['arrays with other properties', Object.assign([1], { index: 1 }), Object.assign([1], { index: 2 })],
    ['properties with other symbols', { [Symbol.iterator]: 1 }, { [Symbol.iterator]: 2 }],
    ['other properties that are not enumerable', hiding('1'), hiding('2')],
    ['two expressions', /a/, /a/],
    ['two functions', () => 1, () => 1],
  ])('different: %s', (_, a, b) => {
    expect([structuralEqual(a, b, made), structuralEqual(b, a, made)]).toEqual([false, false])
  })

  test('below 500 levels two values count as different, without a stack overflow', () => {
    expect(structuralEqual(nested(100_000), nested(100_000))).toBe(false)
  })

  test('[B30] an own __proto__ is not the prototype of the other object', () => {
    expect(structuralEqual(Object.fromEntries([['__proto__', Object.create(null)]]), { a: undefined })).toBe(false)
  })

  describe('values that an object contains several times', () => {
    /** 2 ** levels paths lead to `last`. */
    const shared = (levels: number, last: unknown): unknown => {
      let value = last
      for (let level = 0; level < levels; level++) value = { left: value, right: [value] }
      return value
    }

    test('values that occur several times are not compared exponentially often', () => {
      expect(structuralEqual(shared(200, { n: 1 }), shared(200, { n: 1 }))).toBe(true)
    })

    test('values that occur several times are different, even if only the last path leads to the difference', () => {
      expect(structuralEqual(shared(40, { n: 1 }), shared(40, { n: 2 }))).toBe(false)
      const odd = [shared(40, { n: 1 }), { n: 1 }]
      expect(structuralEqual(odd, [shared(40, { n: 1 }), { n: 2 }])).toBe(false)
      expect(structuralEqual(odd, [shared(40, { n: 1 }), { n: 1 }])).toBe(true)
    })

    test('values that occur several times equal their copies', () => {
      const part = { n: 1 }
      const repeated = Array.from({ length: 30_000 }, () => part)
      const copies = repeated.map(({ n }) => ({ n }))
      expect(structuralEqual(repeated, copies)).toBe(true)
      expect(structuralEqual(repeated, copies.with(-1, { n: 2 }))).toBe(false)
    })

    test('a getter that compares does not disturb the comparison around it', () => {
      const of = (n: number): object => ({
        get inner() {
          return structuralEqual(shared(40, 1), shared(40, 1))
        },
        rest: [shared(40, 1), n],
      })
      expect([structuralEqual(of(1), of(1)), structuralEqual(of(1), of(2))]).toEqual([true, false])
    })
  })

  describe('after two objects that differed in a version', () => {
    const rows = (version: string, more: object = {}): object => ({ name: 'a', meta: { version, ...more } })
    const differ = (): void => expect(structuralEqual(rows('1'), rows('2'))).toBe(false)

    test('objects with equal versions are compared by all their properties', () => {
      differ()
      expect(structuralEqual(rows('1', { labels: ['x'] }), rows('1', { labels: ['x'] }))).toBe(true)
      differ()
      expect(structuralEqual(rows('1', { labels: ['x'] }), rows('1', { labels: ['y'] }))).toBe(false)
    })

    test('versions that are not a number are equal', () => {
      expect(structuralEqual({ version: 1 }, { version: 2 })).toBe(false)
      expect(structuralEqual({ version: Number.NaN }, { version: Number.NaN })).toBe(true)
      expect(structuralEqual({ version: 1 }, { version: { n: 1 } })).toBe(false)
    })
  })

  test('values that contain themselves are compared in finite time', () => {
    const a: { self?: unknown; n: number } = { n: 1 }
    const b: { self?: unknown; n: number } = { n: 1 }
    a.self = a
    b.self = b
    expect([structuralEqual(a, a), structuralEqual(a, b)]).toEqual([true, false])
  })
})
