// Judges mutants, one after the other, in one process.
import type { Channel } from 'node:diagnostics_channel'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { builtinEnvironments } from 'vitest/runtime'
import { channels } from '../../src/util/telemetry.js'
import { textOf } from '../support/sources.js'
import { bodyOf, PROBE, type Prepared, preparedIn } from './matrix-modules.js'
import { type Case, restore, run, testsOf } from './matrix-tests.js'
import { MORE_STEPS, Modules, type Replaced, STEPS_FACTOR, World } from './matrix-world.js'

/** One test, as it behaves without a mutant. */
export interface KnownTest {
  readonly file: string
  readonly title: string
  readonly row: string
  /** Of tests with the same title in one file. */
  readonly nth: number
  /** Time of a processor, and how often the event loop came round in 25 ms or more. */
  readonly ms: number
  readonly ticks: number
  readonly steps: number
  /** Why it judges no mutant. */
  readonly exception?: string
}

export interface Baseline {
  readonly hash: string
  readonly tests: readonly KnownTest[]
  /** Mutants and functions that modules reach while they are loaded. */
  readonly atLoad: readonly number[]
  readonly loadedBy: readonly number[]
}

/** What the process is asked. */
export interface Job {
  readonly id: string
  /** The number of an operator mutant. */
  readonly operator?: number
  /** Another mutant: the file, and its new text. */
  readonly file?: string
  readonly source?: string
  /** The part of the file that the mutant changes. */
  readonly span?: readonly [start: number, end: number]
  /** Tests that hung in an earlier process: they count as killers. */
  readonly hung: readonly number[]
  /** Tests that are not run. */
  readonly skip: readonly number[]
  /** A factor for the limits of time. */
  readonly patience?: number
}

export interface Verdict {
  readonly id: string
  readonly killers: readonly number[]
  readonly timeouts: readonly number[]
  readonly covering: number
  readonly notRun: number
  /** The tests that were not run, of a mutant with few killers. */
  readonly open: readonly number[]
  /** Killers that fail also without the mutant: this process is not clean any more. */
  readonly disturbed: readonly number[]
  readonly ms: number
  /** The memory of the process. */
  readonly rss: number
  readonly error?: string
}

const [, , folder = '', perFile = '', prefix = ''] = process.argv
const TICK_MS = 25
const IDLE_TICKS = 4
/** Tests that take longer come last, and only if few others kill the mutant. */
const SLOW_MS = 50
const FEW = 3
/** With this number of killers a mutant is dead enough. A table counts once, and needs only this number of cases. */
const ENOUGH_ROWS = 6
const ENOUGH_CASES = 3
/** The time of a processor for a written mutant and for one by an operator, and the time in all. */
const MAX_CPU_MS = 1_500
const MAX_OPERATOR_CPU_MS = 1_000
const MAX_MS = 60_000

const env = process.env
env['NODE_ENV'] = 'test'
env['VITEST'] = 'true'
// Runs that differ, or that look for the smallest failure, would take long.
fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true, seed: 7 })

const real = { setTimeout, clearTimeout }

