import { relayStoreCases } from './relay-store/cases.js'
import type { RelayStoreHarness } from './relay-store/harness.js'

/** The timeout of a case, in milliseconds. */
const CASE_TIMEOUT_MS = 60_000

/**
 * Defines vitest tests that a relay store keeps the contract of `RelayStore`, one for each case.
 * @throws Error if vitest is not installed.
 *
 * @example
 * ```ts
 * import type { RelayStore } from 'listwatch/adapter'
 * import { relayStoreConformance } from 'listwatch/testing'
 *
 * declare function myRelayStore(options: { name: string }): RelayStore
 * declare function dropCollection(name: string): Promise<void>
 *
 * // At the top of a test file, or in an async `describe`.
 * await relayStoreConformance('my store', { create: (name) => myRelayStore({ name }), remove: dropCollection })
 * ```
 */
export async function relayStoreConformance(name: string, harness: RelayStoreHarness): Promise<void> {
  const { describe, test } = await import('vitest').catch((cause: unknown) => {
    throw new Error('relayStoreConformance needs vitest 3.2 or later: npm i -D vitest', { cause })
  })
  describe(name, () => {
    for (const each of relayStoreCases) test(each.name, { timeout: CASE_TIMEOUT_MS }, () => each.run(harness))
  })
}
