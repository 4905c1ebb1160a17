import type { ConformanceCase } from './conformance-case.js';
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
export declare const conformanceCases: readonly ConformanceCase[];
