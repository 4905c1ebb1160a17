import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { binary } from './build.js'
import { root } from './sources.js'

/** How long a condition is waited for, in milliseconds. */
const DEADLINE_MS = 15_000

export interface ProgramOptions {
  /** A module under test/programs/setups that runs first: defines globals, answers messages. */
  readonly setup?: string
  /** Beginnings of addresses that the program fetches, and what stands there instead. */
  readonly addresses?: Readonly<Record<string, string>>
  /** How many times faster than real time its monotonic clock and its timers run. Default 1. */
  readonly speed?: number
  /** Beside the environment of the test. */
  readonly env?: Readonly<Record<string, string>>
}

/** What a program's process sends. */
export type Message =
  | { readonly type: 'listening'; readonly wanted: number; readonly port: number }
  | { readonly type: 'note'; readonly note: string }

/**
 * A program's text as JavaScript that runs: without types, and without the statements that are there to be refused by
 * the compiler.
 */
export function prepare(text: string): string {
  const kept: string[] = []
  const lines = text.split('\n')
  for (let at = 0; at < lines.length; at++) {
    if (!/^\s*\/\/ @ts-expect-error/.test(lines[at] ?? '')) kept.push(lines[at] ?? '')
    else for (let open = depth(lines[++at] ?? ''); open > 0; ) open += depth(lines[++at] ?? '')
  }
  return stripTypeScriptTypes(kept.join('\n'))
}

/** How many brackets a line leaves open. */
function depth(line: string): number {
  return (line.match(/[([{]/g)?.length ?? 0) - (line.match(/[)\]}]/g)?.length ?? 0)
}

/** Where the text of a program is. */
export function pathOf(name: string): string {
  return join(root, 'test/programs', `${name}.ts`)
}

/** An API program that runs in a process of its own, against the built package. Dispose of it when done. */
export class Program implements AsyncDisposable {
  readonly messages: Message[] = []
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>
  #output = ''
  #errors = ''
  readonly #child: ChildProcess
  readonly #looks = new Set<() => void>()

  constructor(name: string, options: ProgramOptions = {}) {
    const url = (path: string): string => pathToFileURL(path).href
    const main = pathOf(name)
    const settings = {
      texts: { [url(main)]: prepare(readFileSync(main, 'utf8')) },
      addresses: options.addresses ?? {},
      speed: options.speed ?? 1,
      setup: options.setup === undefined ? undefined : url(join(root, 'test/programs/setups', options.setup)),
    }
    const preload = url(join(root, 'test/support/program-preload.ts'))
    this.#child = spawn(binary('node'), ['--disable-warning=ExperimentalWarning', '--import', preload, main], {
      cwd: root,
      env: { ...process.env, ...options.env, LISTWATCH_PROGRAM: JSON.stringify(settings) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text
      this.#look()
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
      this.#look()
    })
    this.#child.on('message', (message: Message) => {
      this.messages.push(message)
      this.#look()
    })
    this.ended = new Promise((resolve, reject) => {
      this.#child.on('error', reject)
      this.#child.on('close', (code, signal) => {
        resolve({ code, signal })
        this.#look()
      })
    })
  }

  /** The lines it has printed. */
  get lines(): string[] {
    return this.#output.split('\n').slice(0, -1)
  }

  /** What it has printed as errors. */
  get errors(): string {
    return this.#errors
  }

  /** What its set-up has noted. */
  get notes(): string[] {
    return this.messages.flatMap((message) => (message.type === 'note' ? [message.note] : []))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Tells its set-up something. */
  send(message: object): void {
    this.#child.send(message)
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** Where it listens in fact, once it does. */
  async port(wanted: number): Promise<number> {
    const find = (): number | undefined => {
      const found = this.messages.find((message) => message.type === 'listening' && message.wanted === wanted)
      return found?.type === 'listening' ? found.port : undefined
    }
    await this.until(() => find() !== undefined, `it listens to ${wanted}`)
    return find() ?? 0
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
        else if (this.#child.exitCode !== null || this.#child.signalCode !== null) give('it has ended')
      }
      const timer = setTimeout(() => give(`not within ${deadlineMs} ms`), deadlineMs)
      this.#looks.add(look)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL')
    await this.ended
  }

  #look(): void {
    for (const look of [...this.#looks]) look()
  }
}
