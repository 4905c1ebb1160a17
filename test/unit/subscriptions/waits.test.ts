import { describe, expect, test } from 'vitest'
import { checkVersionWait } from '../../../src/subscriptions/version-waiters.js'
import { checkWait, withDeadline } from '../../../src/util/deadline.js'
import { Latch } from '../../../src/util/latch.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { outcomeOf } from '../../support/informers.js'

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
})

test('a latch does not keep a waiter that has left', () => {
  const gate = new Latch()
  gate.enter({ resolve: () => expect.unreachable(), reject: () => {} })()
  gate.open()
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
