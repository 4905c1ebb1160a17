import { describe, expect, test } from 'vitest'
import { compareScalars, isScalar, type Scalar, sameScalar } from '../../../../src/store/indexes/scalar.js'

const day = (n: number): Date => new Date(Date.UTC(2026, 0, n))
const noDate = (): Date => new Date(Number.NaN)

test.each<[boolean, readonly unknown[]]>([
  [true, ['', 0, Number.NaN, 0n, false, day(1), noDate()]],
  [false, [null, undefined, [], {}, () => 1, Symbol('s'), Object('s')]],
])('isScalar returns %s for %o', (expected, values) => {
  expect(values.map(isScalar)).toEqual(values.map(() => expected))
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

test('[S11] the order is booleans, numbers, Dates, strings; Infinity is beyond Dates, and NaN comes after it', () => {
  const inOrder: readonly Scalar[] = [
    false,
    true,
    -Infinity,
    -(2n ** 70n),
    -1,
    0,
    0.5,
    1n,
    2 ** 53,
    2n ** 53n + 1n,
    new Date(-1),
    day(1),
    day(2),
    noDate(),
    Infinity,
    Number.NaN,
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

  const shuffled = inOrder.map((value, at) => ({ value, rank: (at * 11) % inOrder.length }))
  shuffled.sort((a, b) => a.rank - b.rank)
  expect(shuffled.map(({ value }) => value).sort(compareScalars)).toEqual(inOrder)
})
