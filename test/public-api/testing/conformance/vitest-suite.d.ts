import type { ListerWatcherHarness } from './harness.js';
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
export declare function describeListerWatcher<T>(name: string, harness: ListerWatcherHarness<T>): Promise<void>;
