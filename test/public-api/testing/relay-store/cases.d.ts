import type { RelayStoreHarness } from './harness.js';
/** One promise of the contract of relay stores, with its check. */
export interface RelayStoreCase {
    /** The promise as a sentence. */
    readonly name: string;
    /** Checks a store. Rejects with a description if the store violates the contract. */
    run(harness: RelayStoreHarness): Promise<void>;
}
/**
 * All cases of `relayStoreConformance`, for other test runners.
 *
 * @example
 * ```ts
 * import { test } from 'node:test'
 * import { type RelayStoreHarness, relayStoreCases } from 'listwatch/testing'
 *
 * function testStore(harness: RelayStoreHarness): void {
 *   for (const { name, run } of relayStoreCases) test(name, () => run(harness))
 * }
 * ```
 */
export declare const relayStoreCases: readonly RelayStoreCase[];
