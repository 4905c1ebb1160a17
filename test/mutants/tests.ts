import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Child } from '../support/child.js'
import { root } from '../support/sources.js'
import { type Mutant, mutated } from './mutant.js'

/** Tests that take longer hang. The machine may be busy. */
export const HANG_MS = 900_000
/** A test that times out counts as a kill, so this is longer than a busy machine needs. */
export const TEST_TIMEOUT_MS = 120_000
/** The configuration of Vitest for tests of the mutant in `LISTWATCH_MUTANT`. */
export const CONFIG = join('test', 'mutants', 'vitest.config.ts')

/** The environment of a process that runs Vitest, also if this process is one. */
export function environment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, VITEST: _vitest, VITEST_WORKER_ID: _worker, LISTWATCH_DRAW: _draw, ...env } = process.env
  return env
}

/** What Vitest reports as JSON, as far as it is needed here. */
export interface Report {
  readonly success: boolean
  readonly numFailedTests: number
  readonly numPassedTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[]
  }[]
}

/** Runs Vitest with these arguments against the mutant, in a process of its own. Rejects if it hangs. */
export async function runTests(mutant: Mutant, args: readonly string[]): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'listwatch-mutant-'))
  const outputFile = join(folder, 'report.json')
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const all = [vitest, 'run', '--config', CONFIG, '--reporter=json', '--outputFile', outputFile, ...args]
  // Node 22 runs this file, and has no `await using`.
  const child = new Child(process.execPath, all, {
    cwd: root,
    env: { ...environment(), LISTWATCH_MUTANT: JSON.stringify(mutated(mutant)) },
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), HANG_MS)
  try {
    const { signal } = await child.ended
    if (signal === 'SIGKILL') throw new Error(`the tests of "${mutant.name}": it hangs`)
    const report = await readFile(outputFile, 'utf8').catch(() => {
      throw new Error(`no report: ${child.output.slice(-500)} ${child.errors.slice(-500)}`)
    })
    return JSON.parse(report) as Report
  } finally {
    clearTimeout(timer)
    await child[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  }
}

/** The first test that failed, or the file that could not be loaded; undefined if all passed. */
export function firstFailure({ success, testResults }: Report): string | undefined {
  for (const { name, status, assertionResults } of testResults) {
    const failed = assertionResults.find((each) => each.status === 'failed')
    if (failed !== undefined) return failed.fullName
    if (status === 'failed') return name.slice(root.length)
  }
  return success ? undefined : 'an error outside of tests'
}
