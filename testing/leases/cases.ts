import { systemClock } from '../../src/contract/clock.js'
import { check, eventually } from '../conformance/run/assertions.js'
import { defineTests } from '../conformance/vitest-suite.js'
import { LeasesContext, namesIn, recordOf, type TestMember } from './case-context.js'
import type { LeasesHarness } from './harness.js'

/**
 * One promise of the contract of lease stores, with its check.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisLeases } from 'listwatch/redis'
 * import { leasesCases } from 'listwatch/testing'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * for (const { name, run } of leasesCases) {
 *   await run({ create: (group) => redisLeases({ client, group }), timeoutMs: 1_000 })
 *   console.log(name)
 * }
 * ```
 */
export interface LeasesCase {
  /** The promise as a sentence. */
  readonly name: string
  /** Whether the case needs `watch`. */
  readonly needsHints: boolean
  /** Checks a store. Rejects with a description if the store violates the contract. */
  run(harness: LeasesHarness): Promise<void>
}

function leasesCase(name: string, body: (context: LeasesContext) => Promise<void>, needsHints = false): LeasesCase {
  const run = async (harness: LeasesHarness): Promise<void> => {
    await using context = new LeasesContext(harness)
    await body(context)
  }
  return { name, needsHints, run }
}

/** A case that needs `watch`. */
function hintCase(name: string, body: (context: LeasesContext) => Promise<void>): LeasesCase {
  return leasesCase(name, body, true)
}

/** Enough to meet both orders of two requests that overlap. */
const ROUNDS = 40
/** Longer than a request takes, and so visible in an age, in milliseconds. */
const PAUSE_MS = 400
/** Keys that a store must neither change nor refuse. */
const STRANGE = [
  '',
  ' ',
  "'",
  '"',
  '\\',
  '\\u0000',
  '\0',
  '\n\r\t',
  '{}',
  'a/b c%20',
  'ü€😀',
  '\ud800',
  '\u2028',
  '$1',
  '*',
]

const hints: readonly LeasesCase[] = (
  ['changes what it claims', 'changes what it holds', 'joins', 'leaves', 'is evicted'] as const
).map((what) =>
  hintCase(`watch calls its listener after another member ${what}`, async (context) => {
    const [a, b, c] = [await context.joined(), await context.joined(), await context.member()]
    const signal = new AbortController()
    let calls = 0
    const released: (string | undefined)[] = []
    try {
      a.session.watch?.((each) => {
        calls++
        released.push(each)
      }, signal.signal)
      // A listener is not called for changes before the watch was open, so the member changes until a call arrives.
      let renewal = 1
      const isOpen = async (): Promise<boolean> => {
        await b.renew(renewal, { holds: [String(renewal++)] })
        await systemClock.sleep(20)
        return calls > 0
      }
      await eventually(context.timeoutMs, 'the watch is open', isOpen)
      await systemClock.sleep(PAUSE_MS)
      const before = calls
      if (what === 'changes what it claims') await b.renew(renewal, { members: [b.name] })
      else if (what === 'changes what it holds') await b.renew(renewal, { holds: ['other'] })
      else if (what === 'joins') await c.renew(0)
      else if (what === 'leaves') await b.session.leave(b.name)
      else await (await context.joined()).renew(1, { evict: [{ member: b.name, renewal: renewal - 1 }] })
      await eventually(context.timeoutMs, 'the listener is called', () => calls > before)
      if (what === 'changes what it claims')
        check(!released.slice(before).includes(b.name), 'the listener is told that it released its keys')
    } finally {
      signal.abort()
    }
  }),
)

/**
 * All cases of `leasesConformance`, for test runners other than vitest.
 *
 * @example
 * ```ts
 * import { test } from 'node:test'
 * import { type LeasesHarness, leasesCases } from 'listwatch/testing'
 *
 * function testLeases(harness: LeasesHarness): void {
 *   for (const { name, run } of leasesCases) test(name, () => run(harness))
 * }
 * ```
 */
