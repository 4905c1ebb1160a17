import { describe, expect, test } from 'vitest'
import { ProbeSchedule } from '../../../../adapters/kubernetes/watch/probe-schedule.js'

/** When probes would start, if each is inconclusive. */
function timesOf(count: number, act: (times: ProbeSchedule, now: number) => void): number[] {
  const times = new ProbeSchedule()
  const requested: number[] = []
  times.request(0)
  for (let n = 0; n < count; n++) {
    const at = times.at ?? Number.NaN
    requested.push(at)
    times.start(at)
    act(times, at)
  }
  return requested
}

const gaps = (requested: readonly number[]): number[] => requested.slice(1).map((at, n) => at - (requested[n] ?? 0))

describe('a probe starts', () => {
  test('never without a request', () => expect(new ProbeSchedule().at).toBeUndefined())

  test('250 ms after the first of several requests', () => {
    const times = new ProbeSchedule()
    for (let now = 0; now < 250; now += 10) times.request(now)
    expect(times.at).toBe(250)
  })

  test('at most once a second, however many readers wait', () => {
    expect(gaps(timesOf(4, (times, now) => times.request(now)))).toEqual([1_000, 1_000, 1_000])
  })

  test('ever more rarely if probes are inconclusive, and at least every 30 s', () => {
    const requested = timesOf(10, (times, now) => times.recordInconclusive(now))
    expect(gaps(requested)).toEqual([1_000, 1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  test('not before Retry-After, nor soon after a failure', () => {
    expect(gaps(timesOf(3, (times, now) => times.recordFailure(now, 20_000)))).toEqual([20_000, 20_000])
    expect(gaps(timesOf(3, (times, now) => times.recordFailure(now)))).toEqual([5_000, 5_000])
  })

  test('at most every 10 s while events arrive', () => {
    const requested = timesOf(3, (times, now) => {
      times.request(now)
      times.postpone()
      times.postpone()
    })
    expect(gaps(requested)).toEqual([10_000, 10_000])
  })

  test('no more after the last reader has stopped waiting', () => {
    const times = new ProbeSchedule()
    times.request(0)
    times.cancel()
    expect(times.at).toBeUndefined()
  })
})
