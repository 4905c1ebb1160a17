import { join } from 'node:path'
import { createVitest, type TestModule, type TestSpecificationOptions } from 'vitest/node'
import { root } from '../support/sources.js'
import type { Reached } from './matrix-setup.js'
import type { Defect } from './mutant.js'
import { CONFIG } from './tests.js'

/** The tests of one file, by its path from the root. The filter chooses some of them. */
export interface TestJob {
  readonly defect: Defect
  readonly file: string
  readonly filter?: TestSpecificationOptions
}

/** A test that was run, with the line that declares it. The whole file has no name and the line 0. */
export interface Ran {
  readonly name: string
  readonly line: number
  readonly ms: number
  readonly failed: boolean
}

export interface FileRan {
  readonly tests: readonly Ran[]
  /** Of the matrix only. */
  readonly reached: Reached | undefined
}

const testTimeout = process.env['LISTWATCH_TEST_TIMEOUT_MS']
const vitest = await createVitest('test', {
  root,
  config: CONFIG,
  watch: false,
  maxWorkers: 1,
  // Each run has a process of its own, so that no module of the last mutant is left.
  isolate: true,
  // Of the matrix, a test that times out has to do so three times.
  ...(testTimeout === undefined ? {} : { testTimeout: Number(testTimeout) }),
  includeTaskLocation: true,
  reporters: [{}],
})
let last: Defect | undefined

async function run({ defect, file, filter }: TestJob): Promise<FileRan> {
  process.env['LISTWATCH_MUTANT'] = JSON.stringify(defect)
  for (const each of [last, defect]) if (each !== undefined) vitest.invalidateFile(each.path)
  last = defect
  // Otherwise a test that does not run has the result of the last mutant.
  vitest.state.filesMap.clear()
  const path = join(root, file)
  const project = vitest.projects.find((each) => each.matchesTestGlob(path))
  if (project === undefined) throw new Error(`no project of Vitest has the test ${file}`)
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications([
    project.createSpecification(path, filter ?? {}),
  ])
  const tests = testModules.flatMap(testsOf)
  const isBroken = unhandledErrors.length > 0 || testModules.some((module) => module.state() === 'failed')
  if (isBroken && !tests.some(({ failed }) => failed)) tests.push({ name: '', line: 0, ms: 0, failed: true })
  return { tests, reached: testModules[0]?.meta().reached }
}

function testsOf(module: TestModule): Ran[] {
  return Array.from(module.children.allTests()).flatMap((test) => {
    const [{ state }, { duration = 0 } = {}] = [test.result(), test.diagnostic()]
    if (state === 'skipped' || state === 'pending') return []
    return [{ name: test.fullName, line: test.location?.line ?? 0, ms: duration, failed: state === 'failed' }]
  })
}

process.on('message', (job: TestJob) => {
  void run(job).then((ran) => process.send?.(ran))
})
// The process of a test that hangs would not notice it.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'))
