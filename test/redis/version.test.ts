import { describe, expect, test } from 'vitest'
import { unavailable } from '../../adapters/common/source-errors.js'
import { formatVersion, includesMark, parseVersion } from '../../adapters/redis/collection/collection-version.js'
import { chainAfter } from '../../adapters/redis/collection/writer-script.js'
import { AdaptivePageSize, ResponseSizeLimit } from '../../adapters/redis/connection/adaptive-page-size.js'
import { includesMark as includesPlace, positions } from '../../adapters/redis/stream/stream-version.js'

const chain = 'a'.repeat(16)
const at = (epoch: number, sequence: number, of: string = chain): string =>
  formatVersion({ epoch, sequence, chain: of })
const absent = (absentAt: number): string => formatVersion({ absentAt })

describe('a version', () => {
  test.each([at(1_700_000_000_000, 0), at(7, 9_007_199_254), absent(1_700_000_000_000)])(
    '%s is read as it was written',
    (version) => {
      expect(formatVersion(parseVersion(version))).toBe(version)
    },
  )

  const pairs: readonly (readonly [what: string, at: string, mark: string, includes: boolean | 'EPOCH_CHANGED'])[] = [
    ['itself', at(5, 3), at(5, 3), true],
    ['an earlier one', at(5, 3), at(5, 2, 'b'.repeat(16)), true],
    ['a later one', at(5, 3), at(5, 4), false],
    ['one of another history', at(5, 3), at(6, 3), 'EPOCH_CHANGED'],
    ['one of a fork', at(5, 3), at(5, 3, 'b'.repeat(16)), 'EPOCH_CHANGED'],
    ['of absence, a later absence', absent(10), absent(20), true],
    ['of absence, a history that began since', absent(10), at(11, 0), false],
    ['of absence, a history that began at the same time', absent(10), at(10, 0), false],
    ['of absence, an earlier history', absent(10), at(9, 4), 'EPOCH_CHANGED'],
    ['an absence before it began', at(11, 0), absent(10), true],
    ['an absence after it began', at(9, 4), absent(10), 'EPOCH_CHANGED'],
  ]
  test.each(pairs)('%s', (_what, here, mark, includes) => {
    if (includes === 'EPOCH_CHANGED')
      expect(() => includesMark(here, mark)).toThrow(expect.objectContaining({ code: includes }))
    else expect(includesMark(here, mark)).toBe(includes)
  })

  test.each(['', '7', 'redis1.5.3', 'redis1.5.3.xyz', `redis1.-5.3.${chain}`, 'pg1.1.2.3'])(
    '%j is rejected',
    (version) => {
      expect(() => parseVersion(version)).toThrow(expect.objectContaining({ code: 'PROTOCOL' }))
    },
  )
})

describe('a position in a stream', () => {
  const of = (id: string, added: number | undefined, digest?: string, origin?: string): string =>
    positions.format({ id, added, digest, origin })
  const [one, other] = ['a'.repeat(16), 'b'.repeat(16)]

  test.each([of('5-0', 3, one, '1-0'), of('18446744073709551615-1', undefined), '0-0'])(
    '%s is reached by itself',
    (place) => {
      expect(includesPlace(place.startsWith('redisx1') ? place : of(place, 0), place)).toBe(true)
    },
  )

  const pairs: readonly (readonly [what: string, at: string, mark: string, includes: boolean | 'EPOCH_CHANGED'])[] = [
    ['an earlier id', of('5-10', 3), '5-9', true],
    ['a later id', of('5-9', 3), '5-10', false],
    ['an id with one digit more', of('9-0', 3), '10-0', false],
    ['an id without its second half', of('5-0', 3), '5', true],
    ['an earlier place', of('5-0', 3, one, '1-0'), of('4-0', 2, other, '1-0'), true],
    ['a place in one that began otherwise', of('5-0', 3, one, '1-0'), of('4-0', 2, one, '2-0'), 'EPOCH_CHANGED'],
    ['an earlier place with more entries before it', of('5-0', 3, one), of('4-0', 4, one), 'EPOCH_CHANGED'],
    ['the same id with more entries before it', of('5-0', 3, one), of('5-0', 4, one), 'EPOCH_CHANGED'],
    ['another entry with the same id', of('5-0', 3, one), of('5-0', 3, other), 'EPOCH_CHANGED'],
    ['an entry with the same id and an unknown digest', of('5-0', 3), of('5-0', 3, one), true],
    [
      'of one to which nothing was added, a place without entries before it',
      of('0-0', 0),
      of('4-0', 0),
      'EPOCH_CHANGED',
    ],
  ]
  test.each(pairs)('%s', (_what, here, mark, includes) => {
    if (includes === 'EPOCH_CHANGED')
      expect(() => includesPlace(here, mark)).toThrow(expect.objectContaining({ code: includes }))
    else expect(includesPlace(here, mark)).toBe(includes)
  })

  test.each(['', 'x', '5-', '-5', 'redisx1.5-0.3', `redis1.5.3.${one}`])('%j is rejected', (mark) => {
    expect(() => includesPlace(of('5-0', 3), mark)).toThrow(expect.objectContaining({ code: 'PROTOCOL' }))
  })
})

