import { expect, test } from 'vitest'
import { Attempt } from '../../../src/reflector/attempt.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'

test('yieldIfDue rejects if the attempt is aborted between the yield and the next step', async () => {
  const clock = new VirtualClock()
  const attempt = new Attempt(clock)
  await clock.advance(9)
  const sleep = clock.sleep.bind(clock)
  clock.sleep = async (ms, signal) => {
    await sleep(ms, signal)
    queueMicrotask(() => queueMicrotask(() => queueMicrotask(() => attempt.abort('over'))))
  }
  const breath = attempt.yieldIfDue().catch((error: unknown) => error)
  await clock.advance(0)
  expect(await breath).toBe('over')
})
