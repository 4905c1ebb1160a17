import { expect, test } from 'vitest'
import { DelayQueue } from '../../../src/queue/delay-queue.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'

test('a key is due at its time, however many other keys no longer wait', async () => {
  const clock = new VirtualClock()
  const since = clock.now()
  const due: string[] = []
  const delays = new DelayQueue(clock, (key) => due.push(`${key} ${clock.now() - since}`))
  delays.schedule('late', since + 1_000)
  delays.schedule('early', since + 100)
  const others = Array.from({ length: 40 }, (_, n) => `other ${n}`)
  for (const key of others) delays.schedule(key, since + 5_000)
  for (const key of others) delays.delete(key)
  await clock.advance(5_000)
  expect([due, delays.size]).toEqual([['early 100', 'late 1000'], 0])
})
