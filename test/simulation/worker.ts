import { parentPort, workerData } from 'node:worker_threads'
import { type Mutant, mutate } from './mutants/mutate.js'
import type { Tally } from './tally.js'

/** So many consecutive seeds. */
export interface Job {
  readonly from: number
  readonly count: number
  /** Ends with the first failure. */
  readonly untilFailure: boolean
}

export interface JobDone {
  readonly tally: Tally
  /** Schedules until the first failure, itself included. */
  readonly failedAfter: number | undefined
}

/** One schedule in so many is run twice, and must be the same (I17). */
const TWICE = 100

// Before anything of src/ is loaded.
const { mutant } = workerData as { readonly mutant?: Mutant }
if (mutant !== undefined) mutate(mutant)
// What is thrown on purpose needs no stack, and making one takes longer than most steps.
Error.stackTraceLimit = 0

const { runAll, runOne } = await import('./lanes.js')
const { count, emptyTally } = await import('./tally.js')

async function perform({ from, count: many, untilFailure }: Job): Promise<JobDone> {
  const tally = emptyTally()
  const again = new Map<number, number>()
  let failedAfter: number | undefined
  const seeds = Array.from({ length: many }, (_, nth) => from + nth)
  await runAll(seeds, (outcome) => {
    count(tally, outcome)
    if (outcome.seed % TWICE === 0) again.set(outcome.seed, outcome.trace)
    if (outcome.violation !== undefined) failedAfter ??= tally.schedules
    return untilFailure && failedAfter !== undefined
  })
  if (!untilFailure) {
    for (const [seed, trace] of again) {
      const second = await runOne(seed)
      if (second.trace === trace) continue
      tally.failures.push({ seed, invariant: 'I17', message: `the traces ${trace} and ${second.trace} of one seed` })
    }
  }
  return { tally, failedAfter }
}

parentPort?.on('message', (job: Job) => {
  void perform(job).then((done) => parentPort?.postMessage(done))
})
