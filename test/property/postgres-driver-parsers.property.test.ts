import fc from 'fast-check'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { fasterParser, keepText } from '../../adapters/postgres/table/driver-parsers.js'

const BIGINT = 20
const NUMERIC = 1700
const TIMESTAMP = 1114
const TIMESTAMPTZ = 1184
const padded = (max: number, width: number) => fc.integer({ min: 0, max }).map((n) => String(n).padStart(width, '0'))
const date = fc
  .tuple(fc.oneof(padded(9_999, 4), padded(99_999, 1)), padded(13, 2), padded(32, 2))
  .map((parts) => parts.join('-'))
const time = fc.tuple(padded(24, 2), padded(60, 2), padded(60, 2)).map((parts) => parts.join(':'))
const fraction = fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{0,7}$/))
const zone = fc.oneof(fc.constantFrom('', '+00', 'Z', ' BC', '+00 BC'), fc.stringMatching(/^[+-]\d\d(:\d\d){0,2}$/))
const timestamp = fc.tuple(date, time, fraction, zone).map(([d, t, f, z]) => `${d} ${t}${f}${z}`)
/** Almost a timestamp: one character is another one, or missing. */
const damaged = fc
  .tuple(timestamp, fc.nat(30), fc.constantFrom('', ' ', '-', ':', '.', '+', 'x', '9'))
  .map(([text, at, char]) => text.slice(0, at) + char + text.slice(at + 1))

const zoneOfProcess = process.env['TZ']
afterEach(() => {
  if (zoneOfProcess === undefined) delete process.env['TZ']
  else process.env['TZ'] = zoneOfProcess
})

test.each(['UTC', 'America/New_York', 'Asia/Kathmandu'])(
  'a timestamp has the value that pg reads from it, if the process is in the time zone %s',
  (name) => {
    process.env['TZ'] = name
    for (const typeId of [TIMESTAMP, TIMESTAMPTZ]) {
      const parse = pg.types.getTypeParser(typeId, 'text')
      const faster = fasterParser(typeId, parse)
      expect(faster).not.toBe(parse)
      fc.assert(
        fc.property(fc.oneof(timestamp, damaged, fc.constantFrom('infinity', '-infinity', '')), (text) => {
          expect(faster(text)).toEqual(parse(text))
        }),
        { numRuns: 3_000 },
      )
    }
  },
)

test('a common timestamp is read without the parser of pg', () => {
  const ofDriver = pg.types.getTypeParser(TIMESTAMPTZ, 'text')
  const calls: string[] = []
  const parse = Object.defineProperty(
    (text: string) => {
      calls.push(text)
      return ofDriver(text)
    },
    'name',
    { value: 'parseDate' },
  )
  const faster = fasterParser(TIMESTAMPTZ, parse)
  calls.length = 0
  expect([faster('2026-03-04 05:06:07.089+02'), calls]).toEqual([new Date('2026-03-04T05:06:07.089+02:00'), []])
  expect(faster('0044-03-15 12:00:00+00 BC')).toEqual(ofDriver('0044-03-15 12:00:00+00 BC'))
  expect(calls).toEqual(['0044-03-15 12:00:00+00 BC'])
})

test.each([
  ['returns another value', (text: string) => text.length],
  ['returns another time', () => new Date(0)],
  [
    'throws an error',
    () => {
      throw new Error('no parser')
    },
  ],
])('a parser of timestamps that %s is called for each value, also if its name is the one of pg', (_what, own) => {
  const parse = Object.defineProperty(own, 'name', { value: 'parseDate' })
  expect(fasterParser(TIMESTAMPTZ, parse)).toBe(parse)
})

test('a parser of timestamps with a name of its own is called for each value', () => {
  const ofDriver = pg.types.getTypeParser(TIMESTAMPTZ, 'text')
  const parse = (text: string) => ofDriver(text)
  expect(fasterParser(TIMESTAMPTZ, parse)).toBe(parse)
})

test.each([BIGINT, NUMERIC, 0])('the parser of pg for type %i returns each text as is, and is not called', (typeId) => {
  const parse = pg.types.getTypeParser(typeId, 'text')
  expect(fasterParser(typeId, parse)).toBe(keepText)
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.bigInt().map(String),
    fc.constantFrom('NaN', '-Infinity', '007'),
  )
  fc.assert(fc.property(text, (each) => void expect(parse(each)).toBe(keepText(each))))
})

test.each(['parseBigInteger', 'noParse', 'BigInt'])('a parser of a user named %s is called for each value', (name) => {
  for (const own of [BigInt, Number, (text: string) => text.trim(), (text: string) => text.toLowerCase()]) {
    const parse = Object.defineProperty((text: string) => own(text), 'name', { value: name })
    expect(fasterParser(BIGINT, parse)).toBe(parse)
  }
})
