import type { ServerName } from '../servers/index.js'
import type { Kind } from '../simulation/runner/schedule.js'
import type { ActionKind } from '../simulation/workload/fault-plan.js'
import type { Hunk, Mutant } from './mutant.js'

const KINDS: readonly Kind[] = ['one', 'set', 'group', 'cache', 'replicas', 'relay', 'share', 'views']

type Writable<T> = { -readonly [Key in keyof T]: T[Key] }
type Options = Writable<Omit<Mutant, 'name' | 'breaks' | 'folder' | 'hunks'>>

/** Each reads the rest of its line into the options; false: not understood. */
const options: Readonly<Record<string, { readonly example: string; read(text: string, into: Options): boolean }>> = {
  'dies by': {
    example: 'dies by unit/store/store.test.ts › a part of the title',
    read(text, into) {
      const [test = '', named = ''] = text.split(' › ')
      into.onlyBy = { test, named }
      return test !== '' && named !== ''
    },
  },
  server: {
    example: 'server postgres 18',
    read(text, into) {
      into.server = text as ServerName
      return text !== ''
    },
  },
  kind: {
    example: `kind ${KINDS.join('|')}`,
    read(text, into) {
      const kind = KINDS.find((each) => each === text)
      if (kind !== undefined) into.kind = kind
      return kind !== undefined
    },
  },
  schedules: {
    example: 'schedules 5000',
    read(text, into) {
      into.maxSchedules = Number(text)
      return /^[1-9]\d*$/.test(text)
    },
  },
  needs: {
    example: 'needs clock jump',
    read(text, into) {
      into.needs = text as ActionKind
      return text !== ''
    },
  },
  equivalent: {
    example: 'equivalent because …',
    read(text, into) {
      into.equivalent = text
      return text !== ''
    },
  },
}

export interface Entry {
  readonly line: number
  readonly mutant: Mutant
  /** The lines of each hunk: the first one, and the one after the last. */
  readonly hunkLines: readonly { readonly from: number; readonly to: number }[]
}

/**
 * Reads a file of mutants.
 *
 * @throws {SyntaxError} with the number of the line.
 */
export function entriesOf(path: string, text: string): Entry[] {
  return new Reader(path, text).entries()
}

/** The folder whose files the mutants of a file quote: the path of the file, in test/mutants/, without its ending. */
export function folderOf(path: string): string {
  const [, name = ''] = /^test\/mutants\/(.*)\.mutants$/.exec(path) ?? []
  return /^(core|foreign)\//.test(name) ? 'src' : name
}

class Reader {
  readonly #path: string
  readonly #lines: readonly string[]
  #at = 0

  constructor(path: string, text: string) {
    this.#path = path
    this.#lines = text.split('\n')
  }

  entries(): Entry[] {
    const entries: Entry[] = []
    this.#skip()
    const defaults = this.#options({})
    for (this.#skip(); this.#at < this.#lines.length; this.#skip()) entries.push(this.#entry(defaults))
    return entries
  }

  #entry(defaults: Options): Entry {
    const line = this.#at + 1
    const name = this.#take('# ') ?? this.#refuse('# and the name of a mutant')
    const breaks = this.#line
    if (breaks === '' || /^[-+#] /.test(breaks)) this.#refuse('the promise that the mutant breaks')
    this.#at++
    const options = this.#options(defaults)
    const hunks: Hunk[] = []
    const hunkLines: { from: number; to: number }[] = []
    for (; this.#line.startsWith('- '); this.#skip()) {
      const from = this.#at
      hunks.push({ quote: this.#block('-'), replacement: this.#block('+') })
      hunkLines.push({ from, to: this.#at })
    }
    if (hunks.length === 0) this.#refuse(`${examples()}, or - and a quote`)
    return { line, mutant: { name, breaks, folder: folderOf(this.#path), ...options, hunks }, hunkLines }
  }

  #options(defaults: Options): Options {
    const into = { ...defaults }
    for (;;) {
      const found = Object.entries(options).find(([name]) => this.#line.startsWith(`${name} `))
      if (found === undefined) return into
      const [name, { example, read }] = found
      if (!read(this.#line.slice(name.length + 1), into)) this.#refuse(example)
      this.#at++
    }
  }

  /** Consecutive lines that begin with a sign. */
  #block(sign: '-' | '+'): string {
    const lines: string[] = []
    for (;;) {
      const line = this.#take(`${sign} `)
      if (line === undefined) return lines.join('\n')
      lines.push(line)
    }
  }

  #skip(): void {
    while (this.#at < this.#lines.length && /^(\/\/.*)?$/.test(this.#line)) this.#at++
  }

  #take(start: string): string | undefined {
    return this.#line.startsWith(start) ? this.#lines[this.#at++]?.slice(start.length) : undefined
  }

  get #line(): string {
    return this.#lines[this.#at] ?? ''
  }

  #refuse(expected: string): never {
    throw new SyntaxError(`${this.#path}:${this.#at + 1}: expected ${expected}, got "${this.#line}"`)
  }
}

function examples(): string {
  return Object.values(options)
    .map(({ example }) => `"${example}"`)
    .join(', ')
}
