import { systemClock } from '../../src/contract/clock.js'
import type { VersionPage } from '../../src/contract/source.js'
import { assertEndsInTime, check } from './assertions.js'
import type { CaseContext } from './case-context.js'
import type { WatchRecorder } from './watch-recorder.js'

/** After how many turns of the event loop a call is aborted: after each, where it ends sooner by itself. */
const MAX_ABORTS = 60
/** The same for microtasks: as far as a call gets where there is nothing to wait for. */
const MAX_MICROTASKS = 20

/** Writes `k0`, `k1` and so on as one transaction, or one after the other. */
export async function writeMany(context: CaseContext, count: number, value = 'v'): Promise<void> {
  const changes = Array.from({ length: count }, (_, at) => ({ key: `k${at}`, value: `${value}${at}` }))
  await context.write(...changes)
}

/** A watch that has seen some life: writes, deletes, bookmarks between them. */
export async function watchUnderLoad(context: CaseContext): Promise<WatchRecorder> {
  await writeMany(context, 3)
  const watch = context.watch(await context.list())
  await context.untilOpen(watch)
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

/** At most so many of them, the first and the last among them. */
export function sample<V>(all: readonly V[], count: number): readonly V[] {
  if (all.length <= count) return all
  return Array.from({ length: count }, (_, at) => all[Math.round((at * (all.length - 1)) / (count - 1))]).filter(
    (each) => each !== undefined,
  )
}

export async function readList(context: CaseContext, signal: AbortSignal): Promise<void> {
  await drain(context.pages({ pageSize: 3, signal }))
}

/** What `versions` gives, in pages of a few. */
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
 * Lets a call run to its end, counting turns of the event loop; then aborts it after each of its first microtasks, and after
 * each of these turns, or as many of them as `cuts` allows.
 */
export async function abortEverywhere(
  context: CaseContext,
  what: string,
  run: (signal: AbortSignal, hasSpoken: () => void) => Promise<void>,
  cuts: number = MAX_ABORTS,
): Promise<void> {
  const turns = await countTurns(context, what, run)
  const steps = Array.from({ length: Math.min(MAX_MICROTASKS, cuts) }, (_, step) => ({ turn: 0, step }))
  const all = Array.from({ length: turns + 1 }, (_, before) => ({ turn: before + 1, step: 0 }))
  for (const { turn, step } of [...steps, ...sample(all, cuts)]) {
    const stop = new AbortController()
    const work = run(stop.signal, () => {})
    work.catch(() => {}) // However it ends, it ends.
    for (let at = 0; at < turn; at++) await systemClock.sleep(0)
    for (let at = 0; at < step; at++) await Promise.resolve()
    stop.abort()
    const moment = turn === 0 ? `${step} microtasks` : `${turn} of ${turns} turns of the event loop`
    await assertEndsInTime(`${what}, aborted after ${moment},`, work)
  }
}

/** How long a call lives, or takes to say something. */
async function countTurns(
  context: CaseContext,
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
  const deadline = systemClock.now() + context.timeoutMs
  let turns = 0
  for (; !isOver; turns++) {
    check(systemClock.now() < deadline, `waited in vain for ${what}`)
    await systemClock.sleep(0)
  }
  stop.abort()
  await assertEndsInTime(what, work)
  return turns
}
