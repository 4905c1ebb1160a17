// node --experimental-vm-modules syntax.ts: prints the mutants that are not valid modules, as JSON.
import { stripTypeScriptTypes } from 'node:module'
import { SourceTextModule } from 'node:vm'
import { allMutants } from './index.js'
import { type Mutant, mutated } from './mutant.js'

/** Returns the syntax error of a mutant. A private name that does not exist is one too. */
function syntaxError(mutant: Mutant): string | undefined {
  try {
    new SourceTextModule(stripTypeScriptTypes(mutated(mutant).source))
    return undefined
  } catch (error) {
    return `${mutant.name}: ${error}`
  }
}

console.log(JSON.stringify(allMutants.flatMap((mutant) => syntaxError(mutant) ?? [])))
