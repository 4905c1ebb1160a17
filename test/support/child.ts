import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'

/** How long a condition is waited for, in milliseconds. */
const DEADLINE_MS = 15_000

export type Ended = { readonly code: number | null; readonly signal: string | null }

/** A process of a test, and what it says. Dispose of it when done. */
export class Child implements AsyncDisposable {
  /** Resolves when it has ended and all that it said is here. */
  readonly ended: Promise<Ended>
  protected readonly process: ChildProcess
  #output = ''
  #errors = ''
  readonly #looks = new Set<() => void>()

  constructor(file: string, args: readonly string[], options: SpawnOptions = {}) {
    this.process = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options })
    this.process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text
      this.look()
    })
    this.process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
      this.look()
    })
    this.ended = new Promise((resolve, reject) => {
      this.process.on('error', reject)
      this.process.on('close', (code, signal) => {
        resolve({ code, signal })
        this.look()
      })
    })
  }

  /** What it has printed. */
  get output(): string {
    return this.#output
  }

  /** The whole lines that it has printed. */
  get lines(): string[] {
    return this.#output.split('\n').slice(0, -1)
  }

  /** What it has printed as errors. */
  get errors(): string {
    return this.#errors
  }

  get pid(): number | undefined {
    return this.process.pid
  }

  kill(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  /** Waits for a condition on what it has said; throws with all that it said after a deadline, or when it has ended. */
  async until(condition: () => boolean, what: string, deadlineMs = DEADLINE_MS): Promise<void> {
    if (condition()) return
    await new Promise<void>((resolve, reject) => {
      const settle = (end: () => void): void => {
        clearTimeout(timer)
        this.#looks.delete(look)
        end()
      }
      const give = (why: string): void =>
        settle(() => reject(new Error(`${what}: ${why}\n--- output\n${this.#output}--- errors\n${this.#errors}`)))
      const look = (): void => {
        if (condition()) settle(resolve)
        else if (this.process.exitCode !== null || this.process.signalCode !== null) give('it has ended')
      }
      const timer = setTimeout(() => give(`not within ${deadlineMs} ms`), deadlineMs)
      this.#looks.add(look)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) this.process.kill('SIGKILL')
    await this.ended
  }

  /** To be called when there may be something new. */
  protected look(): void {
    for (const look of [...this.#looks]) look()
  }
}
