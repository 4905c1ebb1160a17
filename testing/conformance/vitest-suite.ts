import { conformanceCases } from './cases.js'
import type { ListerWatcherHarness } from './harness.js'

/** The timeout of a case, in milliseconds. */
const CASE_TIMEOUT_MS = 60_000

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
  const { describe, test } = await import('vitest').catch((cause: unknown) => {
    throw new Error('describeListerWatcher needs vitest 3.2 or later: npm i -D vitest', { cause })
  })
  describe(name, () => {
    for (const [theme, cases] of Map.groupBy(conformanceCases, (each) => each.theme)) {
      describe(theme, () => {
        for (const each of cases) {
          test(each.name, { timeout: CASE_TIMEOUT_MS }, async ({ skip }) => {
            const outcome = await each.run(harness)
            if (outcome.type === 'skipped') skip(outcome.reason)
          })
        }
      })
    }
  })
}
