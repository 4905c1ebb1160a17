import { join } from 'node:path'
import { createVitest } from 'vitest/node'
import { root } from '../../support/sources.js'
import { type Mutant, pathOf } from './mutate.js'
import { CONFIG, TEST_TIMEOUT_MS } from './tests.js'

/** A mutant, and a test that has to fail: its file under test/, and its title or a part of it. */
export interface NamedTest {
  readonly mutant: Mutant
  readonly test: string
  readonly named: string
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
let last: Mutant | undefined

async function failureOf({ mutant, test, named }: NamedTest): Promise<string | undefined> {
  process.env['LISTWATCH_MUTANT'] = JSON.stringify(mutant)
  for (const each of [last, mutant]) if (each !== undefined) vitest.invalidateFile(pathOf(each))
  last = mutant
  // Otherwise a test that does not run has the result of the last mutant.
  vitest.state.filesMap.clear()
  vitest.setGlobalTestNamePattern(new RegExp(named.replaceAll(/[^\w\s]/g, '\\$&')))
  const [layer = ''] = test.split('/')
  const specification = vitest.getProjectByName(layer).createSpecification(join(root, 'test', test))
  const { testModules } = await vitest.runTestSpecifications([specification])
  for (const module of testModules)
    for (const { fullName } of module.children.allTests('failed')) if (fullName.includes(named)) return fullName
  return undefined
}

process.on('message', (job: NamedTest) => {
  void failureOf(job).then((failed) => process.send?.({ failed }))
})
// The process of a test that hangs would not notice it.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'))
