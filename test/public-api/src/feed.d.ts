import type { Clock } from './clock.js';
import type { Change } from './delta.js';
import { SourceError } from './errors.js';
import type { DeclaredIndex } from './index-builder.js';
import type { IndexValue } from './index-types.js';
import type { Indexer, Membership } from './indexer.js';
import type { Version } from './version.js';
import { type VersionWait, type Wait } from './waits.js';
/** Which objects are wanted. What leaves the scope is told as a delete, what enters it as an add. */
export interface Scope<T, I = {}> {
    /** For errors and logs. Default: none. */
    readonly name?: string;
    /** Closes the subscription when it aborts. */
    readonly signal?: AbortSignal | undefined;
    /** How many keys are handled at a time; each key's changes stay in order. Default 1. */
    readonly concurrency?: number;
    /**
     * Tells each object in scope again once in so many milliseconds, as an update with `origin: 'resync'`, spread over that time and
     * never through the source. While something waits nothing is added to it. Default: never.
     */
    readonly resyncMs?: number;
    /** Only this key. */
    readonly key?: string;
    /** Only objects that have these values in these indexes. Costs nothing for the changes of others. */
    readonly where?: {
        readonly [K in keyof I]?: IndexValue<I[K]>;
    };
    /** Only objects for which it gives true; run over the store when the subscription begins, then on each change. */
    readonly filter?: (object: T, key: string) => boolean;
}
export interface SubscribeOptions<T, I = {}> extends Scope<T, I> {
    /** `every` change as it came (default), or the `latest` state of each key when there is time for it. */
    readonly delivery?: 'every' | 'latest';
    /** How many changes `every` may hold. Default 10 000. */
    readonly capacity?: number;
    /** Beyond that: behave as `latest` until it has caught up (`coalesce`, default), or close with an error (`fail`). */
    readonly onOverflow?: 'coalesce' | 'fail';
}
/** What a feed reads of it: the types of `where` have been checked where they are known. */
export type FeedOptions<T> = Omit<SubscribeOptions<T>, 'where'> & {
    readonly where?: object;
};
/** What belongs together: one commit of the store, several merged ones, or a part of the initial replay. */
export interface ChangeBatch<T> {
    /** Empty for a bookmark: everything up to `version` has been told. */
    readonly changes: readonly Change<T>[];
    /** Where the source was after these; undefined in the initial replay but for its last batch, and over several sources. */
    readonly version: Version | undefined;
    /** Over several sources: the one whose batch it is. */
    readonly source: string | undefined;
    /** Whether everything the store held at the beginning has been told, with this batch. */
    readonly isSynced: boolean;
}
/** How long `close` and `stop` wait for a handler that runs, in milliseconds. */
export declare const CLOSE_GRACE_MS = 1000;
/** Something that follows the store; ended by `close`, by its signal, and with the informer. */
export interface Subscription extends AsyncDisposable {
    /** Everything up to here has been handled, not only stored; undefined during the initial replay. */
    readonly version: Version | undefined;
    /** What waits: how many keys, and for how many milliseconds the oldest of them. */
    readonly backlog: {
        readonly keys: number;
        readonly oldestMs: number;
    };
    /** Resolves when everything the store held at the beginning has been handled, after the informer's first list. */
    synced(wait?: Wait): Promise<void>;
    /** Resolves when everything up to `version` has been handled. Rejects with `EPOCH_CHANGED` for another epoch. */
    waitFor(version: Version, wait?: VersionWait): Promise<void>;
    /** Ends it; with `drain` after everything that waits has been handled. Waits up to 1 s for a handler that runs. */
    close(options?: {
        readonly drain?: boolean;
    }): Promise<void>;
}
/** What a feed needs of its informer. */
export interface FeedHost<T> {
    readonly indexer: Indexer<T, unknown>;
    readonly clock: Clock;
    readonly sourceName: string;
    /** Whether the store mirrors several sources: then versions are positions of the store itself. */
    readonly isOfSet: boolean;
    readonly isFilled: () => boolean;
    /** Compares versions. A TypeError where the source cannot, or where several sources leave open which. */
    hasReached(call: string, source?: string): (at: Version, mark: Version) => boolean;
    /** Resolves when the store includes a version. */
    waitFor(version: Version, wait: VersionWait): Promise<void>;
    report(error: SourceError): void;
    attach(feed: Feed<T>): void;
    detach(feed: Feed<T>): void;
    /** Whoever tells of this feed is done. */
    release(feed: Feed<T>): void;
    /** Somebody waits for this feed to reach a version. */
    awaitVersion(feed: Feed<T>): void;
}
/**
 * What one subscription is to be told, in order: first the store as it was when it began, then every change in its
 * scope exactly once. It knows nothing of how it is told.
 */
export declare class Feed<T> {
    #private;
    readonly host: FeedHost<T>;
    readonly name: string | undefined;
    readonly key: string | undefined;
    /** The indexes that `where` asks, with what it asks them for. */
    readonly where: readonly (readonly [DeclaredIndex<T>, unknown])[];
    readonly wantsBookmarks: boolean;
    /** Called when there is something to take, or no more. */
    wake: () => void;
    constructor(host: FeedHost<T>, call: string, options: FeedOptions<T>, wantsBookmarks?: boolean);
    get isScoped(): boolean;
    get closed(): SourceError | undefined;
    get hasWaiters(): boolean;
    /** Undefined over several sources, which have a version each. */
    get version(): Version | undefined;
    get backlog(): {
        readonly keys: number;
        readonly oldestMs: number;
    };
    /** Since when the oldest of what waits has waited. */
    get oldestAt(): number | undefined;
    get hasMore(): boolean;
    /** Whether `key` is in the scope now, as far as it has been told. */
    has(key: string): boolean;
    /** The store has its first list: what it holds is told first. */
    begin(): void;
    /** A change that may concern this feed, out of a commit that `flush` ends. */
    consider(change: Change<T>, membership: Membership | undefined, positions: ReadonlyMap<DeclaredIndex<T>, number>): void;
    /** Ends a commit. */
    flush(position: Version | undefined, source?: string): void;
    /** Queues a commit, all of which concerns this feed. */
    offer(changes: readonly Change<T>[], position: Version | undefined, source?: string): void;
    /** The next batch, or undefined where nothing waits. Each is ended by `finish`, in the order of taking. */
    take(): ChangeBatch<T> | undefined;
    finish(batch: ChangeBatch<T>): void;
    /** Ends a taken batch whose end the next one's tells too. */
    absorb(): void;
    /** The store has moved on, or this feed has: whoever waits may have waited enough. */
    advance(): void;
    synced(call: string, wait?: Wait): Promise<void>;
    waitFor(version: Version, wait?: VersionWait): Promise<void>;
    /** From now on nothing is added to what waits. Before the first list it has no effect. */
    seal(): void;
    close(reason: SourceError): void;
}
