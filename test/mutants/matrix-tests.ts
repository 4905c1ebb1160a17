import { format, inspect } from 'node:util'
import * as vitest from 'vitest'

// Vitest's own parts ask for it.
Reflect.set(globalThis, '__vitest_worker__', {
  metaEnv: process.env,
  config: { fakeTimers: { loopLimit: 10_000, shouldClearNativeTimers: true }, expect: {} },
})

type Fn = (...args: never[]) => unknown
type Cleanup = () => unknown

/** A `describe`, or a file. */
class Suite {
  readonly children: (Suite | Case)[] = []
  readonly beforeAll: Cleanup[] = []
  readonly afterAll: Cleanup[] = []
  readonly beforeEach: Cleanup[] = []
  readonly afterEach: Cleanup[] = []
  readonly parent: Suite | undefined
  readonly name: string
  readonly template: string
  readonly collect: () => unknown

  constructor(parent: Suite | undefined, name: string, template: string, collect: () => unknown) {
    this.parent = parent
    this.name = name
    this.template = template
    this.collect = collect
  }

  /** From the file to this one. */
  get path(): Suite[] {
    return [...(this.parent?.path ?? []), this]
  }
}

/** One test. */
export class Case {
  readonly suite: Suite
  readonly name: string
  readonly template: string
  readonly fn: () => unknown

  constructor(suite: Suite, name: string, template: string, fn: () => unknown) {
    this.suite = suite
    this.name = name
    this.template = template
    this.fn = fn
  }

  /** With the titles of its suites, as Vitest prints it. */
  get title(): string {
    return [...this.suite.path.slice(1).map(({ name }) => name), this.name].join(' > ')
  }

  /** The same for all cases of a table. */
  get row(): string {
    return [...this.suite.path.slice(1).map(({ template }) => template), this.template].join(' > ')
  }
}

let current: Suite | undefined
let finished: Cleanup[] | undefined

function suiteNow(): Suite {
  if (current === undefined) throw new Error('tests are declared only while a file is loaded')
  return current
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
const shown = (value: unknown): string => (typeof value === 'string' ? value : inspect(value))

function attribute(item: unknown, key: string): unknown {
  return key.split('.').reduce<unknown>((value, part) => (isObject(value) ? value[part] : undefined), item)
}

/** As Vitest formats the titles of tables. */
function titleOf(template: string, items: readonly unknown[], index: number): string {
  let next = 0
  return template
    .replaceAll('%#', `${index}`)
    .replaceAll('%$', `${index + 1}`)
    .split(/(%[sdifjoOc%])/)
    .map((part, place) => {
      if (place % 2 === 1) return part === '%%' ? '%' : format(part, items[next++])
      return part.replaceAll(/\$([$\p{ID_Continue}.]+)/gu, (text, key: string) => {
        if (/^\d+$/.test(key)) return shown(items[Number(key)])
        return isObject(items[0]) ? shown(attribute(items[0], key)) : text
      })
    })
    .join('')
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
        const items = Array.isArray(item) ? item : [item]
        declare(titleOf(name, items, index), name, () => fn(...((spreads ? items : [item]) as never[])))
      }
    }
  return Object.assign(one, { each: table(true), for: table(false) })
}

const test = withTables((name, template, fn) => {
  const suite = suiteNow()
  suite.children.push(new Case(suite, name, template, fn))
})

const describe = withTables((name, template, fn) => {
  const suite = suiteNow()
  suite.children.push(new Suite(suite, name, template, fn))
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
    beforeAll: (fn: Cleanup) => void suiteNow().beforeAll.push(fn),
    afterAll: (fn: Cleanup) => void suiteNow().afterAll.push(fn),
    beforeEach: (fn: Cleanup) => void suiteNow().beforeEach.push(fn),
    afterEach: (fn: Cleanup) => void suiteNow().afterEach.push(fn),
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
  for (const child of suite.children) cases.push(...(child instanceof Case ? [child] : await collected(child)))
  return cases
}

/** Loads a file, and returns its tests in their order. */
export async function testsOf(file: string, load: () => unknown): Promise<Case[]> {
  try {
    return await collected(new Suite(undefined, file, file, load))
  } finally {
    current = undefined
  }
}

/** Runs one test with all hooks of its suites. Rejects if it fails. */
export async function run({ suite, fn }: Case): Promise<void> {
  const path = suite.path
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
