import { describe, expect, test } from 'vitest'
import { ProofTimes } from '../../adapters/kubernetes/watch/probe-schedule.js'

/** When a server would be asked; it never says. */
function timesOf(count: number, act: (times: ProofTimes, now: number) => void): number[] {
  const times = new ProofTimes()
  const asked: number[] = []
  times.wanted(0)
  for (let n = 0; n < count; n++) {
    const at = times.at ?? Number.NaN
    asked.push(at)
    times.begun(at)
    act(times, at)
  }
  return asked
}

const gaps = (asked: readonly number[]): number[] => asked.slice(1).map((at, n) => at - (asked[n] ?? 0))

describe('a server is asked where it is', () => {
  test('for nobody, never', () => {
    expect(new ProofTimes().at).toBeUndefined()
  })

  test('a moment after somebody begins to wait, however often that is said', () => {
    const times = new ProofTimes()
    for (let now = 0; now < 250; now += 10) times.wanted(now)
    expect(times.at).toBe(250)
  })

  test('at most once a second, whoever begins to wait', () => {
    expect(gaps(timesOf(4, (times, now) => times.wanted(now)))).toEqual([1_000, 1_000, 1_000])
  })

  test('ever more rarely where it does not say, and never less often than every 30 s', () => {
    const asked = timesOf(10, (times, now) => times.vain(now))
    expect(gaps(asked)).toEqual([1_000, 1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  })

  test('not before it wishes, nor soon where it could not be asked', () => {
    expect(gaps(timesOf(3, (times, now) => times.failed(now, 20_000)))).toEqual([20_000, 20_000])
    expect(gaps(timesOf(3, (times, now) => times.failed(now)))).toEqual([5_000, 5_000])
  })

  test('at most every 10 s while there is news', () => {
    const asked = timesOf(3, (times, now) => {
      times.wanted(now)
      times.news()
      times.news()
    })
    expect(gaps(asked)).toEqual([10_000, 10_000])
  })

  test('no more where nobody waits any longer', () => {
    const times = new ProofTimes()
    times.wanted(0)
    times.unwanted()
    expect(times.at).toBeUndefined()
  })
})
