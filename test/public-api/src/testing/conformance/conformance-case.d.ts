import { type ConformanceNeed, type ListerWatcherHarness } from './harness.js';
import { Trial } from './trial.js';
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
    readonly needs: readonly ConformanceNeed[];
    /** Judges a source; rejects where it breaks the contract, with what was seen. */
    run(harness: ListerWatcherHarness<unknown>): Promise<ConformanceOutcome>;
}
/** How a case is written down. */
export interface CaseDefinition {
    readonly name: string;
    readonly needs?: readonly ConformanceNeed[];
    /** How often a silent watch should speak, in milliseconds. Default: so rarely that nobody relies on it. */
    readonly heartbeatMs?: number;
    check(trial: Trial): Promise<void>;
}
export declare function casesOf(theme: string, definitions: readonly CaseDefinition[]): readonly ConformanceCase[];
