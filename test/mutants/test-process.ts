import { JobProcess } from '../simulation/runner/job-process.js'
import { type Mutant, mutated, type NamedTest, patternOf } from './mutant.js'
import type { FileRan, TestJob } from './test-worker.js'
import { environment, HANG_MS, TEST_TIMEOUT_MS } from './tests.js'

class TestProcess extends JobProcess<TestJob, FileRan> {
  constructor(env: NodeJS.ProcessEnv) {
    // The projects have tests of types, about which Vitest prints a warning.
    const all = { ...environment(), VITEST_DISABLE_EXPERIMENTAL_LOG: '1', ...env }
    super(new URL('./test-worker.ts', import.meta.url), { env: all, detached: true })
  }

  run(job: TestJob, name: string, hangMs: number): Promise<FileRan> {
    return this.perform(job, `the test of "${name}"`, hangMs)
  }
}

/** Runs tests of one file after the other, in a process with Vitest that begins with the first of them. */
export class MutantTests {
  readonly #env: NodeJS.ProcessEnv
  #process: TestProcess | undefined

  constructor(env: NodeJS.ProcessEnv = { LISTWATCH_TEST_TIMEOUT_MS: `${TEST_TIMEOUT_MS}` }) {
    this.#env = env
  }

  /** Rejects if it hangs. The next job has another process then. */
  async run(job: TestJob, name: string, hangMs: number): Promise<FileRan> {
    this.#process ??= new TestProcess(this.#env)
    try {
      return await this.#process.run(job, name, hangMs)
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** Returns the first test with this text in its name that the mutant makes fail; undefined if there is none. */
  async failureOf(mutant: Mutant, { test, named }: NamedTest, hangMs = HANG_MS): Promise<string | undefined> {
    const testNamePattern = patternOf(named)
    const job = { defect: mutated(mutant), file: `test/${test}`, filter: { testNamePattern } }
    const { tests } = await this.run(job, mutant.name, hangMs)
    return tests.find(({ name, failed }) => failed && testNamePattern.test(name))?.name
  }

  async close(): Promise<void> {
    await this.#process?.close()
    this.#process = undefined
  }
}
