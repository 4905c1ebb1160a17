import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../../support/sources.js'
import type { Mutant } from '../mutants/mutate.js'
import type { AnyKind } from './schedule.js'
import type { Job, JobDone } from './worker.js'
import { isWorldKind } from './world-kinds.js'

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
export class SimulationProcess {
  readonly #child: ChildProcess

  constructor(mutant?: Mutant, kind?: AnyKind) {
    const worker = isWorldKind(kind) ? `../${kind}/worker.ts` : './worker.ts'
    const typescript = new URL('../../../scripts/typescript.mjs', import.meta.url)
    this.#child = fork(fileURLToPath(new URL(worker, import.meta.url)), {
      execArgv: ['--import', typescript.href, '--max-semi-space-size=32', '--disable-warning=ExperimentalWarning'],
      env: {
        ...process.env,
        LISTWATCH_MUTANT: mutant === undefined ? '' : JSON.stringify(mutant),
        // Hundreds of processes load the same files.
        NODE_COMPILE_CACHE: CACHE,
      },
      serialization: 'advanced',
    })
  }

  /** Rejects if the process dies or hangs. */
  run(job: Job, hangMs: number = HANG_MS): Promise<JobDone> {
    return new Promise((resolve, reject) => {
      const child = this.#child
      const timer = setTimeout(() => settle(() => reject(new Error(`seeds from ${job.from}: it hangs`))), hangMs)
      const settle = (end: () => void): void => {
        clearTimeout(timer)
        child.off('message', done)
        child.off('error', failed)
        child.off('exit', died)
        end()
      }
      const done = (result: unknown): void => settle(() => resolve(result as JobDone))
      const failed = (error: Error): void => settle(() => reject(error))
      const died = (code: number | null, signal: string | null): void =>
        failed(new Error(`seeds from ${job.from}: the process ended with ${signal ?? code}`))
      child.on('message', done)
      child.on('error', failed)
      child.on('exit', died)
      child.send(job)
    })
  }

  async close(): Promise<void> {
    const child = this.#child
    if (child.exitCode !== null || child.signalCode !== null) return
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
      child.kill('SIGKILL')
    })
  }
}
