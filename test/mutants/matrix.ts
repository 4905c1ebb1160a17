import { type ChildProcess, fork } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { root, textOf } from '../support/sources.js'
import { type Prepared, preparedIn } from './matrix-modules.js'
import { namedMutants } from './matrix-named.js'
import { type Entry, entriesOf, nameOf, report } from './matrix-report.js'
import type { Baseline, Job, Verdict } from './matrix-worker.js'

/** A mutant in the order of work. */
type Task = Pick<Entry, 'id' | 'kind' | 'file' | 'line' | 'before' | 'after'> & Omit<Job, 'hung' | 'skip' | 'file'>

/** Every file has so many operator mutants before any has more. */
const ROUND = 20
/** A process with more memory is replaced by another one. */
const MAX_RSS = 2_000_000_000
const REPORT_EVERY = 200
const READY = 1_000
/** So often a run without a mutant shows that no test fails because of earlier ones. */
const PROBE_EVERY = 400
const PROBE: Job = { id: 'no mutant', hung: [], skip: [] }

const lineOf = (text: string, position: number): number => text.slice(0, position).split('\n').length
const short = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 300)

/** The part in which the texts differ, in both. */
function difference(before: string, after: string): { span: [number, number]; before: string; after: string } {
  let start = 0
  while (start < before.length && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before.at(-1 - end) === after.at(-1 - end)) end++
  return {
    span: [start, before.length - end],
    before: before.slice(start, before.length - end),
    after: after.slice(start, after.length - end),
  }
}

function namedTasks(prepared: Prepared): Task[] {
  return namedMutants().flatMap(({ id, kind, file, source }) => {
    if (prepared.files[file] === undefined) return []
    const text = textOf(file)
    const { span, before, after } = difference(text, source)
    return [{ id, kind, file, line: lineOf(text, span[0]), before: short(before), after: short(after), source, span }]
  })
}

function operatorTasks(prepared: Prepared): Task[] {
  const tasks: (Task & { round: number })[] = []
  const isCore = (file: string): number => (file.startsWith('src/') ? 0 : 1)
  const files = Object.entries(prepared.files).sort(([a], [b]) => isCore(a) - isCore(b) || a.localeCompare(b))
  for (const [file, { operators, firstMutant }] of files) {
    const text = textOf(file)
    for (const [index, { name, start, end, after }] of operators.entries()) {
      const column = start - text.lastIndexOf('\n', start - 1)
      tasks.push({
        id: `${file}:${lineOf(text, start)}:${column} ${name}`,
        kind: 'operator',
        file,
        line: lineOf(text, start),
        operator: firstMutant + index,
        before: short(text.slice(start, end)),
        after: short(after),
        round: Math.floor(index / ROUND),
      })
    }
  }
  return tasks.sort((a, b) => a.round - b.round).map(({ round: _, ...task }) => task)
}

/** A process that judges. */
class Judge {
  readonly #folder: string
  readonly #args: readonly string[]
  #child: ChildProcess | undefined

  constructor(folder: string, args: readonly string[]) {
    this.#folder = folder
    this.#args = args
  }

