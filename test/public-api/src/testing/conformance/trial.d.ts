import type { ListerWatcher, ListPage, SourceContext } from '../../source.js';
import type { Version } from '../../version.js';
import { Contents, type Values } from './contents.js';
import type { ConformanceChange, ConformanceNeed, ConformanceWish, ListerWatcherHarness, ListerWatcherSubject } from './harness.js';
import { CountingClock } from './patience.js';
import { type Position, Watching } from './watching.js';
/** A list that was read to its end. */
export interface Listing extends Position {
    readonly pages: readonly ListPage<unknown>[];
}
export interface ListingOptions {
    readonly pageSize?: number;
    readonly signal?: AbortSignal;
    /** Runs after each page. */
    readonly between?: (page: number) => Promise<void>;
}
/** Thrown where a case finds out that there is nothing to check. */
export declare class NothingToCheck extends Error {
}
/** One case at work: its source, the writer, and every state that the collection has had. */
export declare class Trial {
    #private;
    readonly subject: ListerWatcherSubject<unknown>;
    readonly patienceMs: number;
    readonly clock: CountingClock;
    /** By the source's own keys. A state is here before anybody can see it. */
    readonly states: Values[];
    private constructor();
    static begin(harness: ListerWatcherHarness<unknown>, wish: ConformanceWish): Promise<Trial>;
    get source(): ListerWatcher<unknown>;
    /** What the collection holds. */
    get now(): Values;
    has(need: ConformanceNeed): boolean;
    keyOf(key: string): string;
    /** Writes these as one transaction, or one after the other where the source has none. Gives the last mark. */
    write(...changes: readonly ConformanceChange[]): Promise<Version | undefined>;
    put(key: string, value: string): Promise<Version | undefined>;
    delete(key: string): Promise<Version | undefined>;
    /** Makes it undecodable: it is none of what the collection holds any more. */
    corrupt(key: string): Promise<void>;
    connections(): Promise<number>;
    /** Has the harness do something. That it can was made sure of by what the case needs. */
    hook(name: 'compact' | 'restore' | 'disconnect'): Promise<void>;
    context(signal?: AbortSignal): SourceContext;
    pages({ pageSize, signal }?: ListingOptions): AsyncIterator<ListPage<unknown>>;
    /** Reads a list to its end. */
    list(options?: ListingOptions): Promise<Listing>;
    contents(): Contents;
    /** A watch of everything after a list, or after where another watch was. Ended with the case. */
    watch(from: Position): Watching;
    /** Waits until watches are open, by what they tell: a source need not say anything while nothing happens. */
    opened(...watchings: readonly Watching[]): Promise<void>;
    head(): Promise<Version>;
    hasReached(at: Version, mark: Version): boolean;
    /** Refuses what is not the state of now. */
    expectNow(what: string, values: Values): void;
    /** Refuses positions that are not states which the collection had, one after the other; gives the last one's number. */
    expectStates(what: string, positions: readonly Position[], from?: number): number;
    /** Ends whatever is still open. What does not end in time was judged by the cases for that. */
    end(): Promise<void>;
}
