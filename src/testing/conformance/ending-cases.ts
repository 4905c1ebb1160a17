import { getEventListeners } from 'node:events'
import { systemClock } from '../../clock.js'
import { type ConformanceCase, casesOf } from './conformance-case.js'
import { fill } from './list-cases.js'
import { check, endsInTime, eventually, within } from './patience.js'
import type { Trial } from './trial.js'
import { spread } from './version-cases.js'

/** At how many moments of its life a call is aborted. */
const CUTS = 30

export const endingCases: readonly ConformanceCase[] = [
  ...casesOf('the signal', [
    {
      name: 'ends a list within 100 ms, wherever it is',
      async check(trial) {
        await fill(trial, 20)
        await abortEverywhere(trial, 'a list', (signal) => readList(trial, signal))
      },
    },
    {
      name: 'ends a watch within 100 ms, wherever it is',
      async check(trial) {
        const { version: after } = await trial.list()
        await fill(trial, 20)
        await abortEverywhere(trial, 'a watch', async (signal, hasSpoken) => {
          for await (const _ of trial.source.watch({ ...trial.context(signal), after, onNudge: () => {} })) hasSpoken()
        })
      },
    },
    {
      name: 'ends a watch within 100 ms that waits for something to happen',
      async check(trial) {
        const watching = trial.watch(await trial.list())
        await trial.opened(watching)
        const waiting = watching.next('something that never comes').catch(() => {})
        await systemClock.sleep(20)
        await watching.stop()
        watching.abort()
        await endsInTime('what waited for a watch', waiting)
      },
    },
    {
      name: 'ends a list within 100 ms between two pages',
      async check(trial) {
        await fill(trial, 20)
        const stop = new AbortController()
        const pages = trial.pages({ pageSize: 5, signal: stop.signal })
        await within(trial.patienceMs, 'the first page', pages.next())
        stop.abort()
        await endsInTime('a list', drain(pages))
      },
    },
    {
      name: 'ends head() within 100 ms, wherever it is',
      needs: ['head'],
      async check(trial) {
        await abortEverywhere(trial, 'head()', async (signal) => {
          await trial.source.head?.(trial.context(signal))
        })
      },
    },
    {
      name: 'that has aborted lets nothing begin',
      async check(trial) {
        await fill(trial, 2)
        const { version: after } = await trial.list()
        const context = trial.context(AbortSignal.abort())
        const list = trial.source.list({ ...context, pageSize: 10 })[Symbol.asyncIterator]()
        const watch = trial.source.watch({ ...context, after, onNudge: () => {} })[Symbol.asyncIterator]()
        for (const [what, iterator] of [
          ['a list', list],
          ['a watch', watch],
        ] as const) {
          const first = iterator.next().catch(() => ({ done: true }))
          await endsInTime(what, first)
          check((await first).done === true, `${what} gave something though its signal had aborted before`)
        }
      },
    },
    {
      name: 'of one watch is no business of another',
      async check(trial) {
        const listing = await trial.list()
        const [one, other] = [trial.watch(listing), trial.watch(listing)]
        await trial.opened(one, other)
        await one.stop()
        await fill(trial, 2)
        await other.reaches(trial.now)
        await trial.list()
      },
    },
  ]),
  ...casesOf('nothing is left', [
    {
      name: 'of a list that was read to its end: no listener, no timer',
      async check(trial) {
        await fill(trial, 5)
        const { signal } = new AbortController()
        await trial.list({ pageSize: 2, signal })
        await expectNothing(trial, signal)
      },
    },
    {
      name: 'of a list that was left half-way: no listener, no timer',
      async check(trial) {
        await fill(trial, 20)
        const { signal } = new AbortController()
        const pages = trial.pages({ pageSize: 5, signal })
        await within(trial.patienceMs, 'the first page', pages.next())
        await within(trial.patienceMs, 'the end of a list that was left', Promise.resolve(pages.return?.()))
        await expectNothing(trial, signal)
      },
    },
    {
      name: 'of head(): no listener, no timer',
      needs: ['head'],
      async check(trial) {
        const { signal } = new AbortController()
        for (let times = 0; times < 3; times++) await trial.source.head?.(trial.context(signal))
        await expectNothing(trial, signal)
      },
    },
    {
      name: 'of a watch that was aborted: no timer',
      async check(trial) {
        const listing = await trial.list()
        for (let times = 0; times < 5; times++) {
          const watching = trial.watch(listing)
          await trial.opened(watching)
          await watching.stop()
        }
        await eventually(trial.patienceMs, 'no timer is left', () => trial.clock.sleeping === 0)
      },
    },
    {
      name: 'open of calls that have ended, however they ended',
      needs: ['connections'],
      async check(trial) {
        await fill(trial, 20)
        const before = await trial.connections()
        const listing = await trial.list({ pageSize: 5 })
        const left = trial.pages({ pageSize: 5 })
        await within(trial.patienceMs, 'the first page', left.next())
        await left.return?.()
        await abortEverywhere(trial, 'a list', (signal) => readList(trial, signal), 10)
        for (let times = 0; times < 5; times++) {
          const watching = trial.watch(listing)
          await trial.opened(watching)
          await (times === 0 ? watching.leave() : watching.stop())
        }
        let count = before
        try {
          await eventually(trial.patienceMs, 'as much is open as before', async () => {
            count = await trial.connections()
            return count <= before
          })
        } catch (error) {
          throw new Error(`${count} are open; it were ${before} before all calls ended`, { cause: error })
        }
      },
    },
  ]),
]

async function readList(trial: Trial, signal: AbortSignal): Promise<void> {
  await drain(trial.pages({ pageSize: 3, signal }))
}

async function drain(iterator: AsyncIterator<unknown>): Promise<void> {
  while ((await iterator.next()).done !== true);
}

async function expectNothing(trial: Trial, signal: AbortSignal): Promise<void> {
  await eventually(trial.patienceMs, 'no timer is left', () => trial.clock.sleeping === 0)
  const count = getEventListeners(signal, 'abort').length
  check(count === 0, `${count} listeners are left on the signal`)
}

/** Lets a call run to its end, counting turns of the event loop; then aborts it after as many as fit in between. */
async function abortEverywhere(
  trial: Trial,
  what: string,
  run: (signal: AbortSignal, hasSpoken: () => void) => Promise<void>,
  cuts = CUTS,
): Promise<void> {
  const turns = await turnsOf(trial, what, run)
  const all = Array.from({ length: turns + 2 }, (_, turn) => turn)
  for (const turn of spread(all, cuts)) {
    const stop = new AbortController()
    const work = run(stop.signal, () => {})
    work.catch(() => {}) // However it ends, it ends.
    for (let at = 0; at < turn; at++) await systemClock.sleep(0)
    stop.abort()
    await endsInTime(`${what}, aborted after ${turn} of ${turns} turns of the event loop,`, work)
  }
}

/** How long a call lives, or takes to say something. */
async function turnsOf(
  trial: Trial,
  what: string,
  run: (signal: AbortSignal, hasSpoken: () => void) => Promise<void>,
): Promise<number> {
  const stop = new AbortController()
  let isOver = false
  const end = (): void => {
    isOver = true
  }
  const work = run(stop.signal, end)
  work.then(end, end)
  const deadline = systemClock.now() + trial.patienceMs
  let turns = 0
  for (; !isOver; turns++) {
    check(systemClock.now() < deadline, `waited ${trial.patienceMs} ms in vain for ${what}`)
    await systemClock.sleep(0)
  }
  stop.abort()
  await endsInTime(what, work)
  return turns
}
