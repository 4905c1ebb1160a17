import { beforeEach, describe, expect, test } from 'vitest'
import { LeaseTable } from '../../../../adapters/memory/lease-table.js'
import { LeaseLostError, type LeaseRecord, type LeaseView } from '../../../../src/contract/leases.js'
import {
  type LeaseRequest,
  Membership,
  type MembershipOptions,
  type Step,
} from '../../../../src/subscriptions/replicas/membership.js'
import { hashOf, Owners } from '../../../../src/subscriptions/replicas/owners.js'
import { SeededRandom } from '../../../../testing/seeded-random.js'

const LEASE_MS = 10_000
const KEYS = Array.from({ length: 40 }, (_, nth) => `key-${nth}`)

let now = 0
let table = new LeaseTable()

beforeEach(() => {
  now = 0
  table = new LeaseTable()
})

/** A membership whose requests are performed by hand, or at once. */
class Member {
  readonly membership: Membership
  /** The messages of refused requests. */
  readonly flaws: string[] = []

  constructor(seed: number, { mode = 'share', leaseMs = LEASE_MS }: Partial<MembershipOptions> = {}) {
    const random = new SeededRandom(seed)
    this.membership = new Membership({ mode, leaseMs, renewMs: leaseMs / 5, random })
    this.membership.ready()
  }

  get at(): { readonly now: number; readonly wall: number } {
    return { now, wall: now }
  }

  step(): Step {
    return this.membership.step(this.at)
  }

  request(): LeaseRequest {
    const { send } = this.step()
    if (send === undefined) throw new Error('no request is due')
    return send
  }

  perform({ record, evict }: LeaseRequest): LeaseView {
    return table.renew(record, evict, now).view
  }

  /** Sends what is due, until nothing is. */
  pump(): void {
    for (let { send } = this.step(); send !== undefined; { send } = this.step()) {
      try {
        this.membership.replied(send, this.perform(send), this.at)
      } catch (error) {
        this.flaws.push(String(error))
        this.membership.failed(send, this.at, error)
      }
    }
  }

  runs(): string[] {
    return KEYS.filter((key) => this.membership.mayRun(key, this.at))
  }
}

/** Lets time pass, in steps, while these members renew. */
function pass(ms: number, ...members: readonly Member[]): void {
  for (const end = now + ms; now < end; ) {
    now += 100
    for (const member of members) member.pump()
  }
}

/** Members that own all keys together. */
function joined(count: number): Member[] {
  const members = Array.from({ length: count }, (_, nth) => new Member(nth + 1))
  pass(20_000, ...members)
  expect(members.flatMap((member) => member.runs()).sort()).toEqual([...KEYS].sort())
  return members
}

function recordOf(member: Member): LeaseRecord | undefined {
  return table.records.find(({ member: name }) => name === member.membership.member)
}

test('[L7] a new member claims nothing until no earlier lease can be valid', () => {
  const member = new Member(1)
  member.pump()
  pass(8_400, member)
  expect([recordOf(member)?.members, member.runs()]).toEqual([[], []])
  pass(200, member)
  expect(member.runs()).toEqual(KEYS)
})

test('a join that failed although its record was written leaves no record after the next one', () => {
  const member = new Member(1)
  for (let joins = 0; joins < 3; joins++, now += 3_000) {
    const request = member.request()
    expect(member.perform(request).records).toHaveLength(1)
    member.membership.failed(request, member.at, new Error('another record is not readable'))
  }
})

test('a member that is not ready claims nothing', () => {
  const member = new Membership({ mode: 'share', leaseMs: 10, renewMs: 2, random: new SeededRandom(1) })
  for (now = 0; now < 100; now++) {
    const { send } = member.step({ now, wall: now })
    if (send === undefined) continue
    expect(send.record.members).toEqual([])
    member.replied(send, table.renew(send.record, send.evict, now).view, { now, wall: now })
  }
  expect(member.fence).toBeGreaterThan(10)
})

