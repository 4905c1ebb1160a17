import { join } from 'node:path'
import { type Mutant, mutated } from '../../mutants/mutant.js'
import { root } from '../../support/sources.js'
import { JobProcess } from './job-process.js'
import type { Job, JobDone } from './worker.js'

/**
 * A job that takes longer than this hangs. A job takes 2 s of CPU time, but a process with `nice -n 19` beside four busy
 * ones gets about a hundredth of a core.
 */
const HANG_MS = 1_200_000
const CACHE = join(root, 'node_modules/.cache/simulation')

/**
 * A separate process that runs schedules, of the production source or of a mutant of it. It is not a thread: V8 can
 * crash if a thread is ended while it compiles, which ends all threads.
 */
export class SimulationProcess extends JobProcess<Job, JobDone> {
  constructor(mutant?: Mutant) {
    super(new URL('./worker.ts', import.meta.url), {
      execArgv: ['--max-semi-space-size=32'],
      env: {
        ...process.env,
        LISTWATCH_MUTANT: mutant === undefined ? '' : JSON.stringify(mutated(mutant)),
        // Hundreds of processes load the same files.
        NODE_COMPILE_CACHE: CACHE,
      },
    })
  }

  /** Rejects if the process dies or hangs. */
  run(job: Job, hangMs: number = HANG_MS): Promise<JobDone> {
    return this.perform(job, `seeds from ${job.from}`, hangMs)
  }
}
