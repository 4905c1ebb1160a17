import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { mutated } from '../../simulation/mutants/mutate.js'
import { mutants } from './index.js'

const mutant = mutants.find(({ name }) => name === process.env['LISTWATCH_ETCD_MUTANT'])
if (mutant === undefined) throw new Error('LISTWATCH_ETCD_MUTANT is the name of a mutant')
const path = fileURLToPath(new URL(mutant.file, new URL('../../../src/', import.meta.url)))

/** Runs a test against the adapter with one defect in it. */
export default defineConfig({
  root: fileURLToPath(new URL('../../../', import.meta.url)),
  plugins: [{ name: 'mutant', enforce: 'pre', load: (id: string) => (id === path ? mutated(mutant) : undefined) }],
  test: {
    // What was transformed once is kept by the content of the file, which is not what is loaded here.
    fsModuleCache: false,
    include: [`test/${mutant.test}`],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: 'test/servers/global-setup.ts',
  },
})