test('[L2] no run of a key begins after its loss was sent', () => {
  const [first] = joined(1) as [Member]
  // It computes its keys with a member that the first does not know, so it claims few of those that the first loses.
  for (const [renewal, members] of [[], ['b', 'd']].entries())
    table.renew({ member: 'b', renewal, members, holds: [] }, [], now)
  now += 2_000
  const seen = first.request()
  first.membership.replied(seen, first.perform(seen), first.at)
  const before = first.runs()
  const { record } = first.request()
  expect(record.members).toHaveLength(2)
  const owners = new Owners('share', record.members)
  expect(first.runs()).toEqual(before.filter((key) => owners.owns(record.member, hashOf(key))))
  expect(first.runs().length).toBeLessThan(before.length)
})

test('[L10] a member that leaves claims no key, and holds what it runs, until all runs of the key have settled', () => {
  const [first] = joined(1) as [Member]
  const { membership } = first
  membership.begin('key-0')
  expect(membership.end('key-0'), 'the end of a run that is not published asks for a step').toBe(false)
  // A run that timed out, and its retry.
  for (let run = 0; run < 2; run++) membership.begin('key-1')
  membership.end('key-1')
  membership.leave()
  first.pump()
  expect(recordOf(first)).toMatchObject({ members: [], holds: ['key-1'] })
  expect([membership.hasLeft, membership.end('key-1')]).toEqual([false, true])
  expect(first.step()).toMatchObject({ leave: membership.member, wakeAt: Infinity })
  expect(membership.hasLeft).toBe(true)
})

test.each([false, true])(
  '[L10] with a hint of a released member, others claim its keys with the next request; during a request: %s',
  (isDuring) => {
    const [first, second] = joined(2) as [Member, Member]
    now += isDuring ? 2_000 : 100
    const early = isDuring ? first.request() : undefined
    const view = early && first.perform(early)
    table.leave(second.membership.member)
    first.membership.hinted(second.membership.member)
    if (early && view) first.membership.replied(early, view, first.at)
    const request = first.request()
    expect(request.record.members).toEqual([first.membership.member])
    first.membership.replied(request, first.perform(request), first.at)
    expect(first.runs()).toEqual(KEYS)
    expect(first.step().send).toBeUndefined()
  },
)

test('[L5] a lease ends 70 % after its renewal was sent, by the monotonic clock and by the wall clock', () => {
  const [first] = joined(1) as [Member]
  now += 2_000
  const request = first.request()
  const sent = now
  now += 3_000
  first.membership.replied(request, first.perform(request), first.at)
  expect(first.membership.leaseEndsInMs({ now: sent + 6_999, wall: sent })).toBe(1)
  expect(first.membership.mayRun('key-1', { now: sent + 7_000, wall: sent })).toBe(false)
  expect(first.membership.mayRun('key-1', { now: sent, wall: sent + 7_000 })).toBe(false)
  expect(first.membership.mayRun('key-1', { now: sent, wall: sent - 90_000 })).toBe(true)
  const { member } = first.membership
  expect(first.membership.step({ now: sent, wall: sent + 7_000 }).isLost).toBe(true)
  expect(first.membership.member).not.toBe(member)
  expect(first.membership.member).toMatch(/^[a-z0-9]{12}$/)
})

test('with a lease, the clocks are read 20 times in it, and at its end by the wall clock', () => {
  const [first] = joined(1) as [Member]
  expect(first.step().wakeAt - now).toBe(500)
  // The machine slept: the monotonic clock did not move.
  const wall = now + first.membership.leaseEndsInMs(first.at) - 20
  expect(first.membership.step({ now, wall }).wakeAt - now).toBe(20)
})

test('[L8] the record of a lost membership is removed only when its runs have settled', () => {
  const [first] = joined(1) as [Member]
  const former = first.membership.member
  const names = (): string[] => table.records.map(({ member }) => member)
  first.membership.begin('key-0')
  now += 7_100
  pass(1_000, first)
  expect(names()).toEqual([former, first.membership.member])
  first.membership.end('key-0')
  pass(1_000, first)
  expect(names()).toEqual([first.membership.member])
})

test('[L7] a member whose record is missing stops and joins again', () => {
  const [first] = joined(1) as [Member]
  const { member } = first.membership
  table.leave(member)
  now += 2_000
  const request = first.request()
  expect(() => first.perform(request)).toThrow(LeaseLostError)
  expect([first.membership.failed(request, first.at, new LeaseLostError('gone')), first.runs()]).toEqual([true, []])
  pass(LEASE_MS, first)
  expect(first.runs()).toEqual(KEYS)
  expect(first.membership.member).not.toBe(member)
})

