import { systemClock } from '../../src/contract/clock.js'
import { abortEverywhere, drain, readList, readVersions, versionPages, writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import { assertEndsInTime, check, withTimeout } from './run/assertions.js'
import { buildCases, needs } from './run/case-builder.js'

export const signalCases: readonly ConformanceCase[] = buildCases('signals', [], {
  'an aborted list ends within 100 ms at every await': async (context) => {
    await writeMany(context, 20)
    await abortEverywhere(context, 'a list', (signal) => readList(context, signal))
  },
  'an aborted watch ends within 100 ms at every await': async (context) => {
    const { version: after } = await context.list()
    await writeMany(context, 20)
    await abortEverywhere(context, 'a watch', async (signal, hasYielded) => {
      for await (const _ of context.source.watch({
        ...context.sourceContext(signal),
        after,
        onProgressRequest: () => {},
      }))
        hasYielded()
    })
  },
  'an aborted watch that waits for a change ends within 100 ms': async (context) => {
    const watch = await context.openWatch()
    const waiting = watch.next('a change that never happens').catch(() => {})
    await systemClock.sleep(20)
    await watch.stop()
    await assertEndsInTime('a pending call of next()', waiting)
  },
  'a list that is aborted between two pages ends within 100 ms': async (context) => {
    await writeMany(context, 20)
    const stop = new AbortController()
    const pages = context.pages({ pageSize: 5, signal: stop.signal })
    await withTimeout(context.timeoutMs, 'the first page', pages.next())
    stop.abort()
    await assertEndsInTime('a list', drain(pages))
  },
  'an aborted head() ends within 100 ms at every await': needs(['head'], async (context) => {
    await abortEverywhere(context, 'head()', async (signal) => {
      await context.source.head?.(context.sourceContext(signal))
    })
  }),
  'an aborted versions() ends within 100 ms at every await': needs(['versions'], async (context) => {
    await writeMany(context, 20)
    await abortEverywhere(context, 'versions()', (signal) => readVersions(context, signal))
  }),
  'a versions() that is aborted between two pages ends within 100 ms': needs(['versions'], async (context) => {
    await writeMany(context, 20)
    const stop = new AbortController()
    const pages = versionPages(context, stop.signal)
    await withTimeout(context.timeoutMs, 'the first page', pages.next())
    stop.abort()
    await assertEndsInTime('versions()', drain(pages))
  }),
  'a call with an aborted signal yields nothing': async (context) => {
    await writeMany(context, 2)
    const { version: after } = await context.list()
    const aborted = context.sourceContext(AbortSignal.abort())
    const list = context.source.list({ ...aborted, pageSize: 10 })[Symbol.asyncIterator]()
    const watch = context.source.watch({ ...aborted, after, onProgressRequest: () => {} })[Symbol.asyncIterator]()
    const versions = context.source.versions?.({ ...aborted, pageSize: 10 })[Symbol.asyncIterator]()
    for (const [what, iterator] of [
      ['a list', list],
      ['a watch', watch],
      ['versions()', versions],
    ] as const) {
      if (iterator === undefined) continue
      const first = iterator.next().catch(() => ({ done: true }))
      await assertEndsInTime(what, first)
      check((await first).done === true, `${what} yielded something although its signal had aborted before`)
    }
  },
  'the signal of one watch does not affect another': async (context) => {
    const listing = await context.list()
    const [one, other] = [context.watch(listing), context.watch(listing)]
    await context.untilOpen(one, other)
    await one.stop()
    await writeMany(context, 2)
    await other.untilEqual(context.current)
    await context.list()
  },
})
