import { getEventListeners } from 'node:events'
import { abortEverywhere, readList, readVersions, versionPages, writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import { collectGarbageUntil } from './garbage-collection.js'
import { check, eventually, sourceErrorOf, withTimeout } from './run/assertions.js'
import { buildCases, needs } from './run/case-builder.js'
import type { CaseContext } from './run/case-context.js'

/** The number of batches, and the allowed difference in listeners and timers of a watch. */
const ROUNDS = 30
const TOLERANCE = 5

export const leakCases: readonly ConformanceCase[] = buildCases('leaks', [], {
  'a complete list leaves no listener and no timer': async (context) => {
    await writeMany(context, 5)
    const { signal } = new AbortController()
    await context.list({ pageSize: 2, signal })
    await expectNoLeak(context, signal)
  },
  'an abandoned list leaves no listener and no timer': async (context) => {
    await writeMany(context, 20)
    const { signal } = new AbortController()
    const pages = context.pages({ pageSize: 5, signal })
    await withTimeout(context.timeoutMs, 'the first page', pages.next())
    await withTimeout(context.timeoutMs, 'the end of an abandoned list', Promise.resolve(pages.return?.()))
    await expectNoLeak(context, signal)
  },
  'head() leaves no listener and no timer': needs(['head'], async (context) => {
    const { signal } = new AbortController()
    for (let times = 0; times < 3; times++) await context.source.head?.(context.sourceContext(signal))
    await expectNoLeak(context, signal)
  }),
  'a complete and an abandoned versions() leave no listener and no timer': needs(['versions'], async (context) => {
    await writeMany(context, 20)
    const { signal } = new AbortController()
    await withTimeout(context.timeoutMs, 'the end of versions()', readVersions(context, signal))
    await expectNoLeak(context, signal)
    const pages = versionPages(context, signal)
    await withTimeout(context.timeoutMs, 'the first page', pages.next())
    await withTimeout(context.timeoutMs, 'the end of an abandoned versions()', Promise.resolve(pages.return?.()))
    await expectNoLeak(context, signal)
  }),
  'an abandoned watch leaves no listener and no timer': async (context) => {
    const watch = await context.openWatch()
    await watch.leave()
    await expectNoLeak(context, watch.signal)
  },
  'a failed watch leaves no listener and no timer': needs(['outage'], async (context) => {
    const watch = await context.openWatch()
    await context.subject.disconnect?.()
    const end = watch.until('the end of the watch', () => false)
    await sourceErrorOf('the watch', end)
    await expectNoLeak(context, watch.signal)
  }),
  'the batches of an open watch leave no listener and no timer': async (context) => {
    const watch = await context.openWatch()
    const [listeners, timers] = [listenersOf(watch.signal), context.clock.sleeping]
    for (let round = 0; round < ROUNDS; round++) {
      await context.put('k', `round ${round}`)
      await watch.untilEqual(context.current)
    }
    const more = (await listenersLeft(watch.signal, listeners + TOLERANCE)) - listeners
    const later = context.clock.sleeping - timers
    check(more <= TOLERANCE, `${ROUNDS} batches later there are ${more} more listeners on the signal`)
    check(later <= TOLERANCE, `${ROUNDS} batches later there are ${later} more timers`)
  },
  'an aborted watch leaves no timer': async (context) => {
    const listing = await context.list()
    for (let times = 0; times < 5; times++) {
      const watch = context.watch(listing)
      await context.untilOpen(watch)
      await watch.stop()
    }
    await eventually(context.timeoutMs, 'no timer is left', () => context.clock.sleeping === 0)
  },
  'calls leave no connection open, in whatever way they end': needs(['connections'], async (context) => {
    await writeMany(context, 20)
    const before = await context.connections()
    const listing = await context.list({ pageSize: 5 })
    const abandoned = context.pages({ pageSize: 5 })
    await withTimeout(context.timeoutMs, 'the first page', abandoned.next())
    await abandoned.return?.()
    await abortEverywhere(context, 'a list', (signal) => readList(context, signal), 10)
    for (let times = 0; times < 5; times++) {
      const watch = context.watch(listing)
      await context.untilOpen(watch)
      await (times === 0 ? watch.leave() : watch.stop())
    }
    let count = before
    try {
      await eventually(context.timeoutMs, 'no more is open than before', async () => {
        count = await context.connections()
        return count <= before
      })
    } catch (error) {
      throw new Error(`${count} connections are open; there were ${before} before the calls`, { cause: error })
    }
  }),
})

async function expectNoLeak(context: CaseContext, signal: AbortSignal): Promise<void> {
  await eventually(context.timeoutMs, 'no timer is left', () => context.clock.sleeping === 0)
  const count = await listenersLeft(signal, 0)
  check(count === 0, `${count} listeners are left on the signal`)
}

/** If there are more than allowed, garbage is collected: `fetch` of Node removes its listener only then. */
async function listenersLeft(signal: AbortSignal, allowed: number): Promise<number> {
  await collectGarbageUntil(() => listenersOf(signal) <= allowed)
  return listenersOf(signal)
}

function listenersOf(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}