test('[L7] after all records were removed, no member claims keys as long as another may have a lease', () => {
  const [first, second] = joined(2) as [Member, Member]
  for (const { membership } of [first, second]) table.leave(membership.member)
  const kept = second.runs()
  for (const end = now + 6_000; now < end; ) {
    pass(100, first) // The second one cannot send.
    expect(second.runs().filter((key) => first.runs().includes(key))).toEqual([])
  }
  expect(kept.length).toBeGreaterThan(0)
  pass(2 * LEASE_MS, first, second)
  expect([...first.runs(), ...second.runs()].sort()).toEqual([...KEYS].sort())
})

test('[L13] a store whose fence does not grow, that shows an old state, or that was restored, is refused', () => {
  const [first] = joined(1) as [Member]
  const refused = (change: Partial<LeaseView>, message = ''): void => {
    now += 2_500
    const request = first.request()
    const view = { ...first.perform(request), ...change }
    expect(() => first.membership.replied(request, view, first.at)).toThrow(
      expect.objectContaining({ code: 'PROTOCOL', message: expect.stringMatching(message) }),
    )
  }
  refused({ fence: first.membership.fence })
  refused({ fence: 2 ** 60 })
  refused({ records: [] })
  const restored = 'the fence 1 is not greater .* \\d+, because the store was restored .* restart all replicas'
  refused({ fence: 1, epoch: 'restored' }, restored)
})

test('[L12] a failed request is repeated with a growing delay, at most the time between renewals', () => {
  const [first] = joined(1) as [Member]
  now += 2_000
  const delays: number[] = []
  for (let request: LeaseRequest | undefined = first.request(); request !== undefined; ) {
    const since = now
    first.membership.failed(request, first.at, new Error('away'))
    for (request = undefined; request === undefined && first.membership.leaseEndsInMs(first.at) > 1; now++)
      request = first.step().send
    delays.push(now - since)
  }
  expect(delays[0]).toBeLessThanOrEqual(100)
  expect(Math.max(...delays)).toBeLessThanOrEqual(2_000)
  expect(delays.length).toBeGreaterThan(4)
})

describe.each<[string, Partial<MembershipOptions>]>([
  ['another mode', { mode: 'leader' }],
  ['a longer lease', { leaseMs: 6 * LEASE_MS }],
  ['a shorter lease', { leaseMs: LEASE_MS / 6 }],
])('members with %s, as in a rolling upgrade', (_what, options) => {
  test('[L14] run no key until the others have left', () => {
    const old = joined(2) as [Member, Member]
    const next = [new Member(7, options), new Member(8, options)] as const
    for (let at = 0; at < 30; at++) {
      pass(4_000, ...old, ...next)
      expect(old.flatMap((member) => member.runs()).sort()).toEqual([...KEYS].sort())
      expect(next.flatMap((member) => member.runs())).toEqual([])
    }
    expect(old.flatMap(({ flaws }) => flaws)).toEqual([])
    expect(next[0].flaws[0]).toMatch(
      /member \w{12} has mode "share" and leaseMs 10000, and this replica mode ".*all replicas need the same/,
    )
    for (const member of old) {
      member.membership.leave()
      table.leave(member.step().leave ?? '')
    }
    pass(120_000, ...next)
    expect(next.flatMap((member) => member.runs()).sort()).toEqual([...KEYS].sort())
  })

  test('[L14] run no key until the leases of the others have expired', () => {
    const [old] = joined(1) as [Member]
    const next = new Member(7, options)
    pass(120_000, old, next)
    const crashedAt = now
    while (next.runs().length === 0) {
      pass(100, next)
      expect(old.runs().length * next.runs().length).toBe(0)
    }
    expect(now - crashedAt).toBeGreaterThan(0.7 * LEASE_MS)
    expect(next.runs()).toEqual(KEYS)
  })

  test('[L14] never run a key at the same time if all begin at once', () => {
    const members = [new Member(5), new Member(6), new Member(7, options), new Member(8, options)] as const
    let runs: readonly string[] = []
    for (let at = 0; at < 3_000; at++) {
      now += 100
      for (const member of members) {
        member.pump()
        runs = members.flatMap((each) => each.runs())
        expect(new Set(runs).size).toBe(runs.length)
      }
    }
    expect([...runs].sort()).toEqual([...KEYS].sort())
  })
})
