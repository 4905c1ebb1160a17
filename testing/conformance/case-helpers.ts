import { systemClock } from '../../src/contract/clock.js'
import type { VersionPage } from '../../src/contract/source.js'
import { assertEndsInTime, check } from './run/assertions.js'
import type { CaseContext } from './run/case-context.js'
import type { WatchRecorder } from './run/watch-recorder.js'

/** A call is aborted after each turn of the event loop, or after this many of them, spread over its duration. */
const MAX_ABORTS = 60
/** A call is also aborted after each of this many first microtasks. */
const MAX_MICROTASKS = 20

/** Writes `k0`, `k1` and so on as one transaction, or one by one. */
export async function writeMany(context: CaseContext, count: number, value = 'v'): Promise<void> {
  const changes = Array.from({ length: count }, (_, at) => ({ key: `k${at}`, value: `${value}${at}` }))
  await context.write(...changes)
}

/** Returns a watch that has received writes, deletes, and bookmarks between them. */
export async function watchUnderLoad(context: CaseContext): Promise<WatchRecorder> {
  await writeMany(context, 3)
  const watch = await context.openWatch()
  for (let round = 0; round < 12; round++) {
    await context.write(
      { key: `k${round % 4}`, value: `round ${round}` },
      { key: `k${(round + 2) % 4}`, value: round % 3 === 0 ? undefined : `with ${round}` },
    )
    if (round % 2 === 0) await watch.untilEqual(context.current)
    if (round % 4 === 0 && context.supports('progressRequests')) {
      watch.requestProgress()
      await watch.next('the answer to a progress request')
    }
  }
  await watch.untilEqual(context.current)
  return watch
}

/** Returns at most `count` of the values, evenly spread, with the first and the last. */
export function sample<V>(all: readonly V[], count: number): readonly V[] {
  if (all.length <= count) return all
  return Array.from({ length: count }, (_, at) => all[Math.round((at * (all.length - 1)) / (count - 1))]).filter(
    (each) => each !== undefined,
  )
}

export async function readList(context: CaseContext, signal: AbortSignal): Promise<void> {
  await drain(context.pages({ pageSize: 3, signal }))
}

/** Returns the pages of `versions`, of 3 keys each. */
export function versionPages(context: CaseContext, signal: AbortSignal): AsyncIterator<VersionPage> {
  check(context.source.versions !== undefined, 'the source has no versions()')
  return context.source.versions({ ...context.sourceContext(signal), pageSize: 3 })[Symbol.asyncIterator]()
}

export async function readVersions(context: CaseContext, signal: AbortSignal): Promise<void> {
  await drain(versionPages(context, signal))
}

export async function drain(iterator: AsyncIterator<unknown>): Promise<void> {
  while ((await iterator.next()).done !== true);
}

/**
 * Runs a call to its end and counts its turns of the event loop. Then it runs the call again and again, and aborts it
 * after each of its first microtasks and turns: at most `maxAborts` of each.
 */
export async function abortEverywhere(
  context: CaseContext,
  what: string,
  run: (signal: AbortSignal, hasYielded: () => void) => Promise<void>,
  maxAborts: number = MAX_ABORTS,
): Promise<void> {
  const turns = await countTurns(context, what, run)
  const steps = Array.from({ length: Math.min(MAX_MICROTASKS, maxAborts) }, (_, step) => ({ turn: 0, step }))
  const all = Array.from({ length: turns + 1 }, (_, before) => ({ turn: before + 1, step: 0 }))
  for (const { turn, step } of [...steps, ...sample(all, maxAborts)]) {
    const stop = new AbortController()
    const work = run(stop.signal, () => {})
    work.catch(() => {}) // It may fail or succeed.
    for (let at = 0; at < turn; at++) await systemClock.sleep(0)
    for (let at = 0; at < step; at++) await Promise.resolve()
    stop.abort()
    const progress = turn === 0 ? `${step} microtasks` : `${turn} of ${turns} turns of the event loop`
    await assertEndsInTime(`${what}, aborted after ${progress},`, work)
  }
}

/** Counts the turns of the event loop until a call ends, or yields something. */
async function countTurns(
  context: CaseContext,
  what: string,
  run: (signal: AbortSignal, hasYielded: () => void) => Promise<void>,
): Promise<number> {
  const stop = new AbortController()
  let isDone = false
  const end = (): void => {
    isDone = true
  }
  const work = run(stop.signal, end)
  work.then(end, end)
  const deadline = systemClock.now() + context.timeoutMs
  let turns = 0
  for (; !isDone; turns++) {
    check(systemClock.now() < deadline, `timed out waiting for ${what}`)
    await systemClock.sleep(0)
  }
  stop.abort()
  await assertEndsInTime(what, work)
  return turns
}
