import { describe, expect, test } from 'vitest'
import { Attempt } from '../../src/reflector/attempt.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { BusyClock } from '../support/busy-clock.js'
import { deferred, outcomeOf } from '../support/informers.js'

describe('race', () => {
  test('gives what the promise gives', async () => {
    await expect(new Attempt(new VirtualClock()).race(Promise.resolve(7))).resolves.toBe(7)
  })

  test('fails as the promise fails', async () => {
    await expect(new Attempt(new VirtualClock()).race(Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  test('is broken off by end, though the promise never settles', async () => {
    const attempt = new Attempt(new VirtualClock())
    const raced = attempt.race(new Promise(() => {}))
    attempt.abort('over')
    await expect(raced).rejects.toBe('over')
  })

  test('is refused once the attempt is over, though the promise is there', async () => {
    const attempt = new Attempt(new VirtualClock())
    attempt.abort('over')
    await expect(attempt.race(Promise.resolve(7))).rejects.toBe('over')
  })

  test('leaves no rejection unhandled of a promise that fails after the end', async () => {
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

describe('end', () => {
  test('aborts the signal with its reason', () => {
    const attempt = new Attempt(new VirtualClock())
    attempt.abort('over')
    expect(attempt.signal.reason).toBe('over')
  })

  test('counts once: the first reason stays', () => {
    const attempt = new Attempt(new VirtualClock())
    attempt.abort('first')
    attempt.abort('second')
    expect(() => attempt.throwIfAborted()).toThrow('first')
  })

  test('before it, check lets pass', () => {
    expect(() => new Attempt(new VirtualClock()).throwIfAborted()).not.toThrow()
  })
})

describe('guard', () => {
  test('ends the attempt after so long a silence, and not sooner', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    void attempt.watchdog(1_000, () => 'silent')
    await clock.advance(999)
    expect(attempt.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(attempt.signal.reason).toBe('silent')
  })

  test('counts from the last contact', async () => {
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

  test('does not count our own business as silence', async () => {
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

  test('counts silence from the end of our own work, between two checks too', async () => {
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

  test('does not count as silence the work between two breaths, but counts what comes after it', async () => {
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

  test('leaves no timer once the attempt is over', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    const guard = attempt.watchdog(1_000, () => 'silent')
    attempt.abort('over')
    await guard
    expect(clock.sleeping).toBe(0)
    expect(attempt.signal.reason).toBe('over')
  })
})

describe('busy', () => {
  test('fails as our own side fails', async () => {
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

describe('breathe', () => {
  test('goes on at once where the last turn is not that long ago', async () => {
    const clock = new VirtualClock()
    await new Attempt(clock).yieldIfDue(8)
    expect(clock.sleeping).toBe(0)
  })

  test('is refused once the attempt is over, also where the last turn is not that long ago', async () => {
    const attempt = new Attempt(new VirtualClock())
    attempt.abort('over')
    await expect(attempt.yieldIfDue(8)).rejects.toBe('over')
  })

  test('is refused where the attempt ends between the turn and what comes after it', async () => {
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

  test('gives the event loop a turn after so long', async () => {
    const clock = new VirtualClock()
    const attempt = new Attempt(clock)
    await clock.advance(8)
    const breath = attempt.yieldIfDue(8)
    expect(clock.sleeping).toBe(1)
    expect(await outcomeOf(breath, clock)).toBe('resolved')
  })

  test('counts from that turn on', async () => {
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

test('contactAt is when the source last said something', async () => {
  const clock = new VirtualClock(100)
  const attempt = new Attempt(clock)
  expect(attempt.lastActivityAt).toBeUndefined()
  attempt.recordActivity()
  await clock.advance(5)
  expect(attempt.lastActivityAt).toBe(100)
})
