import { type ChildProcess, type ForkOptions, fork, type Serializable } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A separate Node process that performs jobs, one at a time. Close it when done. */
export class JobProcess<Job extends Serializable, Done> {
  readonly #child: ChildProcess
  readonly #isGroup: boolean

  /** `detached`: `close` also ends the processes that this one has started. */
  constructor(file: URL, { execArgv = [], ...options }: ForkOptions) {
    const typescript = new URL('../../../scripts/typescript.mjs', import.meta.url)
    this.#isGroup = options.detached === true
    this.#child = fork(fileURLToPath(file), {
      ...options,
      execArgv: ['--import', typescript.href, ...execArgv, '--disable-warning=ExperimentalWarning'],
      serialization: 'advanced',
    })
  }

  /** Rejects with the name of the job if the process dies or hangs. */
  protected perform(job: Job, name: string, hangMs: number): Promise<Done> {
    return new Promise((resolve, reject) => {
      const child = this.#child
      const timer = setTimeout(() => settle(() => reject(new Error(`${name}: it hangs`))), hangMs)
      const settle = (end: () => void): void => {
        clearTimeout(timer)
        child.off('message', done)
        child.off('error', failed)
        child.off('exit', died)
        end()
      }
      const done = (result: unknown): void => settle(() => resolve(result as Done))
      const failed = (error: Error): void => settle(() => reject(error))
      const died = (code: number | null, signal: string | null): void =>
        failed(new Error(`${name}: the process ended with ${signal ?? code}`))
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
      if (this.#isGroup && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      else child.kill('SIGKILL')
    })
  }
}
