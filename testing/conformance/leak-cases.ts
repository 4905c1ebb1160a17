import { getEventListeners } from 'node:events'
import { check, eventually, sourceErrorOf, withTimeout } from './assertions.js'
import { buildCases } from './case-builder.js'
import type { CaseContext } from './case-context.js'
import { abortEverywhere, readList, readVersions, versionPages, writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'

/** Batches of a watch; and how many listeners and timers more or less a watch may have, by where it is. */
const ROUNDS = 30
const TOLERANCE = 5

export const leakCases: readonly ConformanceCase[] = buildCases('nothing is left', [
  {
    name: 'of a list that was read to its end: no listener, no timer',
    async check(context) {
      await writeMany(context, 5)
      const { signal } = new AbortController()
      await context.list({ pageSize: 2, signal })
      await expectNoLeak(context, signal)
    },
  },
  {
    name: 'of a list that was left half-way: no listener, no timer',
    async check(context) {
      await writeMany(context, 20)
      const { signal } = new AbortController()
      const pages = context.pages({ pageSize: 5, signal })
      await withTimeout(context.timeoutMs, 'the first page', pages.next())
      await withTimeout(context.timeoutMs, 'the end of a list that was left', Promise.resolve(pages.return?.()))
      await expectNoLeak(context, signal)
    },
  },
  {
    name: 'of head(): no listener, no timer',
    needs: ['head'],
    async check(context) {
      const { signal } = new AbortController()
      for (let times = 0; times < 3; times++) await context.source.head?.(context.sourceContext(signal))
      await expectNoLeak(context, signal)
    },
  },
  {
    name: 'of versions() that was read to its end, or left half-way: no listener, no timer',
    needs: ['versions'],
    async check(context) {
      await writeMany(context, 20)
      const { signal } = new AbortController()
      await withTimeout(context.timeoutMs, 'the end of versions()', readVersions(context, signal))
      await expectNoLeak(context, signal)
      const pages = versionPages(context, signal)
      await withTimeout(context.timeoutMs, 'the first page', pages.next())
      await withTimeout(context.timeoutMs, 'the end of versions() that was left', Promise.resolve(pages.return?.()))
      await expectNoLeak(context, signal)
    },
  },
  {
    name: 'of a watch that was left: no listener, no timer',
    async check(context) {
      const watch = context.watch(await context.list())
      await context.untilOpen(watch)
      await watch.leave()
      await expectNoLeak(context, watch.signal)
    },
  },
  {
    name: 'of a watch that broke off: no listener, no timer',
    needs: ['outage'],
    async check(context) {
      const watch = context.watch(await context.list())
      await context.untilOpen(watch)
      await context.callHook('disconnect')
      const end = watch.until('the end of the watch', () => false)
      await sourceErrorOf('the watch', end)
      await expectNoLeak(context, watch.signal)
    },
  },
  {
    name: 'of the batches of a watch that goes on: no listener, no timer',
    async check(context) {
      const watch = context.watch(await context.list())
      await context.untilOpen(watch)
      const [listeners, timers] = [listenersOf(watch.signal), context.clock.sleeping]
      for (let round = 0; round < ROUNDS; round++) {
        await context.put('k', `round ${round}`)
        await watch.untilEqual(context.current)
      }
      const [more, later] = [listenersOf(watch.signal) - listeners, context.clock.sleeping - timers]
      check(more <= TOLERANCE, `${ROUNDS} batches later there are ${more} more listeners on the signal`)
      check(later <= TOLERANCE, `${ROUNDS} batches later there are ${later} more timers`)
    },
  },
  {
    name: 'of a watch that was aborted: no timer',
    async check(context) {
      const listing = await context.list()
      for (let times = 0; times < 5; times++) {
        const watch = context.watch(listing)
        await context.untilOpen(watch)
        await watch.stop()
      }
      await eventually(context.timeoutMs, 'no timer is left', () => context.clock.sleeping === 0)
    },
  },
  {
    name: 'open of calls that have ended, however they ended',
    needs: ['connections'],
    async check(context) {
      await writeMany(context, 20)
      const before = await context.connections()
      const listing = await context.list({ pageSize: 5 })
      const left = context.pages({ pageSize: 5 })
      await withTimeout(context.timeoutMs, 'the first page', left.next())
      await left.return?.()
      await abortEverywhere(context, 'a list', (signal) => readList(context, signal), 10)
      for (let times = 0; times < 5; times++) {
        const watch = context.watch(listing)
        await context.untilOpen(watch)
        await (times === 0 ? watch.leave() : watch.stop())
      }
      let count = before
      try {
        await eventually(context.timeoutMs, 'as much is open as before', async () => {
          count = await context.connections()
          return count <= before
        })
      } catch (error) {
        throw new Error(`${count} are open; it were ${before} before all calls ended`, { cause: error })
      }
    },
  },
])

async function expectNoLeak(context: CaseContext, signal: AbortSignal): Promise<void> {
  await eventually(context.timeoutMs, 'no timer is left', () => context.clock.sleeping === 0)
  const count = listenersOf(signal)
  check(count === 0, `${count} listeners are left on the signal`)
}

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}
