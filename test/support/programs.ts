import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { binary } from './build.js'
import { Child } from './child.js'
import { root } from './sources.js'

export interface ProgramOptions {
  /** A module under test/programs/setups that runs first: defines globals, answers messages. */
  readonly setup?: string
  /** Beginnings of addresses that the program fetches, and what stands there instead. */
  readonly addresses?: Readonly<Record<string, string>>
  /** How many times faster than real time its monotonic clock and its timers run. Default 1. */
  readonly speed?: number
  /** Beside the environment of the test. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether it stays at its last line, so that what it holds with `await using` is there until it is killed. */
  readonly goesOn?: boolean
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

/** Returns the path of a program. */
export function pathOf(name: string): string {
  return join(root, 'test/programs', `${name}.ts`)
}

/** An API program that runs in a process of its own, against the built package. Dispose of it when done. */
export class Program extends Child {
  readonly messages: Message[] = []

  constructor(name: string, options: ProgramOptions = {}) {
    const url = (path: string): string => pathToFileURL(path).href
    const main = pathOf(name)
    const settings = {
      texts: {
        [url(main)]: `${prepare(readFileSync(main, 'utf8'))}${options.goesOn ? '\nawait new Promise(() => {})' : ''}`,
      },
      addresses: options.addresses ?? {},
      speed: options.speed ?? 1,
      setup: options.setup === undefined ? undefined : url(join(root, 'test/programs/setups', options.setup)),
    }
    const preload = url(join(root, 'test/support/program-preload.ts'))
    super(binary('node'), ['--disable-warning=ExperimentalWarning', '--import', preload, main], {
      cwd: root,
      env: { ...process.env, ...options.env, LISTWATCH_PROGRAM: JSON.stringify(settings) },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.process.on('message', (message: Message) => {
      this.messages.push(message)
      this.look()
    })
  }

  get notes(): string[] {
    return this.messages.flatMap((message) => (message.type === 'note' ? [message.note] : []))
  }

  /** Tells its set-up something. */
  send(message: object): void {
    this.process.send(message)
  }

  /** Resolves with the actual port once the program listens. */
  async port(wanted: number): Promise<number> {
    const find = (): number | undefined => {
      const found = this.messages.find((message) => message.type === 'listening' && message.wanted === wanted)
      return found?.type === 'listening' ? found.port : undefined
    }
    await this.until(() => find() !== undefined, `it listens to ${wanted}`)
    return find() ?? 0
  }
}
