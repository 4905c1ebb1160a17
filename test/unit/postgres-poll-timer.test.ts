import { expect, test } from 'vitest'
import { PollTimer } from '../../adapters/postgres/poll-timer.js'
import { VirtualClock } from '../../testing/index.js'

const LONGEST_MS = 1_000

/** The moments, in milliseconds, at which looks begin that take `lookMs` each; every look finds changes. */
async function looksOf(lookMs: number, untilMs: number, wakeAt?: number): Promise<number[]> {
  const clock = new VirtualClock(0)
  const pace = new PollTimer(clock, LONGEST_MS)
  const stop = new AbortController()
  const looks: number[] = []
  const running = (async (): Promise<void> => {
    while (!stop.signal.aborted) {
      looks.push(clock.now())
      await clock.sleep(lookMs)
      pace.changed()
      await pace.next(stop.signal)
    }
  })()
  if (wakeAt !== undefined) {
    await clock.advance(wakeAt)
    pace.wake()
  }
  await clock.advance(untilMs - clock.now())
  stop.abort()
  await clock.advance(LONGEST_MS)
  await running
  return looks.filter((at) => at <= untilMs)
}

test('a reader that finds changes looks again 5 ms after a short look', async () => {
  expect(await looksOf(1, 20)).toEqual([0, 6, 12, 18])
})

test('a reader rests four times as long as its last look took', async () => {
  expect(await looksOf(10, 120)).toEqual([0, 50, 100])
})

test('a reader rests no longer than its longest delay', async () => {
  expect(await looksOf(1_000, 4_500)).toEqual([0, 2_000, 4_000])
})

test('a reader that is woken looks at once, also after a long look', async () => {
  expect(await looksOf(10, 80, 20)).toEqual([0, 20, 70])
})

test('the time between two looks doubles up to the longest, and no further', async () => {
  const delays: number[] = []
  const clock = { now: () => 0, sleep: async (ms: number) => void delays.push(ms) }
  const pace = new PollTimer(clock, 40)
  for (let looks = 0; looks < 6; looks++) await pace.next(new AbortController().signal)
  expect(delays).toEqual([5, 10, 20, 40, 40, 40])
})
