import { systemClock } from '../../src/contract/clock.js'
import type { VersionPage } from '../../src/contract/source.js'
import { check, endsInTime, within } from './assertions.js'
import { casesOf } from './case-builder.js'
import type { Trial } from './case-context.js'
import type { ConformanceCase } from './conformance-case.js'
import { fill } from './list-cases.js'
import { spread } from './version-cases.js'

/** After how many turns of the event loop a call is aborted: after each, where it ends sooner by itself. */
const CUTS = 60
/** The same for microtasks: as far as a call gets where there is nothing to wait for. */
const STEPS = 20

export const signalCases: readonly ConformanceCase[] = casesOf('the signal', [
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
        for await (const _ of trial.source.watch({ ...trial.context(signal), after, onProgressRequest: () => {} }))
          hasSpoken()
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
      await within(trial.timeoutMs, 'the first page', pages.next())
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
    name: 'ends versions() within 100 ms, wherever it is',
    needs: ['versions'],
    async check(trial) {
      await fill(trial, 20)
      await abortEverywhere(trial, 'versions()', (signal) => readVersions(trial, signal))
    },
  },
  {
    name: 'ends versions() within 100 ms between two pages',
    needs: ['versions'],
    async check(trial) {
      await fill(trial, 20)
      const stop = new AbortController()
      const pages = versionPages(trial, stop.signal)
      await within(trial.timeoutMs, 'the first page', pages.next())
      stop.abort()
      await endsInTime('versions()', drain(pages))
    },
  },
  {
    name: 'that has aborted lets nothing begin',
    async check(trial) {
      await fill(trial, 2)
      const { version: after } = await trial.list()
      const context = trial.context(AbortSignal.abort())
      const list = trial.source.list({ ...context, pageSize: 10 })[Symbol.asyncIterator]()
      const watch = trial.source.watch({ ...context, after, onProgressRequest: () => {} })[Symbol.asyncIterator]()
      const versions = trial.source.versions?.({ ...context, pageSize: 10 })[Symbol.asyncIterator]()
      for (const [what, iterator] of [
        ['a list', list],
        ['a watch', watch],
        ['versions()', versions],
      ] as const) {
        if (iterator === undefined) continue
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
])

export async function readList(trial: Trial, signal: AbortSignal): Promise<void> {
  await drain(trial.pages({ pageSize: 3, signal }))
}

/** What `versions` gives, in pages of a few. */
export function versionPages(trial: Trial, signal: AbortSignal): AsyncIterator<VersionPage> {
  check(trial.source.versions !== undefined, 'the source has no versions()')
  return trial.source.versions({ ...trial.context(signal), pageSize: 3 })[Symbol.asyncIterator]()
}

export async function readVersions(trial: Trial, signal: AbortSignal): Promise<void> {
  await drain(versionPages(trial, signal))
}

async function drain(iterator: AsyncIterator<unknown>): Promise<void> {
  while ((await iterator.next()).done !== true);
}

/**
 * Lets a call run to its end, counting turns of the event loop; then aborts it after each of its first microtasks, and after
 * each of these turns, or as many of them as `cuts` allows.
 */
export async function abortEverywhere(
  trial: Trial,
  what: string,
  run: (signal: AbortSignal, hasSpoken: () => void) => Promise<void>,
  cuts: number = CUTS,
): Promise<void> {
  const turns = await turnsOf(trial, what, run)
  const steps = Array.from({ length: Math.min(STEPS, cuts) }, (_, step) => ({ turn: 0, step }))
  const all = Array.from({ length: turns + 1 }, (_, before) => ({ turn: before + 1, step: 0 }))
  for (const { turn, step } of [...steps, ...spread(all, cuts)]) {
    const stop = new AbortController()
    const work = run(stop.signal, () => {})
    work.catch(() => {}) // However it ends, it ends.
    for (let at = 0; at < turn; at++) await systemClock.sleep(0)
    for (let at = 0; at < step; at++) await Promise.resolve()
    stop.abort()
    const moment = turn === 0 ? `${step} microtasks` : `${turn} of ${turns} turns of the event loop`
    await endsInTime(`${what}, aborted after ${moment},`, work)
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
  const deadline = systemClock.now() + trial.timeoutMs
  let turns = 0
  for (; !isOver; turns++) {
    check(systemClock.now() < deadline, `waited in vain for ${what}`)
    await systemClock.sleep(0)
  }
  stop.abort()
  await endsInTime(what, work)
  return turns
}
