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

test('work that does not settle within 10 s is reported', async () => {
  const { clock, watch, reports } = setUp()
  void watch.monitor('a', new Promise(() => {}))
  await clock.advance(9_999)
  expect(reports).toEqual([])
  await clock.advance(1)
  expect(reports).toEqual(['a 10000'])
  watch.stop()
})

test('it is reported once, however long it takes', async () => {
  const { clock, watch, reports } = setUp()
  void watch.monitor('a', new Promise(() => {}))
  await clock.advance(10 * SLOW_MS)
  expect(reports).toHaveLength(1)
  watch.stop()
})

test('work that begins later is reported later, within twice that time', async () => {
  const { clock, watch, reports } = setUp()
  void watch.monitor('a', new Promise(() => {}))
  await clock.advance(5_000)
  void watch.monitor('b', new Promise(() => {}))
  await clock.advance(9_999)
  expect(reports).toEqual(['a 10000'])
  await clock.advance(10_001)
  expect(reports).toEqual(['a 10000', 'b 15000'])
  watch.stop()
})

test('work that is done in time is not reported', async () => {
  const { clock, watch, reports } = setUp()
  const { promise, resolve } = deferred()
  const watched = watch.monitor('a', promise)
  await clock.advance(9_999)
  resolve()
  await watched
  await clock.advance(60_000)
  expect(reports).toEqual([])
})

test('there is no timer while nothing runs', async () => {
  const { clock, watch } = setUp()
  expect(clock.sleeping).toBe(0)
  const { promise, resolve } = deferred()
  const work = watch.monitor('a', promise)
  await Promise.resolve()
  expect(clock.sleeping).toBe(1)
  resolve()
  await work
  expect(clock.sleeping).toBe(0)
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

test('there is one timer however much runs', async () => {
  const { clock, watch } = setUp()
  for (const key of ['a', 'b', 'c']) void watch.monitor(key, new Promise(() => {}))
  await Promise.resolve()
  expect(clock.sleeping).toBe(1)
  watch.stop()
})

test('stop leaves no timer, though a handler still runs', async () => {
  const { clock, watch, reports } = setUp()
  void watch.monitor('a', new Promise(() => {}))
  watch.stop()
  await clock.advance(60_000)
  expect(clock.sleeping).toBe(0)
  expect(reports).toEqual([])
})

test('size is how much runs', async () => {
  const { watch } = setUp()
  const { promise, resolve } = deferred()
  const work = watch.monitor('a', promise)
  expect(watch.size).toBe(1)
  resolve()
  await work
  expect(watch.size).toBe(0)
})

test('work that does not settle is reported, though all earlier work has settled', async () => {
  const { clock, watch, reports } = setUp()
  await watch.monitor('a', Promise.resolve())
  void watch.monitor('b', new Promise(() => {}))
  await clock.advance(SLOW_MS)
  expect(reports).toEqual(['b 10000'])
  watch.stop()
})
