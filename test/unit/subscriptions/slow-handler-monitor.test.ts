import { expect, test } from 'vitest'
import { SLOW_MS, SlowHandlerMonitor } from '../../../src/subscriptions/slow-handler-monitor.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { deferred } from '../../support/informers.js'

function setUp(): { clock: VirtualClock; watch: SlowHandlerMonitor; reports: string[] } {
  const clock = new VirtualClock()
  const reports: string[] = []
  const watch = new SlowHandlerMonitor(clock, (key, ms) => reports.push(`${key} ${ms}`))
  return { clock, watch, reports }
}

test('work that does not settle within 10 s is reported once, later work within twice that time', async () => {
  const { clock, watch, reports } = setUp()
  // All earlier work may have settled.
  await watch.monitor('settled', Promise.resolve())
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

test('work that is done in time is not reported, and leaves no timer', async () => {
  const { clock, watch, reports } = setUp()
  const { promise, resolve } = deferred()
  const watched = ['a', 'b'].map((key) => watch.monitor(key, promise))
  await Promise.resolve()
  expect([watch.size, clock.sleeping]).toEqual([2, 1])
  await clock.advance(9_999)
  resolve()
  await Promise.all(watched)
  expect([watch.size, clock.sleeping]).toEqual([0, 0])
  await clock.advance(60_000)
  expect(reports).toEqual([])
})

test('there is no timer for work that has settled already', async () => {
  const { clock, watch } = setUp()
  const work = watch.monitor('a', Promise.resolve())
  for (let turn = 0; turn < 5; turn++) {
    expect(clock.sleeping).toBe(0)
    await Promise.resolve()
  }
  await work
})

test('stop leaves no timer, though a handler still runs', async () => {
  const { clock, watch, reports } = setUp()
  void watch.monitor('a', new Promise(() => {}))
  watch.stop()
  await clock.advance(60_000)
  expect(clock.sleeping).toBe(0)
  expect(reports).toEqual([])
})
