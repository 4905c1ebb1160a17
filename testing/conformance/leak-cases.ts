import { getEventListeners } from 'node:events'
import { check, eventually, sourceErrorOf, within } from './assertions.js'
import { casesOf } from './case-builder.js'
import type { Trial } from './case-context.js'
import type { ConformanceCase } from './conformance-case.js'
import { fill } from './list-cases.js'
import { abortEverywhere, readList, readVersions, versionPages } from './signal-cases.js'

/** Batches of a watch; and how many listeners and timers more or less a watch may have, by where it is. */
const ROUNDS = 30
const SOME = 5

export const leakCases: readonly ConformanceCase[] = casesOf('nothing is left', [
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
      await within(trial.timeoutMs, 'the first page', pages.next())
      await within(trial.timeoutMs, 'the end of a list that was left', Promise.resolve(pages.return?.()))
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
    name: 'of versions() that was read to its end, or left half-way: no listener, no timer',
    needs: ['versions'],
    async check(trial) {
      await fill(trial, 20)
      const { signal } = new AbortController()
      await within(trial.timeoutMs, 'the end of versions()', readVersions(trial, signal))
      await expectNothing(trial, signal)
      const pages = versionPages(trial, signal)
      await within(trial.timeoutMs, 'the first page', pages.next())
      await within(trial.timeoutMs, 'the end of versions() that was left', Promise.resolve(pages.return?.()))
      await expectNothing(trial, signal)
    },
  },
  {
    name: 'of a watch that was left: no listener, no timer',
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      await watching.leave()
      await expectNothing(trial, watching.signal)
    },
  },
  {
    name: 'of a watch that broke off: no listener, no timer',
    needs: ['outage'],
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      await trial.hook('disconnect')
      const end = watching.until('the end of the watch', () => false)
      await sourceErrorOf('the watch', end)
      await expectNothing(trial, watching.signal)
    },
  },
  {
    name: 'of the batches of a watch that goes on: no listener, no timer',
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      const [listeners, timers] = [listenersOf(watching.signal), trial.clock.sleeping]
      for (let round = 0; round < ROUNDS; round++) {
        await trial.put('k', `round ${round}`)
        await watching.reaches(trial.now)
      }
      const [more, later] = [listenersOf(watching.signal) - listeners, trial.clock.sleeping - timers]
      check(more <= SOME, `${ROUNDS} batches later there are ${more} more listeners on the signal`)
      check(later <= SOME, `${ROUNDS} batches later there are ${later} more timers`)
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
      await eventually(trial.timeoutMs, 'no timer is left', () => trial.clock.sleeping === 0)
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
      await within(trial.timeoutMs, 'the first page', left.next())
      await left.return?.()
      await abortEverywhere(trial, 'a list', (signal) => readList(trial, signal), 10)
      for (let times = 0; times < 5; times++) {
        const watching = trial.watch(listing)
        await trial.opened(watching)
        await (times === 0 ? watching.leave() : watching.stop())
      }
      let count = before
      try {
        await eventually(trial.timeoutMs, 'as much is open as before', async () => {
          count = await trial.connections()
          return count <= before
        })
      } catch (error) {
        throw new Error(`${count} are open; it were ${before} before all calls ended`, { cause: error })
      }
    },
  },
])

async function expectNothing(trial: Trial, signal: AbortSignal): Promise<void> {
  await eventually(trial.timeoutMs, 'no timer is left', () => trial.clock.sleeping === 0)
  const count = listenersOf(signal)
  check(count === 0, `${count} listeners are left on the signal`)
}

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}
