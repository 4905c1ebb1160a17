import { describe, expect, test } from 'vitest'
import { assertMark, assertVersion, MAX_VERSION_BYTES } from '../../../src/contract/version.js'

describe('assertVersion', () => {
  test.each([
    ['a number', '8812'],
    ['one beyond 2^53', '9007199254740993'],
    ['zero', '0'],
    ['a space and a tilde', ' ~'],
    ['the longest', 'v'.repeat(MAX_VERSION_BYTES)],
  ])('%s is a version', (_, version) => expect(() => assertVersion(version, 'the version of a batch')).not.toThrow())

  test.each<[string, unknown, string]>([
    ['undefined', undefined, 'is missing, not a string'],
    ['a number', 7, 'is a number, not a string'],
    ['null', null, 'is a object, not a string'],
    ['the empty string', '', 'is empty'],
    ['a longer one', 'v'.repeat(MAX_VERSION_BYTES + 1), 'has 65537 bytes; 65536 are allowed'],
    ['a line break', '1\n', 'is not printable ASCII'],
    ['NUL', '\u0000', 'is not printable ASCII'],
    ['DEL', '\u007f', 'is not printable ASCII'],
    ['an umlaut', 'ü', 'is not printable ASCII'],
    ['a lone surrogate', '\ud800', 'is not printable ASCII'],
  ])('%s is refused as PROTOCOL', (_, version, flaw) => {
    const call = () => assertVersion(version, 'the version of a batch')
    expect(call).toThrow(expect.objectContaining({ code: 'PROTOCOL', message: `the version of a batch ${flaw}` }))
  })
})

test('assertMark accepts a version', () => expect(() => assertMark('8812')).not.toThrow())

test('assertMark refuses an invalid version as PROTOCOL', () => {
  const message = 'the version to wait for is empty'
  expect(() => assertMark('')).toThrow(expect.objectContaining({ code: 'PROTOCOL', message }))
})
