import type { ConformanceCase } from './conformance-case.js'
import { keyCases, nameCases } from './key-cases.js'
import { leakCases } from './leak-cases.js'
import { listCases } from './list-cases.js'
import { objectCases } from './object-cases.js'
import { recoveryCases } from './recovery-cases.js'
import { signalCases } from './signal-cases.js'
import { versionCases } from './version-cases.js'
import { watchCases } from './watch-cases.js'

/**
 * All conformance cases, for test runners other than vitest: each promise of the source contract that is visible from
 * outside.
 *
 * @example
 * ```ts
 * import { test } from 'node:test'
 * import { conformanceCases, type ListerWatcherHarness } from 'listwatch/testing'
 *
 * function testSource(harness: ListerWatcherHarness<unknown>): void {
 *   for (const { name, run } of conformanceCases) test(name, async () => void (await run(harness)))
 * }
 * ```
 */
export const conformanceCases: readonly ConformanceCase[] = [
  ...nameCases,
  ...listCases,
  ...objectCases,
  ...watchCases,
  ...versionCases,
  ...keyCases,
  ...recoveryCases,
  ...signalCases,
  ...leakCases,
]
