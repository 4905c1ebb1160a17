import { JobProcess } from '../simulation/runner/job-process.js'
import { type Mutant, mutated, type NamedTest } from './mutant.js'
import type { NamedTestJob } from './named-test-worker.js'
import { environment, HANG_MS } from './tests.js'

class NamedTestProcess extends JobProcess<NamedTestJob, { readonly failed: string | undefined }> {
  constructor() {
    // The projects have tests of types, about which Vitest prints a warning.
    const env = { ...environment(), VITEST_DISABLE_EXPERIMENTAL_LOG: '1' }
    super(new URL('./named-test-worker.ts', import.meta.url), { env, detached: true })
  }

  async failureOf(job: NamedTestJob, name: string, hangMs: number): Promise<string | undefined> {
    const { failed } = await this.perform(job, `the test of "${name}"`, hangMs)
    return failed
  }
}

/** Runs the tests that mutants name, one at a time, in a process with Vitest that begins with the first of them. */
export class NamedTests {
  #process: NamedTestProcess | undefined

  /**
   * Returns the first test with this text in its name that the mutant makes fail; undefined if there is none. Rejects if
   * it hangs. The next mutant has another process then.
   */
  async failureOf(mutant: Mutant, named: NamedTest, hangMs = HANG_MS) {
    this.#process ??= new NamedTestProcess()
    try {
      return await this.#process.failureOf({ ...named, defect: mutated(mutant) }, mutant.name, hangMs)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#process?.close()
    this.#process = undefined
  }
}
