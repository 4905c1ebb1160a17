import { flushCompileCache } from 'node:module'
import { type Defect, mutate } from '../../mutants/mutant.js'
import type { RunStats } from './run-stats.js'
import type { Kind, Outcome } from './schedule.js'
import type { Shrunk } from './shrink.js'

/** A number of consecutive seeds. */
export interface Job {
  readonly from: number
  readonly count: number
  /** Default: of one source. */
  readonly kind?: Kind | undefined
  readonly every?: number | undefined
  /** Ends with the first failure; `shrunk`: and shrinks it. */
  readonly untilFailure: boolean | 'shrunk'
  readonly only?: readonly string[]
}

export interface JobDone {
  readonly stats: RunStats
  /** The first failure without unnecessary decisions, if requested. */
  readonly shrunk: Shrunk | undefined
  /** Schedules until the first failure, itself included. */
  readonly failedAfter: number | undefined
}

/** One in this many schedules is run twice, and must be the same (I17). */
const TWICE = 100

// Before anything of src/ is loaded.
const mutant = process.env['LISTWATCH_MUTANT'] ?? ''
if (mutant !== '') mutate(JSON.parse(mutant) as Defect)
// Errors that are thrown on purpose need no stack, and making one takes longer than most steps.
Error.stackTraceLimit = 0

const { runAll, runOne } = await import('./interleaved-runner.js')
const { shrink } = await import('./shrink.js')
const { count, emptyStats: emptyTally, fail, failureOf } = await import('./run-stats.js')
flushCompileCache() // This process is killed at its end.

async function perform({ from, count: many, kind = 'one', every = 1, untilFailure, only }: Job): Promise<JobDone> {
  const stats = emptyTally()
  const again = new Map<number, number>()
  let failedAfter: number | undefined
  const seeds = Array.from({ length: many }, (_, nth) => from + nth).filter((seed) => seed % every === 0)
  const done = (outcome: Outcome): boolean => {
    count(stats, outcome)
    if (outcome.seed % TWICE === 0) again.set(outcome.seed, outcome.trace)
    if (outcome.violation !== undefined) failedAfter ??= stats.schedules
    return untilFailure !== false && failedAfter !== undefined
  }
  // With more at a time, those that begin after the first failure would be run in part, for nothing.
  await runAll(seeds, done, { kind, only, lanes: untilFailure === false ? undefined : 1 })
  const [failure] = stats.failures
  const shrunk = untilFailure === 'shrunk' && failure !== undefined ? await shrink(failure.seed, { kind }) : undefined
  for (const [seed, trace] of untilFailure === false ? again : []) {
    const second = await runOne(seed, { kind, only })
    if (second.trace === trace) continue
    const message = `the traces ${trace} and ${second.trace} of one seed`
    fail(stats, failureOf(second, { invariant: 'I17', message }))
  }
  return { stats, failedAfter, shrunk }
}

process.on('message', (job: Job) => {
  void perform(job).then((done) => process.send?.(done))
})
process.on('disconnect', () => process.exit())
