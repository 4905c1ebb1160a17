import { Worker } from 'node:worker_threads'
import type { Mutant } from './mutants/mutate.js'
import type { Job, JobDone } from './worker.js'

/** A job that takes longer than this hangs: nothing that simulates takes so long. */
const HANG_MS = 120_000

/** Another thread that runs schedules, of the production source or of a mutant of it. */
export class SimulationThread {
  readonly #worker: Worker

  constructor(mutant?: Mutant) {
    const typescript = new URL('../../scripts/typescript.mjs', import.meta.url)
    this.#worker = new Worker(new URL('./worker.ts', import.meta.url), {
      execArgv: ['--import', typescript.href],
      workerData: { mutant },
      resourceLimits: { maxYoungGenerationSizeMb: 64 },
    })
  }

  /** Rejects where the thread dies, and where it hangs. */
  run(job: Job, hangMs: number = HANG_MS): Promise<JobDone> {
    return new Promise((resolve, reject) => {
      const worker = this.#worker
      const timer = setTimeout(() => settle(() => reject(new Error(`seeds from ${job.from}: it hangs`))), hangMs)
      const settle = (end: () => void): void => {
        clearTimeout(timer)
        worker.off('message', done)
        worker.off('error', failed)
        end()
      }
      const done = (result: JobDone): void => settle(() => resolve(result))
      const failed = (error: Error): void => settle(() => reject(error))
      worker.on('message', done)
      worker.on('error', failed)
      worker.postMessage(job)
    })
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }
}
