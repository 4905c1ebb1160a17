import { expect, test } from 'vitest'
import { DelayQueue } from '../../../src/queue/delay-queue.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'

test('a key is due at its time, however many other keys no longer wait', async () => {
  const clock = new VirtualClock(0)
  const due: string[] = []
  const delays = new DelayQueue(clock, (key) => due.push(`${key} ${clock.now()}`))
  for (const [key, at] of Object.entries({ late: 1_000, early: 100 })) delays.schedule(key, at)
  const others = Array.from({ length: 40 }, (_, n) => `other ${n}`)
  for (const key of others) delays.schedule(key, 5_000)
  for (const key of others) delays.delete(key)
  await clock.advance(5_000)
  expect([due, delays.size]).toEqual([['early 100', 'late 1000'], 0])
})
