import { getEventListeners } from 'node:events'
import type { ConformanceCase } from './conformance-case.js'
import { casesOf } from './define-cases.js'
import { fill } from './list-cases.js'
import { check, eventually, within } from './patience.js'
import { abortEverywhere, readList } from './signal-cases.js'
import type { Trial } from './trial.js'

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
])

async function expectNothing(trial: Trial, signal: AbortSignal): Promise<void> {
  await eventually(trial.patienceMs, 'no timer is left', () => trial.clock.sleeping === 0)
  const count = getEventListeners(signal, 'abort').length
  check(count === 0, `${count} listeners are left on the signal`)
}
