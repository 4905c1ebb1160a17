import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  containsGtid,
  containsSet,
  formatGtidSet,
  type GtidSet,
  parseGtidSet,
  subtract,
  union,
  withGtid,
  withoutGtid,
} from '../../adapters/mysql/gtid.js'
import { runs } from '../support/property.js'

const uuids = ['11111111-2222-3333-4444-555555555555', '01111111-2222-3333-4444-555555555555']
const origins = uuids.flatMap((uuid) => [uuid, `${uuid}:a_tag`, `${uuid}:b`])
const gtids = fc.record({ origin: fc.constantFrom(...origins), number: fc.integer({ min: 1, max: 12 }) })

/** A set of texts of transactions, and the same as the server writes it, in any order and with overlapping intervals. */
const sets = fc.array(gtids, { maxLength: 30 }).map((members) => {
  const text = members.map(({ origin, number }) => `${origin.toUpperCase()}:${number}`).join(', \n')
  return { set: parseGtidSet(text) ?? expect.unreachable(text), model: new Set(members.map(nameOf)) }
})

function nameOf({ origin, number }: { readonly origin: string; readonly number: number }): string {
  return `${origin}:${number}`
}

function membersOf(set: GtidSet): Set<string> {
  const all = [...set].flatMap(([origin, intervals]) =>
    intervals.flatMap(({ first, last }) =>
      Array.from({ length: last - first + 1 }, (_, index) => nameOf({ origin, number: first + index })),
    ),
  )
  expect(new Set(all).size).toBe(all.length)
  expect(parseGtidSet(formatGtidSet(set))).toEqual(new Map([...set].filter(([, intervals]) => intervals.length > 0)))
  return new Set(all)
}

function both(set: Set<string>, other: Iterable<string>): Set<string> {
  return new Set([...set, ...other])
}

function without(set: Set<string>, other: Set<string>): Set<string> {
  return new Set([...set].filter((each) => !other.has(each)))
}

test('sets of GTIDs behave as sets of transactions', () => {
  fc.assert(
    fc.property(sets, sets, gtids, (one, other, gtid) => {
      expect(membersOf(one.set)).toEqual(one.model)
      expect(membersOf(union(one.set, other.set))).toEqual(both(one.model, other.model))
      expect(membersOf(subtract(one.set, other.set))).toEqual(without(one.model, other.model))
      expect(membersOf(withGtid(one.set, gtid))).toEqual(both(one.model, [nameOf(gtid)]))
      expect(membersOf(withoutGtid(one.set, gtid))).toEqual(without(one.model, new Set([nameOf(gtid)])))
      expect(containsGtid(one.set, gtid)).toBe(one.model.has(nameOf(gtid)))
      expect(containsSet(one.set, other.set)).toBe(without(other.model, one.model).size === 0)
    }),
    runs(500),
  )
})
