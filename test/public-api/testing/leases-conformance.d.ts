import type { LeasesHarness } from './leases/harness.js';
/**
 * Defines vitest tests that a lease store keeps the contract of `Leases`, one for each case.
 * @throws Error if vitest is not installed.
 *
 * @example
 * ```ts
 * import type { Leases } from 'listwatch'
 * import { leasesConformance } from 'listwatch/testing'
 *
 * declare function myLeases(options: { group: string }): Leases
 *
 * // At the top of a test file, or in an async `describe`.
 * await leasesConformance('my store', { create: (group) => myLeases({ group }) })
 * ```
 */
export declare function leasesConformance(name: string, harness: LeasesHarness): Promise<void>;
