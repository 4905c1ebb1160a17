import type { ConformanceCase } from './conformance-case.js';
/** All conformance cases, for test runners other than vitest: each promise of the source contract that is visible from outside. */
export declare const conformanceCases: readonly ConformanceCase[];
