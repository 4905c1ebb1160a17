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
  test('withDeadline resolves with the value of its registration', async () => {
    await expect(
      withDeadline('it', {}, new VirtualClock(), (settle) => {
        settle.resolve(7)
        return () => {}
      }),
    ).resolves.toBe(7)
  })

  test('withDeadline rejects with TIMEOUT after timeoutMs, with the name of the wait', async () => {
    const clock = new VirtualClock()
    const wait = withDeadline('synced of x', { timeoutMs: 100 }, clock, () => () => {})
    await clock.advance(99)
    expect(await outcomeOf(wait, clock)).toBe('pending')
    const late = expect(wait).rejects.toMatchObject({ code: 'TIMEOUT', message: 'synced of x: not within 100 ms' })
    await clock.advance(1)
    await late
  })

  test('withDeadline rejects with the reason of its signal', async () => {
    const control = new AbortController()
    const wait = withDeadline('it', { signal: control.signal }, new VirtualClock(), () => () => {})
    control.abort('enough')
    await expect(wait).rejects.toBe('enough')
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

  test.each(['resolve', 'reject', 'abort', 'timeout', 'at once'] as const)(
    'withDeadline leaves no timer, listener or registration behind: %s',
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

  test('withDeadline ignores all but the first outcome', async () => {
    const wait = withDeadline<string>('it', {}, new VirtualClock(), (settle) => {
      settle.resolve('first')
      settle.reject('second')
      return () => {}
    })
    await expect(wait).resolves.toBe('first')
  })
})

describe('Latch', () => {
  test('a waiter that enters before the latch opens waits for it', () => {
    const gate = new Latch()
    const { settle, outcomes } = ends()
    gate.enter(settle)
    expect(outcomes).toEqual([])
    gate.open()
    expect(outcomes).toEqual(['resolved'])
  })

  test('a waiter that enters an open latch resolves at once', () => {
    const gate = new Latch()
    gate.open()
    const { settle, outcomes } = ends()
    gate.enter(settle)
    expect(outcomes).toEqual(['resolved'])
  })

  test('rejectAll rejects the current waiters, and no later one', () => {
    const gate = new Latch()
    const [now, later] = [ends(), ends()]
    gate.enter(now.settle)
    gate.rejectAll('failed')
    gate.enter(later.settle)
    expect([now.outcomes, later.outcomes, gate.isOpen]).toEqual([['failed'], [], false])
  })

  test('a waiter that has left is not notified', () => {
    const gate = new Latch()
    const { settle, outcomes } = ends()
    gate.enter(settle)()
    gate.open()
    expect(outcomes).toEqual([])
  })
})

describe('VersionWaiters', () => {
  test('version waiters resolve with the first version that includes the mark', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('5', '3', settle)
    waiters.check('4')
    expect(outcomes).toEqual([])
    waiters.check('6')
    expect(outcomes).toEqual(['resolved'])
  })

  test('version waiters resolve at once if the current version includes the mark', () => {
    const { settle, outcomes } = ends()
    new VersionWaiters(numbered).enter('5', '5', settle)
    expect(outcomes).toEqual(['resolved'])
  })

  test('version waiters wait if there is no version yet', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('5', undefined, settle)
    waiters.check(undefined)
    expect([outcomes, waiters.size]).toEqual([[], 1])
  })

  test('version waiters reject at once for a mark of another epoch', () => {
    const { settle, outcomes } = ends()
    new VersionWaiters(numbered).enter('b5', 'a7', settle)
    expect(outcomes).toMatchObject([{ code: 'EPOCH_CHANGED' }])
  })

  test('version waiters for a mark of another epoch are passed on at once, and at each check', () => {
    const judged: unknown[] = []
    const waiters = new VersionWaiters(numbered, (_settle, ...wait) => judged.push(wait))
    const { settle, outcomes } = ends()
    waiters.enter('b5', 'a7', settle)
    waiters.check('a8')
    const wait = ['b5', expect.objectContaining({ code: 'EPOCH_CHANGED' })]
    expect([judged, outcomes]).toEqual([[wait, wait], []])
  })

  test('version waiters resolve for a mark of the epoch that begins', () => {
    const waiters = new VersionWaiters(numbered, () => {})
    const { settle, outcomes } = ends()
    waiters.enter('b5', 'a7', settle)
    waiters.epochChanged('a7', 'forked')
    waiters.check('b5')
    expect(outcomes).toEqual(['resolved'])
  })

  test('version waiters reject for a mark of the epoch that ends', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('a9', 'a7', settle)
    waiters.epochChanged('a7', 'forked')
    expect(outcomes).toEqual(['forked'])
  })

  test('version waiters reject for a mark of the epoch that ends, behind a wait for a mark of a later one', () => {
    const waiters = new VersionWaiters(numbered)
    const [later, ending] = [ends(), ends()]
    waiters.enter('20', '7', later.settle)
    waiters.enter('9', '7', ending.settle)
    waiters.epochChanged('7', 'forked', (_at, mark) => mark === '20')
    expect([later.outcomes, ending.outcomes]).toEqual([[], ['forked']])
  })

  test('version waiters reject when the epoch changes', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('a5', 'a3', settle)
    waiters.check('b1')
    expect(outcomes).toMatchObject([{ code: 'EPOCH_CHANGED' }])
  })

  test.each(['', 'a\nb', 'é', 'x'.repeat(65_537)])(
    'version waiters reject an invalid mark as PROTOCOL (%#)',
    (mark) => {
      const waiters = new VersionWaiters(numbered)
      const { settle, outcomes } = ends()
      waiters.enter(mark, undefined, settle)
      expect(outcomes).toMatchObject([{ code: 'PROTOCOL' }])
      expect(waiters.size).toBe(0)
    },
  )

  test('a version waiter that has left is forgotten', () => {
    const waiters = new VersionWaiters(numbered)
    const { settle, outcomes } = ends()
    waiters.enter('5', undefined, settle)()
    waiters.check('6')
    expect([outcomes, waiters.size]).toEqual([[], 0])
  })

  test('rejectAll rejects all version waiters', () => {
    const waiters = new VersionWaiters(numbered)
    const [one, two] = [ends(), ends()]
    waiters.enter('5', undefined, one.settle)
    waiters.enter('6', undefined, two.settle)
    waiters.rejectAll('stopped')
    expect([one.outcomes, two.outcomes]).toEqual([['stopped'], ['stopped']])
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
