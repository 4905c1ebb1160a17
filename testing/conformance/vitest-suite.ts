import { conformanceCases } from './cases.js'
import type { ListerWatcherHarness } from './harness.js'

/** How long a case may take, in milliseconds. */
const CASE_TIMEOUT_MS = 60_000

/**
 * Tests that a source keeps the contract, for vitest: `await describeListerWatcher('my source', { create() { … } })` at the
 * top of a test file, or in a `describe` that is async. What the harness does not support becomes a skipped test that says why.
 * Rejects where vitest is not there; nothing else of `listwatch/testing` needs it.
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
