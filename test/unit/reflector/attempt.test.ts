import { describe, expect, test } from 'vitest'
import { Attempt } from '../../../src/reflector/attempt.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { BusyClock } from '../../support/busy-clock.js'
import { deferred, outcomeOf } from '../../support/informers.js'

describe('Attempt.race', () => {
  test('race resolves with the result of the promise', async () => {
    await expect(new Attempt(new VirtualClock()).race(Promise.resolve(7))).resolves.toBe(7)
  })

  test('race rejects with the error of the promise', async () => {
    await expect(new Attempt(new VirtualClock()).race(Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  test('race rejects when the attempt is aborted, though the promise never settles', async () => {
    const attempt = new Attempt(new VirtualClock())
    const raced = attempt.race(new Promise(() => {}))
    attempt.abort('over')
    await expect(raced).rejects.toBe('over')
  })

  test('race rejects after the attempt was aborted, though the promise has resolved', async () => {
    const attempt = new Attempt(new VirtualClock())
    attempt.abort('over')
    await expect(attempt.race(Promise.resolve(7))).rejects.toBe('over')
  })

  test('race handles the rejection of a promise that fails after the attempt was aborted', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    const { promise, reject } = deferred()
    const raced = attempt.race(promise).catch((error: unknown) => error)
    attempt.abort('over')
    reject(new Error('too late'))
    const refused = attempt.race(Promise.reject(new Error('later still'))).catch((error: unknown) => error)
    await clock.advance(0)
    expect([await raced, await refused]).toEqual(['over', 'over'])
  })
})

describe('Attempt.abort', () => {
  test('abort aborts the signal with its reason', () => {
    const attempt = new Attempt(new VirtualClock())
    attempt.abort('over')
    expect(attempt.signal.reason).toBe('over')
  })

  test('a second abort does not replace the first reason', () => {
    const attempt = new Attempt(new VirtualClock())
    attempt.abort('first')
    attempt.abort('second')
    expect(() => attempt.throwIfAborted()).toThrow('first')
  })

  test('throwIfAborted does not throw before abort', () => {
    expect(() => new Attempt(new VirtualClock()).throwIfAborted()).not.toThrow()
  })
})

describe('Attempt.watchdog', () => {
  test('the watchdog aborts the attempt after 1 s without activity, and not earlier', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    void attempt.watchdog(1_000, () => 'silent')
    await clock.advance(999)
    expect(attempt.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(attempt.signal.reason).toBe('silent')
  })

  test('the watchdog measures silence from the last activity', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    void attempt.watchdog(1_000, () => 'silent')
    await clock.advance(600)
    attempt.recordActivity()
    await clock.advance(999)
    expect(attempt.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(attempt.signal.reason).toBe('silent')
  })

  test('the watchdog does not count paused time as silence', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    void attempt.watchdog(1_000, () => 'silent')
    const { promise, resolve } = deferred()
    const busy = attempt.pauseWatchdog(promise)
    await clock.advance(10_000)
    resolve()
    await busy
    await clock.advance(999)
    expect(attempt.signal.aborted).toBe(false)
    await clock.advance(1_000)
    expect(attempt.signal.reason).toBe('silent')
  })

  test('the watchdog measures silence from the end of a pause, also between two checks', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    void attempt.watchdog(1_000, () => 'silent')
    const { promise, resolve } = deferred()
    const busy = attempt.pauseWatchdog(promise)
    await clock.advance(1_500)
    resolve()
    await busy
    expect(attempt.lastActivityAt).toBe(clock.now())
    await clock.advance(999)
    expect(attempt.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(attempt.signal.reason).toBe('silent')
  })

  test('the watchdog does not count the work before a yield as silence, but counts the time after it', async () => {
    const clock = new BusyClock()
    const attempt = new Attempt(clock)
    void attempt.watchdog(1_000, () => 'silent')
    clock.work(5_000)
    const breath = attempt.yieldIfDue(8)
    await clock.turns(2)
    await breath
    clock.work(999)
    await clock.turns(2)
    expect(attempt.signal.aborted).toBe(false)
    clock.work(1)
    await clock.turns(2)
    expect(attempt.signal.reason).toBe('silent')
  })

  test('the watchdog leaves no timer after the attempt was aborted', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    const guard = attempt.watchdog(1_000, () => 'silent')
    attempt.abort('over')
    await guard
    expect(clock.sleeping).toBe(0)
    expect(attempt.signal.reason).toBe('over')
  })
})

describe('Attempt.pauseWatchdog', () => {
  test('pauseWatchdog rejects with the error of the promise', async () => {
    await expect(new Attempt(new VirtualClock()).pauseWatchdog(Promise.reject(new Error('full')))).rejects.toThrow(
      'full',
    )
  })

  test('is broken off by end', async () => {
    const attempt = new Attempt(new VirtualClock())
    const busy = attempt.pauseWatchdog(new Promise(() => {}))
    attempt.abort('over')
    await expect(busy).rejects.toBe('over')
  })
})

describe('Attempt.yieldIfDue', () => {
  test('yieldIfDue resolves at once if the last yield was less than 8 ms ago', async () => {
    const clock = new VirtualClock()
    await new Attempt(clock).yieldIfDue(8)
    expect(clock.sleeping).toBe(0)
  })

  test('yieldIfDue rejects after the attempt was aborted, also if no yield is due', async () => {
    const attempt = new Attempt(new VirtualClock())
    attempt.abort('over')
    await expect(attempt.yieldIfDue(8)).rejects.toBe('over')
  })

  test('yieldIfDue rejects if the attempt is aborted between the yield and the next step', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    await clock.advance(8)
    const sleep = clock.sleep.bind(clock)
    const end = (): void => attempt.abort('over')
    clock.sleep = async (ms, signal) => {
      await sleep(ms, signal)
      queueMicrotask(() => queueMicrotask(end))
    }
    const breath = attempt.yieldIfDue(8).catch((error: unknown) => error)
    await clock.advance(0)
    expect(await breath).toBe('over')
  })

  test('yieldIfDue yields to the event loop after 8 ms', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    await clock.advance(8)
    const breath = attempt.yieldIfDue(8)
    expect(clock.sleeping).toBe(1)
    expect(await outcomeOf(breath, clock)).toBe('resolved')
  })

  test('yieldIfDue measures from the last yield', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    await clock.advance(8)
    await outcomeOf(attempt.yieldIfDue(8), clock)
    await clock.advance(7)
    void attempt.yieldIfDue(8)
    expect(clock.sleeping).toBe(0)
  })

  test('is broken off by end', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    await clock.advance(8)
    const breath = attempt.yieldIfDue(8)
    attempt.abort('over')
    await expect(breath).rejects.toBe('over')
    expect(clock.sleeping).toBe(0)
  })
})

test('lastActivityAt is the time of the last recorded activity', async () => {
  const clock = new VirtualClock(100)
  const attempt = new Attempt(clock)
  expect(attempt.lastActivityAt).toBeUndefined()
  attempt.recordActivity()
  await clock.advance(5)
  expect(attempt.lastActivityAt).toBe(100)
})
