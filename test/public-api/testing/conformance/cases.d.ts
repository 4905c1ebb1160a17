import type { ConformanceCase } from './conformance-case.js';
/** Every promise of the source contract that can be judged from outside, for runners of your own. */
export declare const conformanceCases: readonly ConformanceCase[];
