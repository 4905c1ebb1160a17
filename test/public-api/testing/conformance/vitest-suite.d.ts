import type { ListerWatcherHarness } from './harness.js';
/**
 * Tests that a source keeps the contract, for vitest: `await describeListerWatcher('my source', { create() { … } })` at the
 * top of a test file, or in a `describe` that is async. What the harness does not support becomes a skipped test that says why.
 * Rejects where vitest is not there; nothing else of `listwatch/testing` needs it.
 */
export declare function describeListerWatcher<T>(name: string, harness: ListerWatcherHarness<T>): Promise<void>;
