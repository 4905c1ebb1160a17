import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { hashOf } from '../simulation/workload/random-decisions.js'
import { filesUnder, importsOf, PRODUCT, root, textOf } from '../support/sources.js'
import { files } from './index.js'
import { report } from './matrix-report.js'
import { editsOf, functionsOf } from './matrix-syntax.js'
import { type Defect, mutated } from './mutant.js'
import { MutantTests } from './test-process.js'
import type { Ran } from './test-worker.js'

export interface Task {
  readonly id: string
  readonly kind: 'own' | 'foreign' | 'adapter' | 'operator'
  /** From the root. */
  readonly file: string
  readonly start: number
  readonly before: string
  readonly after: string
  readonly source: string
}

/** A test that fails because of a mutant. It has no name if only the whole file fails. */
export type Killer = Pick<Ran, 'name' | 'line'> & { readonly file: string }

/** One line of the matrix. */
export interface Entry extends Omit<Task, 'source'> {
  readonly result: 'killed' | 'survives' | 'uncovered' | 'unclear'
  /** At most one of each row of a table, and at most `ENOUGH`. */
  readonly killers: readonly Killer[]
  /** The number of files that reach it. */
  readonly covering: number
  /** Of an unclear result: a file of tests hangs, or its process ends. */
  readonly error?: string
}

/** The first line of the matrix: each file of tests without a mutant. */
export interface Baseline {
  readonly hash: string
  readonly files: readonly {
    readonly file: string
    readonly ms: number
    readonly tests: readonly Ran[]
    readonly reached: Readonly<Record<string, readonly number[]>>
  }[]
}

/** With this number of killers a mutant is dead enough. */
const ENOUGH = 4
const HANG_MS = 180_000
const NO_DEFECT: Defect = { path: '', source: '' }

const short = (text: string): string => text.replaceAll(/\s+/g, ' ').slice(0, 300)

/** The mutants that were written by hand. */
function writtenTasks(): Task[] {
  return Array.from(files).flatMap(([from, mutants]) => {
    const kind = from.includes('/foreign/') ? 'foreign' : /\/(adapters|serving|caches)\//.test(from) ? 'adapter' : 'own'
    return mutants.map(({ mutant }) => {
      const { path, source } = mutated(mutant)
      const file = relative(root, path)
      const text = textOf(file)
      const most = Math.min(text.length, source.length)
      let start = 0
      while (start < most && text[start] === source[start]) start++
      let end = 0
      while (end < most - start && text.at(-1 - end) === source.at(-1 - end)) end++
      const [before, after] = [text, source].map((each) => short(each.slice(start, each.length - end))) as [
        string,
        string,
      ]
      return { id: `${kind}: ${mutant.name}`, kind, file, start, before, after, source }
    })
  })
}

/** Of each file the same ones, in any order of the files, and the first of more. */
function operatorTasks(file: string, count: number): Task[] {
  const text = textOf(file)
  const places = new Map<string, number>()
  const tasks = editsOf(file, text).map(({ operator, start, end, after }): Task & { rank: number } => {
    const lines = text.slice(0, start).split('\n')
    const place = `${file}:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1} ${operator}`
    const nth = (places.get(place) ?? 0) + 1
    places.set(place, nth)
    const id = nth === 1 ? place : `${place} (${nth})`
    const source = text.slice(0, start) + after + text.slice(end)
    return { id, kind: 'operator', file, start, before: short(text.slice(start, end)), after, source, rank: hashOf(id) }
  })
  const chosen = tasks.sort((a, b) => a.rank - b.rank).slice(0, count)
  return chosen.map(({ rank: _, ...task }) => task)
}

function newTests(): MutantTests {
  return new MutantTests({ LISTWATCH_MATRIX: '1', LISTWATCH_SEED: '7' })
}

/** Does the work with as many processes as there are jobs. */
async function inParallel<T>(list: readonly T[], jobs: number, work: (item: T, tests: MutantTests) => Promise<void>) {
  const open = list.values()
  const one = async (): Promise<void> => {
    const tests = newTests()
    for (const item of open) await work(item, tests)
    await tests.close()
  }
  await Promise.all(Array.from({ length: jobs }, one))
}

/** Runs all files of tests without a mutant. */
async function measured(hash: string, paths: readonly string[], jobs: number): Promise<Baseline> {
  const files: Baseline['files'][number][] = []
  await inParallel(paths, jobs, async (file, runner) => {
    const since = performance.now()
    const { tests, reached = {} } = await runner.run({ defect: NO_DEFECT, file }, file, HANG_MS)
    const calls = Object.entries(reached).map(([path, those]) => [path, Object.keys(those).map(Number)])
    files.push({ file, ms: performance.now() - since, tests, reached: Object.fromEntries(calls) })
  })
  return { hash, files }
}

/** The files of tests that call the function around the change, or that load its file if there is none. */
function covering({ files }: Baseline, { file, start }: Task): Baseline['files'] {
  const around = functionsOf(file, textOf(file)).findLastIndex((body) => body.start <= start && start < body.end) + 1
  const isNear = (test: string): number => (importsOf(test).includes(file) ? 0 : 1)
  return files
    .filter(({ reached }) => reached[file]?.includes(around) === true)
    .toSorted((a, b) => isNear(a.file) - isNear(b.file) || a.ms - b.ms)
}