/** The timers that the tests and the product have set. */
const timers = new Set<NodeJS.Timeout>()
function trackTimers(): void {
  const { setTimeout: set, setInterval: repeat, clearTimeout: clear, clearInterval: stop } = globalThis
  const tracked = Object.assign((fn: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = set(
      (...given) => {
        timers.delete(timer)
        fn(...given)
      },
      ms,
      ...args,
    )
    timers.add(timer)
    return timer
  }, set)
  const trackedInterval = (fn: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => {
    const timer = repeat(fn, ms, ...args)
    timers.add(timer)
    return timer
  }
  const cleared = (timer: NodeJS.Timeout): void => {
    timers.delete(timer)
    clear(timer)
    stop(timer)
  }
  Object.assign(globalThis, {
    setTimeout: tracked,
    setInterval: trackedInterval,
    clearTimeout: cleared,
    clearInterval: cleared,
  })
}

/** Ends what the modules of an earlier world have left in this process: timers, and subscribers of its channels. */
function forget(): void {
  for (const timer of timers) real.clearTimeout(timer)
  timers.clear()
  for (const channel of Object.values(channels)) {
    const left = (channel as unknown as { _subscribers?: ((message: unknown) => void)[] })._subscribers ?? []
    for (const subscriber of [...left]) (channel as unknown as Channel).unsubscribe(subscriber)
  }
}

let unhandled: unknown
process.on('unhandledRejection', (error) => {
  unhandled ??= error ?? 'rejected'
})
process.on('uncaughtException', (error) => {
  unhandled ??= error ?? 'thrown'
})
process.setMaxListeners(0)

/** A thread notices that this one hangs, writes down which test it was, and ends the process. */
const progress = new Int32Array(new SharedArrayBuffer(12))
new Worker(
  `const { workerData: { progress, file, pid } } = require('node:worker_threads')
   const { writeFileSync } = require('node:fs')
   let [last, cpu, since] = [-1, 0, Date.now()]
   setInterval(() => {
     const used = process.cpuUsage()
     const now = (used.user + used.system) / 1000
     if (progress[0] !== last || progress[2] === 0) { [last, cpu, since] = [progress[0], now, Date.now()]; return }
     if (now - cpu < 10_000 && Date.now() - since < 120_000) return
     writeFileSync(file, JSON.stringify({ test: progress[1] }))
     process.kill(pid, 'SIGKILL')
   }, 500)`,
  { eval: true, workerData: { progress, file: join(folder, `hung-${process.pid}.json`), pid: process.pid } },
).unref()

type Outcome = 'passed' | 'failed' | 'idle' | 'timeout' | 'unhandled'

let idleResources = 0
const tick = (): Promise<void> => new Promise((resolve) => real.setTimeout(resolve, TICK_MS))

/** Runs one test. Only ticks count towards its limit: a busy machine lets this process wait. */
async function outcomeOf(
  test: Case,
  world: World,
  steps: number,
  ticks: number,
): Promise<{ outcome: Outcome; error?: unknown; ticks: number }> {
  let left = ticks
  let timer: NodeJS.Timeout | undefined
  unhandled = undefined
  world.begin(steps)
  try {
    const late = new Promise<Outcome>((resolve) => {
      let idle = 0
      const look = (): void => {
        idle = timers.size === 0 && process.getActiveResourcesInfo().length <= idleResources ? idle + 1 : 0
        if (idle >= IDLE_TICKS) resolve('idle')
        else if (--left <= 0) resolve('timeout')
        else timer = real.setTimeout(look, TICK_MS)
      }
      timer = real.setTimeout(look, TICK_MS)
    })
    const outcome = await Promise.race([run(test).then((): Outcome => 'passed'), late])
    if (outcome === 'passed' && unhandled !== undefined)
      return { outcome: 'unhandled', error: unhandled, ticks: ticks - left }
    if (outcome !== 'passed') world.end()
    return { outcome, ticks: ticks - left }
  } catch (error) {
    return { outcome: 'failed', error, ticks: ticks - left }
  } finally {
    real.clearTimeout(timer)
  }
}

const isPage = (file: string): boolean => textOf(file).startsWith('// @vitest-environment happy-dom')

const inPage = new Map<string, boolean>()
/** Runs with the globals of a page, if the file asks for them. */
async function inEnvironment<T>(file: string, fn: () => Promise<T>): Promise<T> {
  const page = inPage.get(file) ?? isPage(file)
  inPage.set(file, page)
  if (!page) return await fn()
  const { teardown } = await builtinEnvironments['happy-dom'].setup(globalThis, {})
  try {
    return await fn()
  } finally {
    await teardown(globalThis)
  }
}

/** Returns the tests of a file in this world, by title and number. */
async function casesOf(world: World, file: string): Promise<Map<string, Case>> {
  return await inEnvironment(file, async () => {
    await modules.loadExternals(file)
    const cases = new Map<string, Case>()
    for (const each of await testsOf(() => world.loadTests(file))) {
      let nth = 0
      while (cases.has(`${each.title}#${nth}`)) nth++
      cases.set(`${each.title}#${nth}`, each)
    }
    return cases
  })
}

/** Bits of tests, one row for each mutant or function. */
class Reached {
  readonly #tests: number
  readonly bits: Uint8Array

  constructor(rows: number, tests: number, bits = new Uint8Array(rows * Math.ceil(tests / 8))) {
    this.#tests = Math.ceil(tests / 8)
    this.bits = bits
  }

  add(test: number, hits: Uint8Array): void {
    const place = (test >> 3) | 0
    for (let row = hits.indexOf(1); row >= 0; row = hits.indexOf(1, row + 1)) {
      const at = row * this.#tests + place
      this.bits[at] = (this.bits[at] ?? 0) | (1 << (test & 7))
    }
  }

  *of(row: number): Generator<number> {
    for (let place = 0; place < this.#tests; place++) {
      const byte = this.bits[row * this.#tests + place] ?? 0
      if (byte === 0) continue
      for (let bit = 0; bit < 8; bit++) if ((byte & (1 << bit)) !== 0) yield place * 8 + bit
    }
  }
}

function indicesOf(hits: Uint8Array): number[] {
  return [...hits.keys()].filter((index) => hits[index] === 1)
}

/** Runs all tests without a mutant twice: once in their order, and once as mutants will run them. */
async function measured(prepared: Prepared): Promise<{ baseline: Baseline; mutants: Reached; functions: Reached }> {
  const world = new World(modules, -1)
  const loaded: { file: string; cases: Map<string, Case> }[] = []
  for (const file of prepared.tests) {
    loaded.push({ file, cases: await casesOf(world, file) })
    console.log('loaded', file, loaded.at(-1)?.cases.size)
  }
  const atLoad = indicesOf(world.mutantHits)
  const loadedBy = indicesOf(world.functionHits)
  const count = loaded.reduce((sum, { cases }) => sum + cases.size, 0)
  const mutants = new Reached(prepared.mutants, count)
  const functions = new Reached(prepared.functions, count)
  const tests: (KnownTest & { exception?: string; ms: number })[] = []
  for (const { file, cases } of loaded) {
    for (const [key, each] of cases) {
      world.mutantHits.fill(0)
      world.functionHits.fill(0)
      const ENOUGH = 2 ** 40
      const steps = world.begin(ENOUGH)
      const cpu = process.cpuUsage()
      progress[2] = 0
      const { outcome, error, ticks } = await inEnvironment(file, () =>
        outcomeOf(each, world, ENOUGH, 60_000 / TICK_MS),
      )
      if (world.isOver) throw new Error(`${file} ${key}: ${outcome}`)
      const { user, system } = process.cpuUsage(cpu)
      const ms = Math.round((user + system) / 100) / 10
      const index = tests.length
      mutants.add(index, world.mutantHits)
      functions.add(index, world.functionHits)
      const exception = outcome === 'passed' ? undefined : `${outcome}: ${`${error}`.slice(0, 300)}`
      if (exception !== undefined) {
        restore()
        console.log(file, key, exception)
      }
      tests.push({
        file,
        title: each.title,
        row: each.row,
        nth: Number(key.slice(key.lastIndexOf('#') + 1)),
        ms,
        ticks,
        steps: steps(),
        ...(exception === undefined ? {} : { exception }),
      })
    }
    console.log(file, tests.length)
  }
  return { baseline: { hash: prepared.hash, tests, atLoad, loadedBy }, mutants, functions }
}

trackTimers()
await tick()
const prepared = await preparedIn(join(folder, 'prepared.json'), Number(perFile), prefix)
const modules = new Modules(prepared)
await new Promise<void>((resolve) =>
  real.setTimeout(() => {
    idleResources = process.getActiveResourcesInfo().length
    resolve()
  }, TICK_MS),
)

async function baselineNow(): Promise<{ baseline: Baseline; mutants: Reached; functions: Reached }> {
  const at = (name: string): string => join(folder, `baseline-${name}`)
  if (existsSync(at('tests.json'))) {
    const baseline = JSON.parse(readFileSync(at('tests.json'), 'utf8')) as Baseline
    if (baseline.hash === prepared.hash) {
      const { length } = baseline.tests
      return {
        baseline,
        mutants: new Reached(prepared.mutants, length, readFileSync(at('mutants.bin'))),
        functions: new Reached(prepared.functions, length, readFileSync(at('functions.bin'))),
      }
    }
  }
  const made = await measured(prepared)
  writeFileSync(at('mutants.bin'), made.mutants.bits)
  writeFileSync(at('functions.bin'), made.functions.bits)
  writeFileSync(at('tests.json'), JSON.stringify(made.baseline))
  return made
}

const { baseline, mutants, functions } = await baselineNow()

/** The tests that run a module, or one that imports it: its constants may matter to them. */
function testsAround(path: string): Set<number> {
  const files = Object.entries(prepared.files)
    .filter(([each, { imports }]) => each === path || imports.includes(path))
    .map(([, file]) => file)
  const found = new Set<number>()
  for (const { firstFunction, functions: all } of files)
    for (let each = firstFunction; each < firstFunction + all.length; each++)
      for (const test of functions.of(each)) found.add(test)
  return found
}

/** The tests that reach a part of a file. */
function testsAt(path: string, [start, end]: readonly [number, number]): Set<number> {
  const { functions: all, firstFunction } = modules.file(path)
  const around = all
    .map((span, index) => ({ ...span, id: firstFunction + index }))
    .filter((span) => span.start < start && end < span.end)
    .sort((a, b) => a.end - a.start - (b.end - b.start))
  const [innermost] = around
  return innermost === undefined ? testsAround(path) : new Set(functions.of(innermost.id))
}

function testsFor({ operator, file, span }: Job): Set<number> {
  if (operator !== undefined) {
    const reached = new Set(mutants.of(operator))
    if (!atLoad.has(operator)) return reached
    return new Set([...reached, ...testsAround(pathOf(operator))])
  }
  if (file !== undefined && span !== undefined) return testsAt(file, span)
  // Without a mutant, no test may fail.
  return new Set(baseline.tests.flatMap(({ ms, ticks }, index) => (ms < 60 && ticks < 2 ? [index] : [])))
}

const atLoad = new Set(baseline.atLoad)

function pathOf(operator: number): string {
  const found = Object.entries(prepared.files).find(
    ([, { firstMutant, operators }]) => operator >= firstMutant && operator < firstMutant + operators.length,
  )
  if (found === undefined) throw new Error(`there is no mutant ${operator}`)
  return found[0]
}

const costOf = ({ ms, ticks }: KnownTest): number => ms + ticks * TICK_MS

/** Tests that are probably about the file come before others of the same cost. */
function rankOf(test: KnownTest, path: string): number {
  const about = test.file.slice(test.file.lastIndexOf('/') + 1).split('.')[0] ?? ''
  const name = path.slice(path.lastIndexOf('/') + 1, path.lastIndexOf('.'))
  const cost = costOf(test) + 0.5
  if (about === name) return cost
  if (prepared.files[test.file]?.imports.includes(path) === true) return cost * 2
  const area = path.split('/').slice(path.startsWith('src/') ? 1 : 0, -1)
  return cost * (test.file.includes(`/${area.join('/')}/`) ? 4 : 8)
}

/** A world with one mutant, and the tests of the files that were loaded into it. */
class Trial {
  readonly #make: () => World
  #world: World
  #files = new Map<string, Map<string, Case> | { error: unknown }>()

  constructor(make: () => World) {
    this.#make = make
    forget()
    this.#world = make()
  }

  async outcomeOf({ file, title, nth, steps, ticks }: KnownTest, patience: number): Promise<Outcome> {
    if (this.#world.isOver) {
      forget()
      this.#world = this.#make()
      this.#files = new Map()
    }
    this.#world.begin(50_000_000)
    let cases = this.#files.get(file)
    if (cases === undefined) {
      cases = await casesOf(this.#world, file).catch((error: unknown) => ({ error }))
      this.#files.set(file, cases)
    }
    if ('error' in cases) return 'failed'
    const found = cases.get(`${title}#${nth}`)
    if (found === undefined) return 'failed'
    const { outcome } = await inEnvironment(file, () =>
      outcomeOf(found, this.#world, steps * STEPS_FACTOR + MORE_STEPS, (5 * ticks + 20) * patience),
    )
    if (outcome !== 'passed') {
      restore()
      // The next test may not see what this one has left.
      this.#world.end()
    }
    return outcome
  }
}

async function judge(job: Job): Promise<Verdict> {
  const began = performance.now()
  const cpu = process.cpuUsage()
  const skip = new Set([...job.hung, ...job.skip])
  const all = [...testsFor(job)]
  const path = job.file ?? (job.operator === undefined ? '' : pathOf(job.operator))
  const order = all
    .filter((test) => !skip.has(test) && baseline.tests[test]?.exception === undefined)
    .map((test) => ({ test, rank: rankOf(baseline.tests[test] as KnownTest, path) }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ test }) => test)
  const replaced: Replaced | undefined =
    job.file === undefined || job.source === undefined
      ? undefined
      : { path: job.file, body: await bodyOf(job.file, job.source) }
  const make = (): World => new World(modules, job.operator ?? -1, replaced)
  const trial = new Trial(make)
  const killers = [...job.hung]
  const timeouts = [...job.hung]
  const doubtful: number[] = []
  const isProbe = job.id === PROBE
  const open = new Set(order)
  const ofRow = new Map<string, number>()
  let ran = 0
  for (const index of order) {
    const test = baseline.tests[index] as KnownTest
    const { user, system } = process.cpuUsage(cpu)
    const maxMs = isProbe
      ? Number.POSITIVE_INFINITY
      : (job.operator === undefined ? MAX_CPU_MS : MAX_OPERATOR_CPU_MS) * (job.patience ?? 1)
    const isLate =
      !isProbe && ((user + system) / 1000 > maxMs || performance.now() - began > MAX_MS * (job.patience ?? 1))
    if ((ofRow.size >= ENOUGH_ROWS && !isProbe) || isLate) break
    if (costOf(test) > SLOW_MS && ofRow.size >= FEW && !isProbe) continue
    const row = `${test.file} ${test.row}`
    if ((ofRow.get(row) ?? 0) >= ENOUGH_CASES) continue
    open.delete(index)
    progress[1] = index
    progress[0] = (progress[0] ?? 0) + 1
    progress[2] = 1
    const outcome = await trial.outcomeOf(test, 1)
    ran++
    if (outcome === 'passed') continue
    killers.push(index)
    ofRow.set(row, (ofRow.get(row) ?? 0) + 1)
    if (outcome === 'idle' || outcome === 'timeout') timeouts.push(index)
    if (outcome === 'timeout' || outcome === 'unhandled' || costOf(test) > 100) doubtful.push(index)
  }
  if (killers.length <= FEW + 1) {
    // Each of them matters: it has to fail again, alone and with more time.
    for (const index of doubtful) {
      const outcome = await new Trial(make).outcomeOf(baseline.tests[index] as KnownTest, 3)
      if (outcome === 'passed') killers.splice(killers.indexOf(index), 1)
    }
  }
  // A test that fails now without the mutant fails because of what an earlier mutant has left in this process.
  const disturbed: number[] = []
  const clean = new Trial(() => new World(modules, -1))
  for (const index of killers) {
    if (job.hung.includes(index)) continue
    if ((await clean.outcomeOf(baseline.tests[index] as KnownTest, 3)) !== 'passed') disturbed.push(index)
  }
  progress[2] = 0
  forget()
  return {
    id: job.id,
    killers,
    timeouts: timeouts.filter((each) => killers.includes(each)),
    covering: all.length,
    notRun: order.length - ran,
    open: ofRow.size < FEW ? [...open] : [],
    disturbed,
    ms: Math.round(performance.now() - began),
    rss: process.memoryUsage.rss(),
  }
}

process.on('message', (job: Job) => {
  void judge(job)
    .catch((error: unknown): Verdict => {
      return {
        id: job.id,
        killers: [],
        timeouts: [],
        covering: 0,
        notRun: 0,
        open: [],
        disturbed: [],
        ms: 0,
        rss: 0,
        error: `${error}`,
      }
    })
    .then((verdict) => process.send?.(verdict))
})
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
process.send?.({ ready: true })
