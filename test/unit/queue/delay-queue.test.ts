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

test('[I12] a queue of times is bounded by the keys that wait, however often their times change', () => {
  const delays = new DelayQueue(new VirtualClock(0), () => {})
  for (let n = 0; n < 10_000; n++) delays.schedule(`k${n % 4}`, 1_000_000 - n)
  expect(delays.heapSize).toBeLessThan(100)
  for (let n = 0; n < 10_000; n++) {
    delays.delete(`k${n % 4}`)
    delays.schedule(`k${n % 4}`, 1_000_000 + n)
  }
  expect(delays.heapSize).toBeLessThan(100)
  delays.clear()
})
