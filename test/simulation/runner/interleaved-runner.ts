import { restoreWallClock } from '../system/wall-clock.js'
import { kindTable } from './kind-table.js'
import type { Kind, Outcome, ScheduleOptions } from './schedule.js'
import type { World } from './world.js'

/** The number of schedules that take their steps together and share one turn of the event loop. */
const LANES = 8

type Lane = { readonly world: World; readonly run: Generator<undefined, void> }

export interface RunOptions {
  /** Default: of one source. */
  readonly kind?: Kind | undefined
  readonly only?: readonly string[] | undefined
  /** The number of schedules that run at a time. It does not change any of them. */
  readonly lanes?: number | undefined
}

/**
 * Runs schedules. Between two steps of a schedule, the event loop runs, so that all consequences of a step happen
 * before the next. Schedules share nothing. `done` is called for each, and returns true to end the run.
 */
export async function runAll(
  seeds: Iterable<number>,
  done: (outcome: Outcome) => boolean | undefined,
  { kind = 'one', lanes = kindTable[kind].lanes ?? LANES, only }: RunOptions = {},
): Promise<void> {
  const OfKind = await kindTable[kind].load()
  const next = seeds[Symbol.iterator]()
  const open: Lane[] = []
  let isOver = false
  let unhandled = 0
  const onUnhandled = (): void => void unhandled++
  const refill = (): void => {
    while (!isOver && open.length < lanes) {
      const seed = next.next()
      if (seed.done) isOver = true
      else open.push(laneOf(new OfKind(seed.value, { only })))
    }
  }
  const ended: World[] = []
  process.on('unhandledRejection', onUnhandled)
  try {
    for (refill(); open.length > 0; refill()) {
      for (let at = open.length - 1; at >= 0; at--) {
        const lane = open[at] as Lane
        if (!lane.run.next().done) continue
        open.splice(at, 1)
        ended.push(lane.world)
      }
      // The consequences of a last step are checked too.
      await eventLoopTurn()
      if (unhandled === 0) {
        for (const world of ended.splice(0)) if (done(world.outcome) === true) return
        continue
      }
      // There was an unhandled rejection, and one of these schedules has caused it.
      for (const world of [...ended.splice(0), ...open.splice(0).map((lane) => lane.world)])
        if (done(await runOne(world.decisions.seed, { kind, only })) === true) return
      unhandled = 0
    }
  } finally {
    process.off('unhandledRejection', onUnhandled)
    restoreWallClock()
  }
}

export async function runOne(
  seed: number,
  { kind = 'one', ...options }: ScheduleOptions & { readonly kind?: Kind | undefined } = {},
): Promise<Outcome> {
  const world = new (await kindTable[kind].load())(seed, options)
  const { run } = laneOf(world)
  const onUnhandled = (error: unknown): void => world.crashed(error)
  process.on('unhandledRejection', onUnhandled)
  try {
    while (!run.next().done) await eventLoopTurn()
    await eventLoopTurn()
  } finally {
    process.off('unhandledRejection', onUnhandled)
  }
  return world.outcome
}

function laneOf(world: World): Lane {
  return { world, run: world.run() }
}

/** Waits for a turn of the event loop, which comes after every microtask. */
function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