test('different changes have different chains', () => {
  const [a, ab, b, none] = ['a', 'ab', 'b', ''].map((text) => Buffer.from(text))
  if (!a || !ab || !b || !none) throw new Error('missing')
  const changes = [
    [],
    [{ key: a, value: b }],
    [{ key: ab, value: none }],
    [{ key: none, value: ab }],
    [{ key: a, value: undefined }],
    [{ key: a, value: none }],
    [
      { key: a, value: undefined },
      { key: b, value: undefined },
    ],
    [{ key: Buffer.from('a d1 b'), value: undefined }],
  ]
  const chains = changes.map((each) => chainAfter({ chain, epoch: 1 }, 'word', each))
  expect(
    new Set([...chains, chainAfter({ chain, epoch: 1 }, 'other', []), chainAfter({ chain, epoch: 2 }, 'word', [])])
      .size,
  ).toBe(chains.length + 2)
})

test('the size of a response is bounded for all values, and never 0', () => {
  const portion = new AdaptivePageSize(1_000, new ResponseSizeLimit())
  expect(portion.size).toBe(1)
  for (let times = 0; times < 10; times++) portion.arrived(portion.size, portion.size * 100)
  expect(portion.size).toBe(1_000)
  portion.arrived(10, 10 * 1024 * 1024)
  expect(portion.size).toBe(4)
  portion.arrived(1, 64 * 1024 * 1024)
  expect(portion.size).toBe(1)
})

test('the size of a response is halved when a connection is lost during it, and doubled again after ten minutes', () => {
  const answers = new ResponseSizeLimit()
  const lost = unavailable('127.0.0.1:6379 closed the connection')
  const portion = (): AdaptivePageSize => {
    const each = new AdaptivePageSize(1_000, answers)
    for (let times = 0; times < 10; times++) each.arrived(each.size, each.size * 10_000)
    return each
  }
  expect(portion().size).toBe(419)
  expect(portion().failed(lost, 400, 0)).toMatchObject({
    message: expect.stringContaining('client-output-buffer-limit'),
  })
  answers.begin(9 * 60_000)
  expect(portion().size).toBe(200)
  answers.begin(10 * 60_000)
  expect(portion().size).toBe(400)
  for (let times = 0; times < 20; times++) portion().failed(lost, portion().size, 0)
  expect(portion().size).toBe(6)
})

test('the size of a response does not change if an idle connection is lost', () => {
  const answers = new ResponseSizeLimit()
  const portion = new AdaptivePageSize(1_000, answers)
  for (let times = 0; times < 10; times++) portion.arrived(portion.size, portion.size * 10_000)
  portion.arrived(0, 0)
  const lost = unavailable('127.0.0.1:6379 closed the connection')
  expect(portion.failed(lost, 400, 0)).toBe(lost)
  expect(answers.bytes).toBe(4 * 1024 * 1024)
})