type Runner = Pick<MutantTests, 'run'>

/** Judges mutants. */
export class Judge {
  readonly #baseline: Baseline
  /** Whether a test passes alone without a mutant. */
  readonly #sound = new Map<string, Promise<boolean>>()

  constructor(baseline: Baseline) {
    this.#baseline = baseline
  }

  async entry({ source, ...task }: Task, runner: Runner): Promise<Entry> {
    const defect = { path: join(root, task.file), source }
    const files = covering(this.#baseline, { source, ...task })
    const killers = new Map<string, Killer>()
    const entry = (result: Entry['result']): Entry => {
      return { ...task, result, killers: [...killers.values()], covering: files.length }
    }
    try {
      for (const { file, tests: known } of files) {
        if (killers.size >= ENOUGH) break
        const { tests } = await runner.run({ defect, file }, task.id, HANG_MS)
        for (const { name, line } of tests.filter(({ failed }) => failed)) {
          const [row, killer] = [`${file}:${line}`, { file, line, name }]
          if (killers.has(row) || killers.size >= ENOUGH) continue
          if (known.some((each) => each.name === name && each.failed)) continue
          // It may have failed because of what an earlier test of its file has left.
          if ((await fails(defect, killer, runner)) && (await this.#isSound(killer, runner))) killers.set(row, killer)
        }
      }
    } catch (error) {
      return { ...entry('unclear'), error: `${error}` }
    }
    return entry(killers.size > 0 ? 'killed' : files.length === 0 ? 'uncovered' : 'survives')
  }

  #isSound(killer: Killer, runner: Runner): Promise<boolean> {
    const key = JSON.stringify(killer)
    const known = this.#sound.get(key) ?? fails(NO_DEFECT, killer, runner).then((isFailing) => !isFailing)
    this.#sound.set(key, known)
    return known
  }
}

/** Whether a test fails alone. */
async function fails(defect: Defect, { file, name }: Killer, runner: Runner): Promise<boolean> {
  const filter = name === '' ? {} : { testNames: [name] }
  const { tests } = await runner.run({ defect, file, filter }, name, HANG_MS)
  return tests.some(({ failed }) => failed)
}

const USAGE = {
  source: { type: 'string', default: '' },
  only: { type: 'string', multiple: true },
  'per-file': { type: 'string', default: '20' },
  tests: { type: 'string', default: 'test/' },
  jobs: { type: 'string', default: `${availableParallelism()}` },
  out: { type: 'string', default: join(root, 'matrix.jsonl') },
  report: { type: 'boolean', default: false },
} as const

/**
 * Runs each mutant against the unit and property tests that reach it, until `ENOUGH` of them kill it. Each file of tests
 * has a process of its own, and takes a third of a second and the time of its tests: a mutant takes 3 to 60 seconds.
 */
export async function matrix(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: USAGE })
  const [jobs, out] = [Number(values.jobs), values.out]
  const lines = existsSync(out) ? readFileSync(out, 'utf8').trim().split('\n') : []
  const [known, ...done] = lines.map((line) => JSON.parse(line) as unknown) as [Baseline | undefined, ...Entry[]]
  const paths = ['.test.ts', '.test.tsx'].flatMap((end) => filesUnder(['test/unit', 'test/property'], end))
  const wanted = paths.filter((path) => path.startsWith(values.tests))
  const hash = createHash('sha256').update(values.tests)
  for (const path of ['.ts', '.tsx'].flatMap((end) => filesUnder([...PRODUCT, 'test'], end)))
    if (!path.startsWith('test/mutants/')) hash.update(path).update(textOf(path))
  const digest = hash.digest('hex')
  if (known !== undefined && known.hash !== digest && !values.report)
    throw new Error(`${out} is the matrix of other sources or tests: remove it, or choose another file with --out`)
  const baseline = known ?? (await measured(digest, wanted, jobs))
  if (known === undefined) writeFileSync(out, `${JSON.stringify(baseline)}\n`)
  const sources = PRODUCT.flatMap((folder) => ['.ts', '.tsx'].flatMap((end) => filesUnder([folder], end)))
  const operators = sources.flatMap((file) =>
    file.startsWith(values.source) ? operatorTasks(file, Number(values['per-file'])) : [],
  )
  const tasks = [...writtenTasks(), ...operators].filter(
    ({ id, file }) => file.startsWith(values.source) && values.only?.some((text) => id.includes(text)) !== false,
  )
  const entries = new Map(done.map((entry) => [entry.id, entry]))
  const open = values.report ? [] : tasks.filter(({ id }) => !entries.has(id))
  const judge = new Judge(baseline)
  await inParallel(open, jobs, async (task, runner) => {
    const entry = await judge.entry(task, runner)
    entries.set(entry.id, entry)
    appendFileSync(out, `${JSON.stringify(entry)}\n`)
  })
  console.log(report(baseline, [...entries.values()], tasks.length))
}
