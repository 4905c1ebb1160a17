import { expect, test } from 'vitest'
import { PollTimer, ReadPace } from '../../../../adapters/common/poll-timer.js'
import { VirtualClock } from '../../../../testing/index.js'

const LONGEST_MS = 1_000

/**
 * The moments, in milliseconds, at which looks begin that take `lookMs` each. Every look finds changes, with which the mirror
 * does something for `useMs`.
 */
async function looksOf(lookMs: number, untilMs: number, wakeAt?: number, useMs = 0, changes = 1): Promise<number[]> {
  const clock = new VirtualClock(0)
  const pace = new PollTimer(clock, LONGEST_MS)
  const stop = new AbortController()
  const looks: number[] = []
  const running = (async (): Promise<void> => {
    while (!stop.signal.aborted) {
      looks.push(clock.now())
      await clock.sleep(lookMs)
      pace.changed(changes)
      if (useMs > 0) await clock.sleep(useMs)
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

type Looks = Parameters<typeof looksOf>
test.each<[title: string, Looks, number[]]>([
  ['that finds changes polls again at once, and after 5 ms if writers are busy', [1, 16], [0, 1, 2, 3, 9, 15]],
  ['rests twice as long as its last poll took longer than 2 ms', [10, 60], [0, 26, 52]],
  ['rests only for the time above 0.01 ms for each change', [20, 60, undefined, 0, 1_900], [0, 22, 44]],
  ['does not rest for the time in which its mirror uses the changes', [1, 90, undefined, 20], [0, 21, 42, 63, 89]],
  ['rests no longer than its longest delay', [1_000, 4_500], [0, 2_000, 4_000]],
  ['that is woken polls at once, also after a long poll', [10, 50, 20], [0, 20, 46]],
])('[P15] a reader %s', async (_title, looks, at) => expect(await looksOf(...looks)).toEqual(at))

/** The delays after which polls without a change begin. The longest delay is 40 ms. */
async function delaysOf(prepare: (timer: PollTimer) => unknown, polls: number): Promise<number[]> {
  const delays: number[] = []
  const clock = { now: () => 0, sleep: async (ms: number) => void delays.push(ms) }
  const timer = new PollTimer(clock, 40)
  await prepare(timer)
  for (let n = 0; n < polls; n++) await timer.next(new AbortController().signal)
  return delays
}

test('[P15] the time between two polls doubles up to the longest, and no further', async () => {
  expect(await delaysOf(() => {}, 8)).toEqual([1, 2, 4, 8, 16, 32, 40, 40])
})

test('[P15] after a change or a wake-up polls are 1 ms apart for a while, before the time doubles', async () => {
  const ones = Array.from({ length: 8 }, () => 1)
  expect(await delaysOf((timer) => timer.changed(1), 11)).toEqual([...ones, 2, 4])
  expect(await delaysOf((timer) => timer.wake(), 11)).toEqual([...ones, 1, 2])
})

test('a reader expects changes after a wake-up, and while it finds changes without one', async () => {
  const expected: boolean[] = []
  const next = async (timer: PollTimer): Promise<unknown> =>
    expected.push(await timer.next(new AbortController().signal))
  await delaysOf(async (timer) => {
    await next(timer)
    timer.wake()
    await next(timer)
    timer.changed(1) // It was announced.
    await next(timer)
    timer.changed(1)
    for (let polls = 0; polls < 10; polls++) await next(timer) // None of them finds any.
  }, 0)
  expect(expected).toEqual([false, true, false, ...Array.from({ length: 8 }, () => true), false, false])
})

test('[P15] a wake-up makes the next poll no earlier while changes arrive fast', async () => {
  const clock = new VirtualClock(0)
  const timer = new PollTimer(clock, LONGEST_MS)
  const polls: number[] = []
  const { signal } = new AbortController()
  const running = (async (): Promise<void> => {
    for (const changes of [100, 0, 0, 0]) {
      timer.changed(changes)
      timer.wake()
      await timer.next(signal)
      polls.push(clock.now())
    }
  })()
  await clock.advance(50)
  await running
  expect(polls).toEqual([2, 4, 4, 4])
})

/** The rests after reads that are `everyMs` apart, and find this number of changes each. */
async function restsOf(reads: number, everyMs: number, changes: number): Promise<number[]> {
  const clock = new VirtualClock(0)
  const pace = new ReadPace(clock)
  const rests: number[] = []
  for (let n = 0; n < reads; n++) {
    await clock.advance(everyMs)
    rests.push(pace.restMs(changes))
  }
  return rests
}

test('a reader of 3 changes a millisecond does not rest, however it divides them', async () => {
  expect(new Set(await restsOf(1_000, 1, 3))).toEqual(new Set([0]))
  expect(new Set(await restsOf(1_000, 10, 30))).toEqual(new Set([0]))
})

test('a reader of more changes rests after each read, once it has had 64 above that', async () => {
  expect(await restsOf(70, 1, 4)).toEqual([
    ...Array.from({ length: 61 }, () => 0),
    ...Array.from({ length: 9 }, () => 2),
  ])
})

test('a large transaction makes a reader rest for less than 3 ms', async () => {
  const clock = new VirtualClock(0)
  const pace = new ReadPace(clock)
  expect(pace.restMs(1_000_000)).toBe(2)
  await clock.advance(3)
  expect([pace.restMs(0), pace.isFast]).toEqual([0, false])
})
