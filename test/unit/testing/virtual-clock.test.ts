import { getEventListeners } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/virtual-clock.js'

test('the time begins with 2026, and does not change without advance', async () => {
  expect(new VirtualClock().now()).toBe(Date.parse('2026-01-01T00:00:00Z'))
  const clock = new VirtualClock(1_000)
  let isAwake = false
  void clock.sleep(1).then(() => (isAwake = true))
  await turn()
  expect([clock.now(), isAwake]).toEqual([1_000, false])
  await clock.advance(1)
})

test('advance ends the sleeps that become due, in the order of their times and then of their calls', async () => {
  const clock = new VirtualClock(0)
  const woken: string[] = []
  const sleep = (ms: number, name: string): void =>
    void clock.sleep(ms).then(() => woken.push(`${name}@${clock.now()}`))
  sleep(20, 'b')
  sleep(10, 'a')
  sleep(20, 'c')
  sleep(30.5, 'late')
  await clock.advance(30)
  expect(woken).toEqual(['a@10', 'b@20', 'c@20'])
  await clock.advance(1)
  expect(woken).toEqual(['a@10', 'b@20', 'c@20', 'late@30.5'])
})

test('what follows from a moment has happened before the next moment comes', async () => {
  const clock = new VirtualClock(0)
  const seen: string[] = []
  const chain = async (): Promise<void> => {
    await clock.sleep(10)
    for (let i = 0; i < 50; i++) await Promise.resolve()
    seen.push(`chain@${clock.now()}`)
    await clock.sleep(1)
    seen.push(`its sleep@${clock.now()}`)
  }
  void chain()
  void clock.sleep(12).then(() => seen.push(`next@${clock.now()}`))
  await clock.advance(20)
  expect(seen).toEqual(['chain@10', 'its sleep@11', 'next@12'])
})

test('a sleep of 0 or less waits for the next advance, even one of 0', async () => {
  const clock = new VirtualClock(0)
  const woken: number[] = []
  void clock.sleep(0).then(() => woken.push(0))
  void clock.sleep(-5).then(() => woken.push(-5))
  await turn()
  expect(woken).toEqual([])
  await clock.advance(0)
  expect(woken).toEqual([0, -5])
})

test('the time does not go back while it is advanced twice', async () => {
  const clock = new VirtualClock(0)
  const seen: number[] = []
  void clock.sleep(10).then(() => seen.push(clock.now()))
  const advanced = Promise.all([clock.advance(20), clock.advance(5)])
  await turn().then(() => seen.push(clock.now()))
  await advanced
  expect([...seen, clock.now()]).toEqual([10, 10, 20])
})

test('a sleep ends with the reason of its signal, and leaves no listener', async () => {
  const clock = new VirtualClock()
  const control = new AbortController()
  const [sleep, aborted] = [clock.sleep(10, control.signal), clock.sleep(20, control.signal)]
  await clock.advance(10)
  await sleep
  control.abort('enough')
  await expect(aborted).rejects.toBe('enough')
  await expect(clock.sleep(10, AbortSignal.abort('before'))).rejects.toBe('before')
  expect(clock.sleeping).toBe(0)
  expect(getEventListeners(control.signal, 'abort')).toHaveLength(0)
})

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('advance refuses %d', async (ms) => {
  await expect(new VirtualClock().advance(ms)).rejects.toThrow(TypeError)
})
