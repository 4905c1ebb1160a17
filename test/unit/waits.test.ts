import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { checkVersionWait, VersionWaiters } from '../../src/subscriptions/version-waiters.js'
import { checkWait, type Settle, withDeadline } from '../../src/util/deadline.js'
import { Latch } from '../../src/util/latch.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { outcomeOf } from '../support/informers.js'
import { numbered } from '../support/scripted-source.js'

function ends(): { settle: Settle<void>; outcomes: unknown[] } {
  const outcomes: unknown[] = []
  return {
    outcomes,
    settle: { resolve: () => outcomes.push('resolved'), reject: (reason) => outcomes.push(reason) },
  }
}

describe('waiting', () => {
  test('gives what its registration settles with', async () => {
    await expect(
      withDeadline('it', {}, new VirtualClock(), (settle) => {
        settle.resolve(7)
        return () => {}
      }),
    ).resolves.toBe(7)
  })

  test('rejects with TIMEOUT after timeoutMs, naming what was waited for', async () => {
    const clock = new VirtualClock()
    const wait = withDeadline('synced of x', { timeoutMs: 100 }, clock, () => () => {})
    await clock.advance(99)
    expect(await outcomeOf(wait, clock)).toBe('pending')
    const late = expect(wait).rejects.toMatchObject({ code: 'TIMEOUT', message: 'synced of x: not within 100 ms' })
    await clock.advance(1)
    await late
  })

  test('rejects with the reason of its signal', async () => {
    const control = new AbortController()
    const wait = withDeadline('it', { signal: control.signal }, new VirtualClock(), () => () => {})
    control.abort('enough')
    await expect(wait).rejects.toBe('enough')
  })

  test('a signal that has aborted already rejects before anything is registered', async () => {
    let isRegistered = false
    const wait = withDeadline('it', { signal: AbortSignal.abort('before') }, new VirtualClock(), () => {
      isRegistered = true
      return () => {}
    })
    await expect(wait).rejects.toBe('before')
    expect(isRegistered).toBe(false)
  })

  test.each(['resolve', 'reject', 'abort', 'timeout', 'at once'] as const)(
    'leaves no timer, listener or registration behind: %s',
    async (how) => {
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
      expect(await outcomeOf(wait, clock)).not.toBe('pending')
      expect([clock.sleeping, getEventListeners(control.signal, 'abort').length, registered]).toEqual([0, 0, 0])
    },
  )

  test('only the first end counts', async () => {
    const wait = withDeadline<string>('it', {}, new VirtualClock(), (settle) => {
      settle.resolve('first')
      settle.reject('second')
      return () => {}
    })
    await expect(wait).resolves.toBe('first')
  })
})

describe('Gate', () => {
  test('who comes before it opens waits for it', () => {
    const gate = new Latch()
    const { settle, outcomes } = ends()
    gate.enter(settle)
    expect(outcomes).toEqual([])
    gate.open()
    expect(outcomes).toEqual(['resolved'])
  })

  test('who comes after it has opened passes', () => {
    const gate = new Latch()
    gate.open()
    const { settle, outcomes } = ends()
    gate.enter(settle)
    expect(outcomes).toEqual(['resolved'])
  })

  test('refuse turns away who waits now, and nobody who comes later', () => {
    const gate = new Latch()
    const [now, later] = [ends(), ends()]
    gate.enter(now.settle)
    gate.rejectAll('failed')
    gate.enter(later.settle)
    expect([now.outcomes, later.outcomes, gate.isOpen]).toEqual([['failed'], [], false])
  })

  test('who leaves is not told any more', () => {
    const gate = new Latch()
    const { settle, outcomes } = ends()
    gate.enter(settle)()
    gate.open()
    expect(outcomes).toEqual([])
  })
})

describe('VersionWaiters', () => {
  test('resolve with the first version that includes the mark', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('5', '3', settle)
    waiters.check('4')
    expect(outcomes).toEqual([])
    waiters.check('6')
    expect(outcomes).toEqual(['resolved'])
  })

  test('resolve at once where the version of now includes it', () => {
    const { settle, outcomes } = ends()
    new VersionWaiters(numbered).enter('5', '5', settle)
    expect(outcomes).toEqual(['resolved'])
  })

  test('wait where there is no version yet', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('5', undefined, settle)
    waiters.check(undefined)
    expect([outcomes, waiters.size]).toEqual([[], 1])
  })

  test('reject at once for a mark of another epoch', () => {
    const { settle, outcomes } = ends()
    new VersionWaiters(numbered).enter('b5', 'a7', settle)
    expect(outcomes).toMatchObject([{ code: 'EPOCH_CHANGED' }])
  })

  test('for a mark of another epoch are judged at once, and at each check', () => {
    const judged: unknown[] = []
    const waiters = new VersionWaiters(numbered, (_settle, ...wait) => judged.push(wait))
    const { settle, outcomes } = ends()
    waiters.enter('b5', 'a7', settle)
    waiters.check('a8')
    const wait = ['b5', expect.objectContaining({ code: 'EPOCH_CHANGED' })]
    expect([judged, outcomes]).toEqual([[wait, wait], []])
  })

  test('resolve for a mark of the epoch that begins', () => {
    const waiters = new VersionWaiters(numbered, () => {})
    const { settle, outcomes } = ends()
    waiters.enter('b5', 'a7', settle)
    waiters.epochChanged('a7', 'forked')
    waiters.check('b5')
    expect(outcomes).toEqual(['resolved'])
  })

  test('reject for a mark of the epoch that ends', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('a9', 'a7', settle)
    waiters.epochChanged('a7', 'forked')
    expect(outcomes).toEqual(['forked'])
  })

  test('reject for a mark of the epoch that ends, behind a wait for a mark of a later one', () => {
    const waiters = new VersionWaiters(numbered)
    const [later, ending] = [ends(), ends()]
    waiters.enter('20', '7', later.settle)
    waiters.enter('9', '7', ending.settle)
    waiters.epochChanged('7', 'forked', (_at, mark) => mark === '20')
    expect([later.outcomes, ending.outcomes]).toEqual([[], ['forked']])
  })

  test('reject when the epoch changes while they wait', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('a5', 'a3', settle)
    waiters.check('b1')
    expect(outcomes).toMatchObject([{ code: 'EPOCH_CHANGED' }])
  })

  test.each(['', 'a\nb', 'é', 'x'.repeat(65_537)])('reject a mark that can be none, as PROTOCOL (%#)', (mark) => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter(mark, undefined, settle)
    expect(outcomes).toMatchObject([{ code: 'PROTOCOL' }])
    expect(waiters.size).toBe(0)
  })

  test('who leaves is forgotten', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('5', undefined, settle)()
    waiters.check('6')
    expect([outcomes, waiters.size]).toEqual([[], 0])
  })

  test('refuse turns everybody away', () => {
    const waiters = new VersionWaiters(numbered)
    const [one, two] = [ends(), ends()]
    waiters.enter('5', undefined, one.settle)
    waiters.enter('6', undefined, two.settle)
    waiters.rejectAll('stopped')
    expect([one.outcomes, two.outcomes]).toEqual([['stopped'], ['stopped']])
  })
})

describe('what is no wait', () => {
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

  test('a version that is no string is a TypeError', () => {
    expect(() => checkVersionWait(5, {})).toThrow(new TypeError('waitFor: the version must be a string, got number'))
  })

  test('a source is allowed only where a version is waited for', () => {
    expect(() => checkVersionWait('5', { source: 'a' })).not.toThrow()
    expect(() => checkWait('synced', { source: 'a' })).toThrow(TypeError)
  })
})