  /** Has the baseline when it resolves. */
  async start(): Promise<ChildProcess> {
    if (this.#child !== undefined) return this.#child
    const child = fork(fileURLToPath(new URL('./matrix-worker.ts', import.meta.url)), [this.#folder, ...this.#args], {
      cwd: root,
      execArgv: [
        '--no-flush-bytecode',
        '--max-semi-space-size=32',
        '--disable-warning=ExperimentalWarning',
        '--import',
        './scripts/typescript.mjs',
      ],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    await this.#message(child)
    this.#child = child
    return child
  }

  #message<T>(child: ChildProcess): Promise<T> {
    return new Promise((resolve, reject) => {
      const onMessage = (message: T): void => {
        child.off('exit', onExit)
        resolve(message)
      }
      const onExit = (): void => {
        child.off('message', onMessage)
        this.#child = undefined
        reject(new Error('the process ended'))
      }
      child.once('message', onMessage as never)
      child.once('exit', onExit)
    })
  }

  /** Asks once. Rejects with the test that hung. */
  async #ask(job: Job): Promise<Verdict | { readonly hung: number | undefined }> {
    const child = await this.start()
    const answer = this.#message<Verdict>(child)
    child.send(job)
    try {
      const verdict = await answer
      if (verdict.rss > MAX_RSS) this.close()
      return verdict
    } catch {
      const file = join(this.#folder, `hung-${child.pid}.json`)
      if (!existsSync(file)) return { hung: undefined }
      const { test } = JSON.parse(readFileSync(file, 'utf8')) as { test: number }
      rmSync(file)
      return { hung: test }
    }
  }

  async verdict(job: Job): Promise<Verdict> {
    const hung: number[] = []
    for (let attempt = 0; attempt < 6; attempt++) {
      const answer = await this.#ask({ ...job, hung })
      if (!('hung' in answer)) return answer
      if (answer.hung !== undefined) hung.push(answer.hung)
    }
    const empty = { covering: 0, notRun: 0, ms: 0, rss: 0 }
    return { id: job.id, killers: hung, timeouts: hung, ...empty, error: 'the process ended again and again' }
  }

  close(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }
}

function entryOf(task: Task, verdict: Verdict, baseline: Baseline): Entry {
  const { id, kind, file, line, before, after } = task
  const names = (tests: readonly number[]): string[] =>
    tests.flatMap((each) => (baseline.tests[each] === undefined ? [] : nameOf(baseline.tests[each])))
  const { covering, notRun, ms, error } = verdict
  const [killers, timeouts] = [names(verdict.killers), names(verdict.timeouts)]
  const isKilled = killers.length > 0
  const onlyLate = isKilled && timeouts.length === killers.length
  const alive = error !== undefined ? 'error' : covering === 0 ? 'uncovered' : 'survives'
  return {
    id,
    kind,
    file,
    line,
    ...(kind === 'operator' ? { operator: id.slice(id.indexOf(' ') + 1) } : {}),
    before,
    after,
    result: onlyLate ? 'timeout' : isKilled ? 'killed' : alive,
    killers,
    timeouts,
    covering,
    notRun,
    ms,
    ...(error === undefined ? {} : { error }),
  }
}

/** Judges all mutants of which the file has no result, and writes the report again and again. */
export async function matrix(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      report: { type: 'boolean', default: false },
      out: { type: 'string', default: join(root, 'matrix.jsonl') },
      folder: { type: 'string', default: join(root, 'matrix-report') },
      'per-file': { type: 'string', default: '1000000' },
      only: { type: 'string' },
      tests: { type: 'string', default: 'test/' },
      jobs: { type: 'string', default: '1' },
    },
  })
  const perFile = Number(values['per-file'])
  const inner = join(values.folder, 'data')
  mkdirSync(inner, { recursive: true })
  const prepared = await preparedIn(join(inner, 'prepared.json'), perFile, values.tests)
  const entries = existsSync(values.out) ? entriesOf(values.out) : []
  const tasks = [...namedTasks(prepared), ...operatorTasks(prepared)]
  const judges = Array.from({ length: Number(values.jobs) }, () => new Judge(inner, [`${perFile}`, values.tests]))
  const [first] = judges as [Judge]
  if (!existsSync(join(inner, 'baseline-tests.json')) || !values.report) await first.start()
  const baseline = JSON.parse(readFileSync(join(inner, 'baseline-tests.json'), 'utf8')) as Baseline
  const exceptions = new Map<number, string>()
  const write = (): string =>
    report(
      values.folder,
      baseline.tests.map((test, index) => ({
        ...test,
        ...(exceptions.has(index) ? { exception: 'fails without a mutant, after other tests' } : {}),
      })),
      entries,
      tasks.length,
    )
  if (values.report) {
    console.log(write())
    return
  }
  const done = new Set(entries.map(({ id }) => id))
  const open = tasks.filter(
    ({ id, before }) => !done.has(id) && (values.only === undefined || `${id} ${before}`.includes(values.only)),
  )
  let next = 0
  const probe = async (judge: Judge): Promise<void> => {
    const { killers } = await judge.verdict({ ...PROBE, skip: [...exceptions.keys()] })
    for (const each of killers) exceptions.set(each, 'probe')
    console.log(
      `without a mutant ${killers.length} tests fail`,
      killers.map((each) => baseline.tests[each]?.title),
    )
  }
  const work = async (judge: Judge, isFirst: boolean): Promise<void> => {
    if (isFirst && values.only === undefined) await probe(judge)
    for (let task = open[next++]; task !== undefined; task = open[next++]) {
      const { id, operator, file, source, span } = task
      const job: Job = {
        id,
        hung: [],
        skip: [...exceptions.keys()],
        ...(operator !== undefined ? { operator } : { file, source: source as string, span: span as [number, number] }),
      }
      const entry = entryOf(task, await judge.verdict(job), baseline)
      entries.push(entry)
      appendFileSync(values.out, `${JSON.stringify(entry)}\n`)
      if (entries.length % REPORT_EVERY === 0) write()
      if (entries.length === READY)
        writeFileSync(`${values.out.replace(/\.jsonl$/, '')}-ready.txt`, `MATRIX READY ${READY} mutants\n`)
      if (isFirst && next % PROBE_EVERY === 0) await probe(judge)
    }
  }
  await Promise.all(judges.map((judge, index) => work(judge, index === 0)))
  for (const judge of judges) judge.close()
  console.log(write())
}
