import type { ServerName } from '../servers/index.js'
import type { Mutant } from '../simulation/mutants/mutate.js'

/** One defect of an adapter, and the test that has to fail because of it. */
export interface AdapterMutant extends Mutant {
  /** The file of the test, under test/. */
  readonly test: string
  /** A part of the test's name, as a pattern. */
  readonly named: string
  /** The server that the test needs. The same test against other servers is not run. */
  readonly server?: ServerName
}
