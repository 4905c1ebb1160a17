import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/contract/clock.js'

const timers = ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] as const

function outcomeOf(sleep: Promise<void>): { ended: string } {
  const outcome = { ended: 'not yet' }
  sleep.then(
    () => (outcome.ended = 'slept'),
    (reason: unknown) => (outcome.ended = String(reason)),
  )
  return outcome
}

afterEach(() => void vi.useRealTimers())

test('systemClock.cpuMs grows while this thread works, and not while it waits', async () => {
  const used = (since = 0): number => (systemClock.cpuMs?.() ?? Number.NaN) - since
  const before = used()
  while (used(before) < 20) Math.sqrt(used())
  const waiting = used()
  await systemClock.sleep(200)
  expect(used(waiting)).toBeLessThan(150)
})

describe('systemClock.now', () => {
  test('has the wall clock too, for sleeps of the machine', () => {
    expect(Math.abs((systemClock.wallNow?.() ?? 0) - Date.now())).toBeLessThan(1_000)
  })

  test('it returns milliseconds since the Unix epoch', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(60_000)
  })

  test('a change of the wall clock does not move it', () => {
    const before = systemClock.now()
    vi.useFakeTimers({ toFake: ['Date'] })
    vi.setSystemTime(0)
    const elapsed = systemClock.now() - before
    expect(elapsed).toBeGreaterThanOrEqual(0)
    expect(elapsed).toBeLessThan(60_000)
  })
})

describe('systemClock.sleep', () => {
  test.each([1_000, 2 ** 31, 2 ** 32 + 5])('it sleeps %d ms, also longer than a timer of Node can', async (ms) => {
    vi.useFakeTimers({ toFake: [...timers] })
    const outcome = outcomeOf(systemClock.sleep(ms))
    await vi.advanceTimersByTimeAsync(ms - 1)
    expect(outcome.ended).toBe('not yet')
    await vi.advanceTimersByTimeAsync(1)
    expect(outcome.ended).toBe('slept')
  })

  test.each([0, -5, Number.NaN])('a sleep of %d ms yields to the event loop once', async (ms) => {
    const turns: string[] = []
    setImmediate(() => turns.push('a turn'))
    await systemClock.sleep(ms)
    expect(turns).toEqual(['a turn'])
  })

  test('a sleep of 0 ms uses no timer', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await systemClock.sleep(0)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('it rejects at once with the reason of a signal that has aborted', async () => {
    await expect(systemClock.sleep(1_000, AbortSignal.abort('no longer wanted'))).rejects.toBe('no longer wanted')
  })

  test.each([0, 1_000, 2 ** 32])('a sleep of %d ms rejects with the reason when the signal aborts', async (ms) => {
    vi.useFakeTimers({ toFake: [...timers] })
    const controller = new AbortController()
    const sleep = systemClock.sleep(ms, controller.signal)
    controller.abort('no longer wanted')
    await expect(sleep).rejects.toBe('no longer wanted')
  })

  test.each([0, 1_000, 2 ** 32])('an aborted sleep of %d ms leaves no timer behind', async (ms) => {
    vi.useFakeTimers({ toFake: [...timers] })
    const controller = new AbortController()
    const sleep = systemClock.sleep(ms, controller.signal)
    await vi.advanceTimersByTimeAsync(ms > 2 ** 31 ? 2 ** 31 : 0)
    if (ms === 0) await sleep
    controller.abort('no longer wanted')
    await sleep.catch(() => {})
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each([0, 1_000])('a sleep of %d ms leaves no listener on the signal', async (ms) => {
    vi.useFakeTimers({ toFake: [...timers] })
    const { signal } = new AbortController()
    const sleep = systemClock.sleep(ms, signal)
    await vi.advanceTimersByTimeAsync(ms)
    await sleep
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})
