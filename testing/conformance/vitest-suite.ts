import { conformanceCases } from './cases.js'
import type { ListerWatcherHarness } from './harness.js'

/**
 * Defines vitest tests that a source keeps the contract, one for each conformance case. Cases that the harness does not
 * support become skipped tests with the reason.
 * @throws Error if vitest is not installed. Nothing else of `listwatch/testing` needs vitest.
 *
 * @example
 * ```ts
 * // At the top of a test file, or in an async `describe`.
 * await describeListerWatcher('my source', harness)
 * ```
 */
export async function describeListerWatcher<T>(name: string, harness: ListerWatcherHarness<T>): Promise<void> {
  const tests = conformanceCases.map((each) => ({
    ...each,
    run: async () => {
      const outcome = await each.run(harness)
      return outcome.type === 'skipped' ? outcome.reason : undefined
    },
  }))
  await defineTests('describeListerWatcher', name, tests)
}

/** A test. `run` returns why it does not apply. */
interface SuiteTest {
  readonly theme?: string
  readonly name: string
  run(): Promise<string | undefined>
}

/** @internal Defines the tests of a suite, grouped by their themes. `call` names the caller in errors. */
export async function defineTests(
  call: string,
  suite: string,
  tests: readonly SuiteTest[],
  timeout: number = 60_000,
): Promise<void> {
  const { describe, test } = await import('vitest').catch((cause: unknown) => {
    throw new Error(`${call} needs vitest 3.2 or later: npm i -D vitest`, { cause })
  })
  const define = (some: readonly SuiteTest[]): void => {
    for (const { name, run } of some) {
      test(name, { timeout }, async ({ skip }) => {
        const reason = await run()
        if (reason !== undefined) skip(reason)
      })
    }
  }
  describe(suite, () => {
    for (const [theme, some] of Map.groupBy(tests, (each) => each.theme)) {
      if (theme === undefined) define(some)
      else describe(theme, () => define(some))
    }
  })
}
