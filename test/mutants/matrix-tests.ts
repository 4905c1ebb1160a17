import * as vitest from 'vitest'

// Vitest's own parts ask for it.
Reflect.set(globalThis, '__vitest_worker__', {
  metaEnv: process.env,
  config: { fakeTimers: { loopLimit: 10_000, shouldClearNativeTimers: true }, expect: {} },
})

type Fn = (...args: never[]) => unknown
type Cleanup = () => unknown

const HOOKS = ['beforeAll', 'afterAll', 'beforeEach', 'afterEach'] as const

/** A `describe`, or a file. */
interface Suite extends Readonly<Record<(typeof HOOKS)[number], Cleanup[]>> {
  /** From the file to this one, and the names of all except the file. */
  readonly path: readonly Suite[]
  readonly names: readonly string[]
  /** The same for all cases of a table. */
  readonly templates: readonly string[]
  readonly children: (Suite | Case)[]
  readonly collect: () => unknown
}

/** One test. */
export interface Case {
  readonly path: readonly Suite[]
  /** With the names of its suites. A case of a table has its number. */
  readonly title: string
  /** The same for all cases of a table. */
  readonly row: string
  readonly fn: () => unknown
}

function suiteIn(outer: Suite | undefined, names: readonly string[], templates: readonly string[], collect: Cleanup) {
  const hooks = { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] }
  const suite: Suite = { ...hooks, path: [], names, templates, children: [], collect }
  return Object.assign(suite, { path: [...(outer?.path ?? []), suite] })
}

let current: Suite | undefined
let finished: Cleanup[] | undefined

function suiteNow(): Suite {
  if (current === undefined) throw new Error('tests are declared only while a file is loaded')
  return current
}

function parsed(first: unknown, second: unknown): Fn {
  const fn = typeof first === 'function' ? first : second
  if (typeof fn !== 'function') throw new Error('a test without a function')
  return fn as Fn
}

type Declare = (name: string, template: string, fn: Cleanup) => void

const withTables = (declare: Declare) => {
  const named = (name: string | { name: string }): string => (typeof name === 'string' ? name : name.name)
  const one = (name: string | { name: string }, first: unknown, second?: unknown): void => {
    const fn = parsed(first, second)
    declare(named(name), named(name), () => fn(...([{}] as never[])))
  }
  const table =
    (spread: boolean) => (cases: readonly unknown[]) => (name: string, first: unknown, second?: unknown) => {
      const fn = parsed(first, second)
      const spreads = spread && cases.every(Array.isArray)
      for (const [index, item] of cases.entries()) {
        declare(`${name} (case ${index + 1})`, name, () => fn(...((spreads ? item : [item]) as never[])))
      }
    }
  return Object.assign(one, { each: table(true), for: table(false) })
}

const test = withTables((name, template, fn) => {
  const { path, names, templates, children } = suiteNow()
  children.push({ path, title: [...names, name].join(' > '), row: [...templates, template].join(' > '), fn })
})

const describe = withTables((name, template, fn) => {
  const suite = suiteNow()
  suite.children.push(suiteIn(suite, [...suite.names, name], [...suite.templates, template], fn))
})

/** The parts of Vitest's functions that depend on the modules of a world. */
export interface Host {
  mock(specifier: string, factory: (original: () => Promise<unknown>) => unknown): void
  resetModules(): void
}

const expectOfTests = Object.assign(
  ((value: unknown, message?: string) => vitest.expect(value, message)) as typeof vitest.expect,
  vitest.expect,
  // It asks for a test of Vitest's.
  { poll: vitest.createExpect({ promises: [], fullTestName: '' } as never).poll },
)

/** What tests import from 'vitest'. */
export function apiFor(host: Host): Record<string, unknown> {
  const vi = Object.assign(Object.create(vitest.vi) as object, {
    mock: host.mock,
    hoisted: (fn: () => unknown) => fn(),
    resetModules: host.resetModules,
    setConfig: () => {},
  })
  return {
    ...vitest,
    expect: expectOfTests,
    vi,
    test,
    it: test,
    describe,
    suite: describe,
    ...Object.fromEntries(HOOKS.map((hook) => [hook, (fn: Cleanup) => void suiteNow()[hook].push(fn)])),
    onTestFinished: (fn: Cleanup) => {
      if (finished === undefined) throw new Error('onTestFinished outside of a test')
      finished.push(fn)
    },
  }
}

async function collected(suite: Suite): Promise<Case[]> {
  current = suite
  await suite.collect()
  const cases: Case[] = []
  for (const child of suite.children) cases.push(...('fn' in child ? [child] : await collected(child)))
  return cases
}

/** Loads a file, and returns its tests in their order. */
export async function testsOf(load: () => unknown): Promise<Case[]> {
  try {
    return await collected(suiteIn(undefined, [], [], load))
  } finally {
    current = undefined
  }
}

/** Runs one test with all hooks of its suites. Rejects if it fails. */
export async function run({ path, fn }: Case): Promise<void> {
  const inner = path.toReversed()
  const errors: unknown[] = []
  const attempt = async (step: Cleanup): Promise<unknown> => {
    try {
      return await step()
    } catch (error) {
      errors.push(error)
      return undefined
    }
  }
  const cleanups: Cleanup[] = []
  const mine: Cleanup[] = []
  finished = mine
  for (const hook of [...path.flatMap((each) => each.beforeAll), ...path.flatMap((each) => each.beforeEach)]) {
    const cleanup = errors.length === 0 ? await attempt(hook) : undefined
    if (typeof cleanup === 'function') cleanups.unshift(cleanup as Cleanup)
  }
  if (errors.length === 0) await attempt(fn)
  for (const hook of inner.flatMap((each) => each.afterEach.toReversed())) await attempt(hook)
  for (const hook of mine.toReversed()) await attempt(hook)
  for (const hook of cleanups) await attempt(hook)
  for (const hook of inner.flatMap((each) => each.afterAll.toReversed())) await attempt(hook)
  if (errors.length > 0) throw errors[0]
}

/** Takes back what a failed test may have left behind. */
export function restore(): void {
  vitest.vi.useRealTimers()
  vitest.vi.restoreAllMocks()
  vitest.vi.unstubAllGlobals()
  vitest.vi.unstubAllEnvs()
}
