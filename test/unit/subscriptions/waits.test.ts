import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { checkVersionWait, VersionWaiters } from '../../../src/subscriptions/version-waiters.js'
import { checkWait, type Settle, withDeadline } from '../../../src/util/deadline.js'
import { Latch } from '../../../src/util/latch.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { outcomeOf } from '../../support/informers.js'
import { numbered } from '../../support/scripted-source.js'

function ends(): { settle: Settle<void>; outcomes: unknown[] } {
  const outcomes: unknown[] = []
  return {
    outcomes,
    settle: { resolve: () => outcomes.push('resolved'), reject: (reason) => outcomes.push(reason) },
  }
}

describe('withDeadline', () => {
  test('withDeadline rejects with TIMEOUT after timeoutMs, with the name of the wait', async () => {
    const clock = new VirtualClock()
    const wait = withDeadline('synced of x', { timeoutMs: 100 }, clock, () => () => {})
    await clock.advance(99)
    expect(await outcomeOf(wait, clock)).toBe('pending')
    const late = expect(wait).rejects.toMatchObject({ code: 'TIMEOUT', message: 'synced of x: not within 100 ms' })
    await clock.advance(1)
    await late
  })

  test('withDeadline with an aborted signal rejects before the registration', async () => {
    let isRegistered = false
    const wait = withDeadline('it', { signal: AbortSignal.abort('before') }, new VirtualClock(), () => {
      isRegistered = true
      return () => {}
    })
    await expect(wait).rejects.toBe('before')
    expect(isRegistered).toBe(false)
  })

  test.each([
    ['resolve', 'resolved'],
    ['reject', { rejected: 'no' }],
    ['abort', { rejected: 'enough' }],
    ['timeout', { rejected: { code: 'TIMEOUT' } }],
    ['at once', 'resolved'],
  ] as const)('withDeadline leaves no timer, listener or registration behind: %s', async (how, outcome) => {
    const clock = new VirtualClock()
    const control = new AbortController()
    let registered = 0
    let settle: Settle<void> | undefined
    const wait = withDeadline<void>('it', { signal: control.signal, timeoutMs: 100 }, clock, (ends) => {
      registered++
      settle = ends
      if (how === 'at once') ends.resolve()
      return () => {
        registered--
      }
    })
    wait.catch(() => {})
    if (how === 'resolve') settle?.resolve()
    if (how === 'reject') settle?.reject('no')
    if (how === 'abort') control.abort('enough')
    if (how === 'timeout') await clock.advance(100)
    // Only the first outcome counts.
    settle?.reject('second')
    const ended = await outcomeOf(wait, clock)
    if (outcome === 'resolved') expect(ended).toBe(outcome)
    else expect(ended).toMatchObject(outcome)
    expect([clock.sleeping, getEventListeners(control.signal, 'abort').length, registered]).toEqual([0, 0, 0])
  })
})

test('a latch resolves its waiters when it opens, and later ones at once, but none that has left or was rejected', () => {
  const gate = new Latch()
  const [rejected, waiting, left, late] = [ends(), ends(), ends(), ends()]
  const leave = gate.enter(rejected.settle)
  gate.rejectAll('failed')
  leave()
  expect(gate.isOpen).toBe(false)
  gate.enter(waiting.settle)
  gate.enter(left.settle)()
  expect(waiting.outcomes).toEqual([])
  gate.open()
  gate.enter(late.settle)
  expect([rejected, waiting, left, late].map(({ outcomes }) => outcomes)).toEqual([
    ['failed'],
    ['resolved'],
    [],
    ['resolved'],
  ])
})

