import { expect, test } from 'vitest'
import {
  ChangeDetector,
  decodeRecord,
  encodeBody,
  LeaseViews,
  RewindDetector,
} from '../../../../adapters/common/lease-records.js'

const body = encodeBody({ member: 'a', renewal: 1, members: [], holds: [] })

/** The age of the record of `a` in a view. `at`: when the request was sent; its reply arrives 10 ms later. */
function ageIn(views: LeaseViews, at: number, renewal: number, ageMs?: number): number | undefined {
  const stored = ageMs === undefined ? { member: 'a', renewal, body } : { member: 'a', renewal, body, ageMs }
  const reading = { sentAt: at, arrivedAt: at + 10 }
  return views.view({ fence: at + 1, epoch: 'e', records: [stored] }, reading).records[0]?.ageMs
}

test('without a clock of the store, the age of a record is the time since this process has seen it', () => {
  const views = new LeaseViews('leases')
  expect([ageIn(views, 1_000, 1), ageIn(views, 1_500, 1), ageIn(views, 2_000, 2)]).toEqual([0, 490, 0])
})

test('a clock of the store that is set forward does not make a record older than the last view without it', () => {
  const views = new LeaseViews('leases')
  expect(ageIn(views, 1_000, 1, 5_000)).toBe(5_000) // The first view: nothing is known of the record.
  expect(ageIn(views, 1_500, 2, 60_000)).toBe(510)
})

test('a clock of the store that is set back does not make a record younger than it was seen', () => {
  const views = new LeaseViews('leases')
  ageIn(views, 1_000, 1, 0)
  expect(ageIn(views, 9_000, 1, -3_600_000)).toBe(7_990)
})

test('a fence that is not a safe integer is PROTOCOL', () => {
  const views = new LeaseViews('leases')
  const view = { fence: 2 ** 53, epoch: 'e', records: [] }
  expect(() => views.view(view, { sentAt: 0, arrivedAt: 0 })).toThrow(expect.objectContaining({ code: 'PROTOCOL' }))
})

test.each([
  ['no JSON', { renewal: 1, body: '{' }],
  ['other fields', { renewal: 1, body: '{"members":[1],"holds":[]}' }],
  ['no members', { renewal: 1, body: '{"claims":["m1"],"holds":[]}' }],
  ['no holds', { renewal: 1, body: '{"members":[]}' }],
  ['text instead of members', { renewal: 1, body: '{"members":"m1","holds":[]}' }],
  ['a body that is not an object', { renewal: 1, body: 'null' }],
  ['no renewal', { renewal: Number.NaN, body }],
])('a record with %s is PROTOCOL, and names the member', (_what, stored) => {
  const decode = (): unknown => decodeRecord({ member: 'm1', ...stored }, 'x leases "g"')
  expect(decode).toThrow(expect.objectContaining({ code: 'PROTOCOL' }))
  expect(decode).toThrow('the record of member m1 of x leases "g" is not readable')
})

test('the epoch changes when a position of the store is behind what it has been, and when a write is lost', () => {
  const rewinds = new RewindDetector()
  rewinds.observe(5, 2)
  rewinds.observe(9, 2)
  expect(rewinds.epoch('c')).toBe('c')
  rewinds.observe(10, 1)
  expect(rewinds.epoch('c')).toBe('c.1')
  rewinds.observe(9, 1)
  rewinds.lostWrite()
  expect(rewinds.epoch('c')).toBe('c.3')
})

test('only a body that differs is a change', () => {
  const changes = new ChangeDetector()
  expect([changes.written('a', 'x'), changes.written('a', 'x'), changes.written('a', 'y')]).toEqual([true, false, true])
  changes.removed('a')
  expect(changes.written('a', 'y')).toBe(true)
})
