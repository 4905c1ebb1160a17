import type { RelayStoreHarness } from './harness.js';
/**
 * One promise of the contract of relay stores, with its check.
 *
 * @example
 * ```ts
 * import type { RelayStore } from 'listwatch'
 * import { relayStoreCases } from 'listwatch/testing'
 *
 * declare const engine: { open(name: string): RelayStore; drop(name: string): Promise<void> }
 * for (const { name, run } of relayStoreCases) {
 *   await run({ create: (collection) => engine.open(collection), remove: (collection) => engine.drop(collection) })
 *   console.log(name)
 * }
 * ```
 */
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
