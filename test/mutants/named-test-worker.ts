import { join } from 'node:path'
import { createVitest } from 'vitest/node'
import { root } from '../support/sources.js'
import { type Defect, type NamedTest, patternOf } from './mutant.js'
import { CONFIG, TEST_TIMEOUT_MS } from './tests.js'

/** A defect, and the test that has to fail. */
export interface NamedTestJob extends NamedTest {
  readonly defect: Defect
}

const vitest = await createVitest('test', {
  root,
  config: CONFIG,
  watch: false,
  maxWorkers: 1,
  // Each run has a process of its own, so that no module of the last mutant is left.
  isolate: true,
  testTimeout: TEST_TIMEOUT_MS,
  reporters: [{}],
})
let last: Defect | undefined

async function failureOf({ defect, test, named }: NamedTestJob): Promise<string | undefined> {
  process.env['LISTWATCH_MUTANT'] = JSON.stringify(defect)
  for (const each of [last, defect]) if (each !== undefined) vitest.invalidateFile(each.path)
  last = defect
  // Otherwise a test that does not run has the result of the last mutant.
  vitest.state.filesMap.clear()
  const pattern = patternOf(named)
  vitest.setGlobalTestNamePattern(pattern)
  const [layer = ''] = test.split('/')
  const specification = vitest.getProjectByName(layer).createSpecification(join(root, 'test', test))
  const { testModules } = await vitest.runTestSpecifications([specification])
  for (const module of testModules)
    for (const { fullName } of module.children.allTests('failed')) if (pattern.test(fullName)) return fullName
  return undefined
}

process.on('message', (job: NamedTestJob) => {
  void failureOf(job).then((failed) => process.send?.({ failed }))
})
// The process of a test that hangs would not notice it.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'))
