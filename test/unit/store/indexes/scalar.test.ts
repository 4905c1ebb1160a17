import { expect, test } from 'vitest'
import { compareScalars, type Scalar } from '../../../../src/store/indexes/scalar.js'

const day = (n: number): Date => new Date(Date.UTC(2026, 0, n))
const noDate = (): Date => new Date(Number.NaN)

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
