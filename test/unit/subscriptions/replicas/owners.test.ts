import { expect, test } from 'vitest'
import { hashOf, Owners } from '../../../../src/subscriptions/replicas/owners.js'
import { SeededRandom } from '../../../../testing/seeded-random.js'

const KEYS = Array.from({ length: 100_000 }, (_, nth) => hashOf(`default/order-${nth}`))

function membersOf(count: number, seed = 1): string[] {
  const random = new SeededRandom(seed)
  return Array.from({ length: count }, () => Array.from({ length: 12 }, () => random.below(36).toString(36)).join(''))
}

test.each([3, 5, 10, 25, 50])('[L11] of %i members each owns its share of 100 000 keys, within 10 %%', (count) => {
  const members = membersOf(count)
  const owners = new Owners('share', members)
  const share = KEYS.length / count
  for (const member of members) {
    const owned = KEYS.reduce((sum, hash) => sum + (owners.owns(member, hash) ? 1 : 0), 0)
    expect(Math.abs(owned - share) / share, `${owned} of ${share}`).toBeLessThan(0.1)
  }
})

test('every key has one owner, in any order of the members, and none that is not in their list', () => {
  const members = membersOf(7)
  const [owners, reversed] = [new Owners('share', members), new Owners('share', members.toReversed())]
  for (const hash of KEYS.slice(0, 2_000)) {
    const named = members.filter((member) => owners.owns(member, hash))
    expect(named).toHaveLength(1)
    expect(members.filter((member) => reversed.owns(member, hash))).toEqual(named)
  }
  expect([owners.owns('b', hashOf('1')), new Owners('leader', []).owns('b', hashOf('1'))]).toEqual([false, false])
})

test('[L11] a member that joins takes keys for itself, and moves no other key', () => {
  const [joined = '', ...members] = membersOf(6)
  const [before, after] = [new Owners('share', members), new Owners('share', [...members, joined])]
  for (const hash of KEYS.slice(0, 2_000))
    for (const member of members) {
      if (after.owns(member, hash)) expect(before.owns(member, hash)).toBe(true)
      else if (before.owns(member, hash)) expect(after.owns(joined, hash)).toBe(true)
    }
})

test('the hash of a key is the same in every version', () => {
  expect(['', 'a', 'default/order-1', 'ключ', '🔑'].map(hashOf)).toEqual([
    2_872_998_923, 444_641_715, 3_977_862_290, 3_185_335_672, 2_885_806_860,
  ])
})
