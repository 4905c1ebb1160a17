// node --experimental-vm-modules parse.ts: prints the mutants that are not valid modules, as JSON.
import { stripTypeScriptTypes } from 'node:module'
import { SourceTextModule } from 'node:vm'
import { foreignMutants } from './foreign/index.js'
import { mutants } from './index.js'
import { type Mutant, mutated } from './mutate.js'

/** Returns the syntax error of a mutant. A private name that does not exist is one too. */
function syntaxError(mutant: Mutant): string | undefined {
  try {
    new SourceTextModule(stripTypeScriptTypes(mutated(mutant)))
    return undefined
  } catch (error) {
    return `${mutant.name}: ${error}`
  }
}

console.log(JSON.stringify([...mutants, ...foreignMutants].flatMap((mutant) => syntaxError(mutant) ?? [])))
