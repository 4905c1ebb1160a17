import { type Clock } from '../../clock.js';
import { SourceError } from '../../errors.js';
/** What a case says of a source that broke its contract. */
export declare class Refusal extends Error {
    readonly name: string;
}
export declare function check(isSo: boolean, otherwise: string): asserts isSo;
/** What `work` gives; rejects after `ms` with what was waited for. */
export declare function within<V>(ms: number, what: string, work: Promise<V>): Promise<V>;
/** Waits for a condition to hold. */
export declare function eventually(ms: number, what: string, isSo: () => boolean | Promise<boolean>): Promise<void>;
/**
 * Refuses what has not ended, one way or another, 100 ms after its signal. The time is counted in small steps, so that
 * a process that hardly gets to run is not taken for a slow source.
 */
export declare function endsInTime(what: string, work: Promise<unknown>): Promise<void>;
/** The SourceError with which `work` rejects; anything else is refused. */
export declare function sourceErrorOf(what: string, work: Promise<unknown>): Promise<SourceError>;
/** Real time, by which is known how many sleeps have not ended. */
export declare class CountingClock implements Clock {
    sleeping: number;
    now(): number;
    sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
