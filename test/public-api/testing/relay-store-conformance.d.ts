import type { RelayStoreHarness } from './relay-store/harness.js';
/**
 * Defines vitest tests that a relay store keeps the contract of `RelayStore`, one for each case.
 * @throws Error if vitest is not installed.
 *
 * @example
 * ```ts
 * import type { RelayStore } from 'listwatch'
 * import { relayStoreConformance } from 'listwatch/testing'
 *
 * declare function myRelayStore(options: { name: string }): RelayStore
 * declare function dropCollection(name: string): Promise<void>
 *
 * // At the top of a test file, or in an async `describe`.
 * await relayStoreConformance('my store', { create: (name) => myRelayStore({ name }), remove: dropCollection })
 * ```
 */
export declare function relayStoreConformance(name: string, harness: RelayStoreHarness): Promise<void>;
