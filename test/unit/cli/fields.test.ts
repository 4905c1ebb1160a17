import { describe, expect, test } from 'vitest'
import { jsonText, shownValue, textOf } from '../../../cli/args/fields.js'

describe('values without a form in JSON', () => {
  // As pg reads the timestamp 294276-01-01 of Postgres.
  const never = new Date(Number.NaN)

  test('an invalid date is shown', () => {
    expect([textOf(never), shownValue({ at: never })]).toEqual(['Invalid Date', '{"at":"Invalid Date"}'])
    expect(jsonText({ at: never, none: null })).toBe('{"at":"Invalid Date","none":null}')
  })

  test('bytes are base64, also those of a Buffer', () => {
    expect(jsonText({ a: Uint8Array.of(0, 255), b: [Buffer.from('hi')] })).toBe('{"a":"AP8=","b":["aGk="]}')
    expect(jsonText(new Uint8Array(new Uint16Array([1, 2]).buffer, 2, 1))).toBe('"Ag=="')
  })

  test('infinity, NaN and bigints are texts', () => {
    expect(jsonText([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 2n ** 64n])).toBe(
      '["Infinity","-Infinity","NaN","18446744073709551616"]',
    )
  })

  test('a line of JSON has no character that a terminal obeys', () => {
    const key = 'a\u001b[31m\u007f\u0085\u009b31m'
    const text = jsonText({ key })
    expect(text).toMatch(/^[ -~]*$/)
    expect(JSON.parse(text)).toEqual({ key })
  })
})
