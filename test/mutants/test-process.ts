import { JobProcess } from '../simulation/runner/job-process.js'
import { type Mutant, mutated, type NamedTest, patternOf } from './mutant.js'
import type { Ran, TestJob } from './test-worker.js'
import { environment, HANG_MS } from './tests.js'

/** Runs tests of one file after the other, in a process with Vitest that begins with the first of them. */
export class MutantTests {
  #process: JobProcess<TestJob, Ran[]> | undefined

  /**
   * Returns the first test with this text in its name that the mutant makes fail; undefined if there is none. Rejects
   * if it hangs. The next job has another process then.
   */
  async failureOf(mutant: Mutant, { test, named }: NamedTest, hangMs = HANG_MS): Promise<string | undefined> {
    const testNamePattern = patternOf(named)
    const job = { defect: mutated(mutant), file: `test/${test}`, filter: { testNamePattern } }
    // The projects have tests of types, about which Vitest prints a warning.
    const env = { ...environment(), VITEST_DISABLE_EXPERIMENTAL_LOG: '1' }
    this.#process ??= new JobProcess(new URL('./test-worker.ts', import.meta.url), { env, detached: true })
    try {
      const tests = await this.#process.perform(job, `the test of "${mutant.name}"`, hangMs)
      return tests.find(({ name, failed }) => failed && testNamePattern.test(name))?.name
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