describe('version waiters', () => {
  const changed = expect.objectContaining({ code: 'EPOCH_CHANGED' })

  test.each<[string, mark: string, at: string | undefined, checks: string[], unknown]>([
    ['resolve with the first version that includes the mark', '5', '3', ['4', '6'], 'resolved'],
    ['resolve at once if the current version includes the mark', '5', '5', [], 'resolved'],
    ['wait if there is no version yet', '5', undefined, ['5'], 'resolved'],
    ['reject at once for a mark of another epoch', 'b5', 'a7', [], changed],
    ['reject when the epoch changes', 'a5', 'a3', ['b1'], changed],
  ])('%s', (_, mark, at, checks, outcome) => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter(mark, at, settle)
    if (at === undefined) waiters.check(undefined)
    for (const version of checks) {
      expect([outcomes, waiters.size]).toEqual([[], 1])
      waiters.check(version)
    }
    expect(outcomes).toEqual([outcome])
  })

  test.each(['', 'a\nb', 'é', 'x'.repeat(65_537)])('reject an invalid mark as PROTOCOL (%#)', (mark) => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter(mark, undefined, settle)
    expect([outcomes, waiters.size]).toEqual([[expect.objectContaining({ code: 'PROTOCOL' })], 0])
  })

  test('for a mark of another epoch are passed on at once, and at each check', () => {
    const judged: unknown[] = []
    const waiters = new VersionWaiters(numbered, (_settle, ...wait) => judged.push(wait))
    const { settle, outcomes } = ends()
    waiters.enter('b5', 'a7', settle)
    waiters.check('a8')
    expect([judged, outcomes]).toEqual([
      [
        ['b5', changed],
        ['b5', changed],
      ],
      [],
    ])
  })

  test('for a mark of the epoch that ends reject, and those of the epoch that begins resolve', () => {
    const waiters = new VersionWaiters(numbered, () => {})
    const [ending, beginning] = [ends(), ends()]
    waiters.enter('b5', 'a7', beginning.settle)
    waiters.enter('a9', 'a7', ending.settle)
    waiters.epochChanged('a7', 'forked')
    expect([ending.outcomes, beginning.outcomes]).toEqual([['forked'], []])
    waiters.check('b5')
    expect(beginning.outcomes).toEqual(['resolved'])
  })

  test('reject for a mark of the epoch that ends, behind a wait for a mark of a later one', () => {
    const waiters = new VersionWaiters(numbered)
    const [later, ending] = [ends(), ends()]
    waiters.enter('20', '7', later.settle)
    waiters.enter('9', '7', ending.settle)
    waiters.epochChanged('7', 'forked', (_at, mark) => mark === '20')
    expect([later.outcomes, ending.outcomes]).toEqual([[], ['forked']])
  })

  test('are all rejected by rejectAll, except one that has left', () => {
    const waiters = new VersionWaiters(numbered)
    const [one, two, left] = [ends(), ends(), ends()]
    waiters.enter('5', undefined, one.settle)
    waiters.enter('6', undefined, two.settle)
    waiters.enter('5', undefined, left.settle)()
    waiters.rejectAll('stopped')
    expect([one.outcomes, two.outcomes, left.outcomes]).toEqual([['stopped'], ['stopped'], []])
  })
})

describe('invalid arguments of a wait', () => {
  test.each([
    ['timeoutMs', 0],
    ['timeoutMs', -1],
    ['timeoutMs', Number.NaN],
    ['timeoutMs', Number.POSITIVE_INFINITY],
    ['timeoutMs', '5'],
    ['signal', {}],
    ['timeout', 5],
  ])('option %s of %s is a TypeError that names it', (name, value) => {
    expect(() => checkWait('synced', { [name]: value })).toThrow(
      expect.objectContaining({
        name: 'TypeError',
        message: expect.stringMatching(new RegExp(`^synced: .*"${name}"`)),
      }),
    )
  })

  test('a version that is not a string is a TypeError', () => {
    expect(() => checkVersionWait(5, {})).toThrow(new TypeError('waitFor: the version must be a string, got number'))
  })

  test('the option `source` is allowed only with a version', () => {
    expect(() => checkVersionWait('5', { source: 'a' })).not.toThrow()
    expect(() => checkWait('synced', { source: 'a' })).toThrow(TypeError)
  })
})
