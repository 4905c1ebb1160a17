import { describe, expect, test } from 'vitest'
import { digestOf } from '../../../inspector/object-digest.js'

describe('digestOf', () => {
  test.each<readonly [string, unknown, unknown]>([
    ['fields in another order', { a: 1, b: 2 }, { b: 2, a: 1 }],
    ['a field that is undefined', { a: 1, b: undefined }, { a: 1 }],
    ['copies of bytes', { a: new Uint8Array([1, 2]) }, { a: new Uint8Array([0, 1, 2]).subarray(1) }],
    ['copies of a date', new Date(5), new Date(5)],
  ])('is the same for %s', (_, a, b) => expect(digestOf(a, false)).toBe(digestOf(b, false)))

  test.each<readonly [string, unknown, unknown]>([
    ['other bytes of the same length', { a: new Uint8Array([1, 2]) }, { a: new Uint8Array([1, 3]) }],
    ['a number and its text', { a: 1 }, { a: '1' }],
    ['a number and a bigint', { a: 1 }, { a: 1n }],
    ['a date and its text', new Date(5), 'date 5'],
    ['null and a missing field', { a: null }, {}],
    ['an array and an object', { a: ['b'] }, { a: { 0: 'b' } }],
    ['one element and two', ['a,b'], ['a', 'b']],
    ['two elements that change places', [1, 2], [2, 1]],
  ])('differs for %s', (_, a, b) => expect(digestOf(a, false)).not.toBe(digestOf(b, false)))

  test('includes the values of a Kubernetes Secret only if they are shown', () => {
    const secretOf = (password: string) => ({ kind: 'Secret', data: { password } })
    expect(digestOf(secretOf('a'), false)).toBe(digestOf(secretOf('b'), false))
    expect(digestOf(secretOf('a'), true)).not.toBe(digestOf(secretOf('b'), true))
  })

  test('of an object that contains itself, and of one with a getter that throws, is a text', () => {
    const circular: { self?: unknown } = {}
    circular.self = circular
    expect(digestOf(circular, false)).toMatch(/^.{44}$/)
    expect(
      digestOf(
        Object.defineProperty({}, 'a', {
          enumerable: true,
          get: () => {
            throw new Error('no')
          },
        }),
        false,
      ),
    ).toBe('unreadable')
  })
})
