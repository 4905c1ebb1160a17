import { expect, test } from 'vitest'
import { SLOW_MS, SlowHandlerMonitor } from '../../../src/subscriptions/delivery/slow-handler-monitor.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'

test('work that does not settle within 10 s is reported once, later work within twice that time', async () => {
  const clock = new VirtualClock()
  const reports: string[] = []
  const watch = new SlowHandlerMonitor(clock, (key, ms) => reports.push(`${key} ${ms}`))
  // All earlier work may have settled. Such work needs no timer.
  const settled = watch.monitor('settled', Promise.resolve())
  expect(clock.sleeping).toBe(0)
  await settled
  void watch.monitor('a', new Promise(() => {}))
  await clock.advance(5_000)
  void watch.monitor('b', new Promise(() => {}))
  await clock.advance(4_999)
  expect(reports).toEqual([])
  await clock.advance(5_000)
  expect(reports).toEqual(['a 10000'])
  await clock.advance(10_001)
  expect(reports).toEqual(['a 10000', 'b 15000'])
  await clock.advance(10 * SLOW_MS)
  expect(reports).toHaveLength(2)
  watch.stop()
})
