import { describe, expect, test } from 'vitest'
import { compareScalars, isScalar, type Scalar, ScalarMap, sameScalar } from '../../../../src/store/indexes/scalar.js'
import { hostileKeys } from '../../../support/hostile-keys.js'

const day = (n: number): Date => new Date(Date.UTC(2026, 0, n))
const noDate = (): Date => new Date(Number.NaN)

describe('isScalar', () => {
  test.each<[string, unknown]>([
    ['a string', ''],
    ['a number', 0],
    ['NaN', Number.NaN],
    ['a bigint', 0n],
    ['a boolean', false],
    ['a Date', day(1)],
    ['an invalid Date', noDate()],
  ])('%s is a scalar', (_, value) => {
    expect(isScalar(value)).toBe(true)
  })

  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['an array', []],
    ['an object', {}],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a boxed string', Object('s')],
  ])('%s is not a scalar', (_, value) => {
    expect(isScalar(value)).toBe(false)
  })
})

describe('sameScalar', () => {
  test.each<[string, Scalar | undefined, Scalar | undefined]>([
    ['equal strings', 'a', 'a'],
    ['NaN and NaN', Number.NaN, Number.NaN],
    ['0 and -0', 0, -0],
    ['a number and the bigint of its value', 1, 1n],
    ['a number beyond 2^53 and the bigint of its value', 2 ** 70, 2n ** 70n],
    ['two Dates of one moment', day(1), day(1)],
    ['two invalid Dates', noDate(), noDate()],
    ['undefined and undefined', undefined, undefined],
  ])('%s are the same', (_, a, b) => {
    expect([sameScalar(a, b), sameScalar(b, a)]).toEqual([true, true])
  })

  test.each<[string, Scalar | undefined, Scalar | undefined]>([
    ['a number and its text', 1, '1'],
    ['2 ** 53 and the bigint after it', 2 ** 53, 2n ** 53n + 1n],
    ['Infinity and a bigint that no number is as large as', Infinity, 10n ** 400n],
    ['a number and a boolean', 1, true],
    ['a Date and its milliseconds', day(1), day(1).getTime()],
    ['Dates of two moments', day(1), day(2)],
    ['a valid and an invalid Date', day(1), noDate()],
    ['a Date and undefined', day(1), undefined],
    ['the empty string and undefined', '', undefined],
  ])('%s are not the same', (_, a, b) => {
    expect([sameScalar(a, b), sameScalar(b, a)]).toEqual([false, false])
  })
})

describe('compareScalars', () => {
  const inOrder: readonly Scalar[] = [
    false,
    true,
    Number.NaN,
    -Infinity,
    -(2n ** 70n),
    -1,
    0,
    0.5,
    1n,
    2 ** 53,
    2n ** 53n + 1n,
    Infinity,
    noDate(),
    new Date(-1),
    day(1),
    day(2),
    '',
    '\u0000',
    '10',
    '9',
    'Z',
    '__proto__',
    'a',
    'a\u0000',
    'ab',
    '\ud800',
    '😀',
    '\uffff',
  ]

  test('the order is booleans, numbers and bigints by value with NaN first, Dates, strings by code unit', () => {
    const shuffled = inOrder.map((value, at) => ({ value, rank: (at * 11) % inOrder.length }))
    shuffled.sort((a, b) => a.rank - b.rank)
    expect(shuffled.map(({ value }) => value).sort(compareScalars)).toEqual(inOrder)
  })

  test.each<[string, Scalar, Scalar]>([
    ['NaN', Number.NaN, Number.NaN],
    ['a bigint and the number of that value', 1n, 1],
    ['0 and -0', 0, -0],
    ['invalid Dates', noDate(), noDate()],
    ['Dates of one moment', day(3), day(3)],
  ])('%s compare as equal', (_, a, b) => {
    expect(compareScalars(a, b)).toBe(0)
  })

  test('a bigint beyond 2^53 is compared exactly with a number', () => {
    expect(compareScalars(2n ** 53n + 1n, 2 ** 53)).toBe(1)
  })
})

describe('ScalarMap', () => {
  test('equal Dates are one key', () => {
    const map = new ScalarMap<string>()
    map.set(day(1), 'first')
    map.set(day(1), 'second')
    expect([map.get(day(1)), map.size]).toEqual(['second', 1])
  })

  test('a Date, its milliseconds and their text are three keys', () => {
    const map = new ScalarMap<number>()
    map.set(day(1), 1)
    map.set(day(1).getTime(), 2)
    map.set(String(day(1).getTime()), 3)
    expect(new Set(map.values())).toEqual(new Set([1, 2, 3]))
  })

  test('a number and the bigint of its value are one key, and a bigint above every number is its own key', () => {
    const map = new ScalarMap<string>()
    map.set(2, 'two')
    map.set(2n, 'also two')
    map.set(10n ** 400n, 'large')
    expect([map.get(2), map.get(2n), map.get(10n ** 400n), map.get(Infinity), map.size]).toEqual([
      'also two',
      'also two',
      'large',
      undefined,
      2,
    ])
    map.delete(2n)
    expect([map.get(2), map.size]).toEqual([undefined, 1])
  })

  test('a deleted Date is absent for every equal Date', () => {
    const map = new ScalarMap<number>()
    map.set(day(1), 1)
    map.delete(day(1))
    expect([map.get(day(1)), map.size]).toEqual([undefined, 0])
  })

  test('a deleted plain scalar is absent', () => {
    const map = new ScalarMap<number>()
    map.set(1n, 1)
    map.set('1', 2)
    map.delete(1n)
    expect([map.get(1n), map.get('1')]).toEqual([undefined, 2])
  })

  test('clear removes Dates and all other keys', () => {
    const map = new ScalarMap<number>()
    map.set(day(1), 1)
    map.set('1', 2)
    map.clear()
    expect([map.size, [...map.values()]]).toEqual([0, []])
  })

  test.each(hostileKeys)('the hostile key %s is a key like any other', (_, key) => {
    const map = new ScalarMap<number>()
    expect(map.get(key)).toBeUndefined()
    map.set(key, 1)
    expect(map.get(key)).toBe(1)
  })
})