export const leasesCases: readonly LeasesCase[] = [
  leasesCase('the first renewal creates the record, and its view has it', async (context) => {
    const a = await context.member()
    const view = await a.renew(0)
    const [record, ...others] = view.records
    check(others.length === 0, `a new group has other records: ${namesIn(view)}`)
    check(record?.member === a.name && record.renewal === 0, `the view has ${JSON.stringify(record)}`)
  }),
  leasesCase('renewal 0 is refused if the record exists', async (context) => {
    const a = await context.joined()
    await a.refused('a repeated renewal 0', 0)
    await a.renew(1)
    await a.refused('a late renewal 0', 0)
  }),
  leasesCase('a later renewal is refused if the record does not exist, and writes nothing', async (context) => {
    const [a, b] = [await context.member(), await context.joined()]
    await a.refused('renewal 1 of a missing record', 1)
    const view = await b.renew(1)
    check(recordOf(view, a) === undefined, 'a refused renewal wrote a record')
  }),
  leasesCase('a repeated or lower renewal is refused, and changes nothing', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    await a.renew(3, { holds: ['now'] })
    await a.refused('a repeated renewal', 3, { holds: ['late'] })
    await a.refused('a lower renewal', 2, { holds: ['late'] })
    const found = recordOf(await b.renew(1), a)
    check(found?.renewal === 3 && found.holds.join() === 'now', `the record became ${JSON.stringify(found)}`)
    await a.renew(4)
  }),
  leasesCase('renewals are compared as numbers, and may leave numbers out', async (context) => {
    const a = await context.joined()
    for (const renewal of [2, 9, 10, 99, 1_000, 2 ** 40]) await a.renew(renewal)
    await a.refused('a renewal that is lower only as a number', 9)
  }),
  leasesCase('a view has all fields of the records of other members', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    await a.renew(1, { members: [a.name, b.name], holds: ['x', 'y'], mode: 'leader', leaseMs: 7_000 })
    const found = recordOf(await b.renew(1, { members: [b.name] }), a)
    const fields = [found?.renewal, found?.members, found?.holds, found?.mode, found?.leaseMs]
    const expected = [1, [a.name, b.name], ['x', 'y'], 'leader', 7_000]
    check(JSON.stringify(fields) === JSON.stringify(expected), JSON.stringify(found))
  }),
  leasesCase('of two renewals at the same time, at least one sees the other', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    for (let round = 1; round <= ROUNDS; round++) {
      const [ofA, ofB] = await Promise.all([a.renew(round), b.renew(round)])
      const isSeen = recordOf(ofA, b)?.renewal === round || recordOf(ofB, a)?.renewal === round
      check(isSeen, `in round ${round} neither view has the record that the other request wrote`)
      const isOwn = recordOf(ofA, a)?.renewal === round && recordOf(ofB, b)?.renewal === round
      check(isOwn, `in round ${round} a view lacks the record that its own request wrote`)
    }
  }),
  leasesCase('strange characters in keys come back unchanged', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    await a.renew(1, { holds: STRANGE })
    const found = recordOf(await b.renew(1), a)
    check(JSON.stringify(found?.holds) === JSON.stringify(STRANGE), `they came back as ${JSON.stringify(found?.holds)}`)
  }),
  leasesCase('a group may have 50 members', async (context) => {
    const members = await Promise.all(Array.from({ length: 50 }, () => context.member()))
    for (const member of members) await member.renew(0)
    const all = members.map(({ name }) => name)
    const [first] = members
    const view = await first?.renew(1, { members: all })
    check(view !== undefined && namesIn(view) === [...all].sort().join(' '), 'the view lacks members')
  }),
  leasesCase('two groups do not see each other', async (context) => {
    const a = await context.joined()
    const others = [await context.leases('2'), await context.leases('/2')]
    for (const leases of others) {
      const other = await context.member(leases)
      check(namesIn(await other.renew(0)) === other.name, 'a view has a member of another group')
    }
    check(namesIn(await a.renew(1)) === a.name, 'a view has a member of another group')
  }),
  leasesCase('an eviction removes a record with this renewal, before the view is read', async (context) => {
    const [a, b, c] = [await context.joined(), await context.joined(), await context.joined()]
    await b.renew(1)
    const evict = [b, c].map((member, at) => ({ member: member.name, renewal: 1 - at }))
    const view = await a.renew(1, { evict })
    check(namesIn(view) === a.name, `the view has ${namesIn(view)}`)
    await b.refused('a renewal after an eviction', 2)
  }),
  leasesCase('an eviction leaves a record with another renewal, and ignores a missing one', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    const gone = await context.member()
    await b.renew(10)
    for (const [at, renewal] of [0, 1, 9, 11, 100].entries()) {
      const evict = [b, gone].map((member) => ({ member: member.name, renewal }))
      check(recordOf(await a.renew(at + 1, { evict }), b) !== undefined, `an eviction of ${renewal} removed renewal 10`)
    }
    await b.renew(11)
  }),
  leasesCase('an eviction of the member itself has no effect', async (context) => {
    const a = await context.joined()
    const view = await a.renew(1, { evict: [{ member: a.name, renewal: 0 }] })
    check(recordOf(view, a)?.renewal === 1, 'the record is gone')
    await a.renew(2)
  }),
  leasesCase('a refused renewal evicts no record', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    await a.refused('a repeated renewal', 0, { evict: [{ member: b.name, renewal: 0 }] })
    await b.renew(1)
  }),
  leasesCase('leave removes the record, and does not fail without one', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    await a.session.leave(a.name)
    check(namesIn(await b.renew(1)) === b.name, 'the record is still there')
    await a.refused('a renewal after leave', 1)
    await a.session.leave(a.name)
  }),
  leasesCase('a fence is greater than those of all requests that ended before', async (context) => {
    const members = await Promise.all(Array.from({ length: 4 }, () => context.joined()))
    let greatest = 0
    const run = async (member: TestMember): Promise<void> => {
      for (let renewal = 1; renewal <= ROUNDS / 2; renewal++) {
        const before = greatest
        const { fence } = await member.renew(renewal)
        check(fence > before, `the fence ${fence} follows ${before}`)
        greatest = Math.max(greatest, fence)
      }
    }
    await Promise.all(members.map(run))
    const { fence } = await (await context.member()).renew(0)
    check(fence > greatest, `a new member has the fence ${fence}, after ${greatest}`)
  }),
  leasesCase('a fence grows also after all members have left', async (context) => {
    const a = await context.member()
    const { fence } = await a.renew(0)
    await a.session.leave(a.name)
    const b = await context.member()
    const { fence: next } = await b.renew(0)
    check(next > fence, `the fence ${next} follows ${fence}`)
  }),
  leasesCase('the epoch stays the same, for all members', async (context) => {
    const [a, b] = [await context.member(), await context.member()]
    const epochs = [await a.renew(0), await b.renew(0), await a.renew(1), await b.renew(1)].map(({ epoch }) => epoch)
    check(new Set(epochs).size === 1, `the views have the epochs ${epochs.join(', ')}`)
  }),
  leasesCase('an age is never more than the time since the record was written', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    for (let renewal = 1; renewal < 4; renewal++) {
      const since = systemClock.now()
      await a.renew(renewal)
      await systemClock.sleep(PAUSE_MS / 4)
      const found = recordOf(await b.renew(renewal), a)
      const most = systemClock.now() - since
      check(found !== undefined && found.ageMs <= most, `the age is ${found?.ageMs} ms after ${most} ms`)
    }
  }),
  leasesCase('an age grows while the record is not renewed', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    await b.renew(1)
    await systemClock.sleep(PAUSE_MS)
    const found = recordOf(await b.renew(2), a)
    check(found !== undefined && found.ageMs >= PAUSE_MS * 0.75, `after ${PAUSE_MS} ms the age is ${found?.ageMs} ms`)
    await a.renew(1)
    const renewed = recordOf(await b.renew(3), a)
    check(renewed !== undefined && renewed.ageMs < found.ageMs, `after a renewal the age is ${renewed?.ageMs} ms`)
  }),
  ...hints,
  hintCase('after its signal has aborted, watch calls its listener no more', async (context) => {
    const [a, b] = [await context.joined(), await context.joined()]
    const signal = new AbortController()
    let calls = 0
    a.session.watch?.(() => calls++, signal.signal)
    await systemClock.sleep(PAUSE_MS)
    signal.abort()
    const before = calls
    await b.renew(1, { holds: ['x'] })
    await systemClock.sleep(PAUSE_MS)
    check(calls === before, 'the listener was called')
  }),
  leasesCase('a renewal whose signal has aborted rejects, and later ones succeed', async (context) => {
    const a = await context.joined()
    const signal = new AbortController()
    // The first one may have ended when its signal aborts.
    const first = a.renew(1, { signal: signal.signal })
    signal.abort(new Error('no longer wanted'))
    await first.catch(() => {})
    const outcome = await a.renew(2, { signal: signal.signal }).then(
      () => 'it succeeded',
      () => undefined,
    )
    check(outcome === undefined, `${outcome}, although its signal had aborted`)
    const view = await a.renew(3)
    check(recordOf(view, a)?.renewal === 3, 'the next renewal was lost')
  }),
  leasesCase('two sessions of one store are two members', async (context) => {
    const leases = await context.leases()
    const [a, b] = [await context.joined(leases), await context.joined(leases)]
    await a.session.close()
    const view = await b.renew(1)
    check(recordOf(view, a) !== undefined, 'close removed the record: only leave may')
  }),
]

/**
 * Defines vitest tests that a lease store keeps the contract of `Leases`, one for each case.
 * @throws Error if vitest is not installed.
 *
 * @example
 * ```ts
 * import type { Leases } from 'listwatch/adapter'
 * import { leasesConformance } from 'listwatch/testing'
 *
 * declare function myLeases(options: { group: string }): Leases
 *
 * // At the top of a test file, or in an async `describe`.
 * await leasesConformance('my store', { create: (group) => myLeases({ group }) })
 * ```
 */
export async function leasesConformance(name: string, harness: LeasesHarness): Promise<void> {
  const tests = leasesCases.map((each) => ({
    name: each.name,
    run: async () => {
      if (each.needsHints && harness.withoutHints !== undefined) return harness.withoutHints
      await each.run(harness)
      return undefined
    },
  }))
  await defineTests('leasesConformance', name, tests)
}
