import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification, type Vite } from 'vitest/node'
import all from '../../vitest.config.js'
import { importsOf, PRODUCT, root } from '../support/sources.js'
import { counted } from './matrix-syntax.js'
import type { Defect } from './mutant.js'

const isMatrix = process.env['LISTWATCH_MATRIX'] !== undefined
const pathOf = (id: string): string => relative(root, id.split('?')[0] ?? id)
const isProduct = (id: string): boolean => PRODUCT.includes(pathOf(id).split('/')[0] ?? '') && /\.tsx?(\?|$)/.test(id)

/** The defect now: a process can run the tests of several mutants, one after the other. */
function current(): Defect {
  const text = process.env['LISTWATCH_MUTANT']
  if (text === undefined) throw new Error('LISTWATCH_MUTANT is a defect, as JSON')
  return JSON.parse(text) as Defect
}

const plugin: Vite.Plugin = {
  name: 'mutant',
  enforce: 'pre',
  load: (id) => (id === current().path ? current().source : undefined),
  // Other files are transformed once for all mutants. The cache would take the defect for the content of its file.
  configureVitest: ({ defineCacheKeyGenerator }) =>
    defineCacheKeyGenerator(({ id }) => (id === current().path || (isMatrix && isProduct(id)) ? false : undefined)),
  transform: (code, id) => (isMatrix && isProduct(id) ? { code: counted(pathOf(id), code), map: null } : undefined),
}

/** The tests that import the file with the defect come first: most mutants die there. */
class NearestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const path = relative(root, current().path)
    const isNear = ({ moduleId }: TestSpecification): boolean => importsOf(relative(root, moduleId)).includes(path)
    return Promise.resolve([...files.filter(isNear), ...files.filter((each) => !isNear(each))])
  }
}

const setup = isMatrix ? { setupFiles: ['test/mutants/matrix-setup.ts'] } : {}

/** Runs tests of any project against the production source with one defect in it. */
export default defineConfig({
  root,
  test: {
    ...all.test,
    // Enough for a mutant: a test that times out takes seconds.
    ...(isMatrix ? { bail: 30 } : {}),
    sequence: { sequencer: NearestFirst },
    projects: (all.test?.projects ?? []).map((project) =>
      typeof project === 'object' && !('then' in project)
        ? { ...project, plugins: [plugin], test: { ...project.test, ...setup } }
        : project,
    ),
  },
})
