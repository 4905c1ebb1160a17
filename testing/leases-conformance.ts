import { leasesCases } from './leases/cases.js'
import type { LeasesHarness } from './leases/harness.js'

/** The timeout of a case, in milliseconds. */
const CASE_TIMEOUT_MS = 60_000

/**
 * Defines vitest tests that a lease store keeps the contract of `Leases`, one for each case.
 * @throws Error if vitest is not installed.
 *
 * @example
 * ```ts
 * import type { Leases } from 'listwatch/adapter'
 * import { leasesConformance } from 'listwatch/testing'
 *
 * declare function myLeases(options: { group: string }): Leases
 *
 * // At the top of a test file, or in an async `describe`.
 * await leasesConformance('my store', { create: (group) => myLeases({ group }) })
 * ```
 */
export async function leasesConformance(name: string, harness: LeasesHarness): Promise<void> {
  const { describe, test } = await import('vitest').catch((cause: unknown) => {
    throw new Error('leasesConformance needs vitest 3.2 or later: npm i -D vitest', { cause })
  })
  describe(name, () => {
    for (const each of leasesCases) {
      test(each.name, { timeout: CASE_TIMEOUT_MS }, async ({ skip }) => {
        if (each.needsHints && harness.withoutHints !== undefined) skip(harness.withoutHints)
        await each.run(harness)
      })
    }
  })
}
