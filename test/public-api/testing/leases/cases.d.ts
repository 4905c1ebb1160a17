import type { LeasesHarness } from './harness.js';
/**
 * One promise of the contract of lease stores, with its check.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisLeases } from 'listwatch/redis'
 * import { leasesCases } from 'listwatch/testing'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * for (const { name, run } of leasesCases) {
 *   await run({ create: (group) => redisLeases({ client, group }), timeoutMs: 1_000 })
 *   console.log(name)
 * }
 * ```
 */
export interface LeasesCase {
    /** The promise as a sentence. */
    readonly name: string;
    /** Whether the case needs `watch`. */
    readonly needsHints: boolean;
    /** Checks a store. Rejects with a description if the store violates the contract. */
    run(harness: LeasesHarness): Promise<void>;
}
/**
 * All cases of `leasesConformance`, for test runners other than vitest.
 *
 * @example
 * ```ts
 * import { test } from 'node:test'
 * import { type LeasesHarness, leasesCases } from 'listwatch/testing'
 *
 * function testLeases(harness: LeasesHarness): void {
 *   for (const { name, run } of leasesCases) test(name, () => run(harness))
 * }
 * ```
 */
export declare const leasesCases: readonly LeasesCase[];
