import { type ChildProcess, fork } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { root, textOf } from '../support/sources.js'
import { files } from './index.js'
import { PROBE, type Prepared, preparedIn } from './matrix-modules.js'
import { type Entry, entriesOf, nameOf, report } from './matrix-report.js'
import type { Baseline, Job, Verdict } from './matrix-worker.js'
import { mutated } from './mutant.js'

/** A mutant in the order of work. */
type Task = Pick<Entry, 'id' | 'kind' | 'file' | 'line' | 'before' | 'after'> & Omit<Job, 'hung' | 'skip' | 'file'>

/** Every file has this number of operator mutants before any file has more. */
const ROUND = 20
/** A process with more memory is replaced by another one. */
const MAX_RSS = 2_000_000_000
const REPORT_EVERY = 200
/** At the end, mutants with few killers and open tests are judged again, with limits that are higher by this factor. */
const LAST_PATIENCE = 10
/** After this number of mutants, a run without a mutant shows whether tests fail because of earlier ones. */
const PROBE_EVERY = 400

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

/** All mutants that were written by hand. */
function namedTasks(prepared: Prepared): Task[] {
  return Array.from(files).flatMap(([from, mutants]) => {
    const [, , folder] = from.split('/')
    const kind = folder === 'foreign' ? 'foreign' : folder === 'adapters' ? 'adapter' : 'own'
    return mutants.flatMap(({ mutant }) => {
      const { path, source } = mutated(mutant)
      const file = relative(root, path)
      if (prepared.files[file] === undefined) return []
      const text = textOf(file)
      const { span, before, after } = difference(text, source)
      const line = lineOf(text, span[0])
      return [
        { id: `${kind}: ${mutant.name}`, kind, file, line, before: short(before), after: short(after), source, span },
      ]
    })
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
  /** How often a process was not clean. */
  disturbances = 0
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

  /** Asks again, in another process, when the process ends or is not clean. */
  async verdict(job: Job): Promise<Verdict> {
    const hung: number[] = []
    let disturbed = 0
    for (let attempt = 0; attempt < 8; attempt++) {
      const answer = await this.#ask({ ...job, hung })
      if ('hung' in answer) {
        if (answer.hung !== undefined) hung.push(answer.hung)
        continue
      }
      if (answer.disturbed.length === 0 || job.id === PROBE) return answer
      this.close()
      this.disturbances++
      console.log(`disturbed at ${job.id}: ${answer.disturbed.length} of ${answer.killers.length} killers`)
      if (++disturbed < 2) continue
      return { ...answer, killers: answer.killers.filter((each) => !answer.disturbed.includes(each)) }
    }
    const empty = { covering: 0, notRun: 0, open: [], disturbed: [], ms: 0, rss: 0 }
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
  const { covering, notRun, open, ms, error } = verdict
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
    open,
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
  const entries = existsSync(values.out) ? entriesOf(values.out) : new Map<string, Entry>()
  const tasks = [...namedTasks(prepared), ...operatorTasks(prepared)]
  const judges = Array.from({ length: Number(values.jobs) }, () => new Judge(inner, [`${perFile}`, values.tests]))
  const [first] = judges as [Judge]
  if (!existsSync(join(inner, 'baseline-tests.json')) || !values.report) await first.start()
  const baseline = JSON.parse(readFileSync(join(inner, 'baseline-tests.json'), 'utf8')) as Baseline
  const exceptionsFile = join(inner, 'exceptions.json')
  const exceptions = new Set<number>(
    existsSync(exceptionsFile) ? (JSON.parse(readFileSync(exceptionsFile, 'utf8')) as number[]) : [],
  )
  const write = (): string =>
    report(
      values.folder,
      baseline.tests.map((test, index) => ({
        ...test,
        ...(exceptions.has(index) ? { exception: 'fails without a mutant, after other tests' } : {}),
      })),
      [...entries.values()],
      tasks.length,
    )
  if (values.report) {
    console.log(write())
    return
  }
  const isWanted = ({ id, before }: Task): boolean =>
    values.only === undefined || `${id} ${before}`.includes(values.only)
  const open = tasks.filter((task) => !entries.has(task.id) && isWanted(task))
  const probe = async (judge: Judge): Promise<void> => {
    const { killers } = await judge.verdict({ id: PROBE, hung: [], skip: [...exceptions] })
    for (const each of killers) exceptions.add(each)
    writeFileSync(exceptionsFile, JSON.stringify([...exceptions]))
    console.log(
      `without a mutant ${killers.length} tests fail`,
      killers.map((each) => baseline.tests[each]?.title),
    )
  }
  const judged = async (judge: Judge, task: Task, patience: number): Promise<void> => {
    const { id, operator, file, source, span } = task
    const place =
      operator !== undefined ? { operator } : { file, source: source as string, span: span as [number, number] }
    const verdict = await judge.verdict({ id, hung: [], skip: [...exceptions], patience, ...place })
    const entry = { ...entryOf(task, verdict, baseline), ...(patience > 1 ? { isLast: true } : {}) }
    entries.set(id, entry)
    appendFileSync(values.out, `${JSON.stringify(entry)}\n`)
    if (entries.size % REPORT_EVERY === 0) write()
  }
  const all = async (list: readonly Task[], patience: number): Promise<void> => {
    let next = 0
    const work = async (judge: Judge): Promise<void> => {
      for (let task = list[next++]; task !== undefined; task = list[next++]) {
        await judged(judge, task, patience)
        if (judge === first && next % PROBE_EVERY < judges.length) await probe(judge)
      }
    }
    await Promise.all(judges.map(work))
  }
  if (values.only === undefined) await probe(first)
  await all(open, 1)
  // Mutants that reached a time limit are judged again.
  const cut = tasks.filter((task) => isWanted(task) && (entries.get(task.id)?.open.length ?? 0) > 0)
  await all(
    cut.filter(({ id }) => entries.get(id)?.isLast !== true),
    LAST_PATIENCE,
  )
  for (const judge of judges) judge.close()
  console.log(write())
}
