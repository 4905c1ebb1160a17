import type { ConformanceCapability, ListerWatcherHarness } from './harness.js';
/** What became of a case that did not fail. */
export type ConformanceOutcome = {
    readonly type: 'passed';
} | {
    readonly type: 'skipped';
    readonly reason: string;
};
/** One promise of the source contract, and how it is judged. */
export interface ConformanceCase {
    readonly theme: string;
    /** A sentence of the contract. Unique. */
    readonly name: string;
    readonly needs: readonly ConformanceCapability[];
    /** Judges a source; rejects where it breaks the contract, with what was seen. */
    run(harness: ListerWatcherHarness<unknown>): Promise<ConformanceOutcome>;
}
