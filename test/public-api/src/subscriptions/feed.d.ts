import type { Clock } from '../contract/clock.js';
import { SourceError } from '../contract/errors.js';
import type { Version } from '../contract/version.js';
import type { Change } from '../queue/change.js';
import type { Membership } from '../store/commit.js';
import type { Indexer } from '../store/indexer.js';
import type { DeclaredIndex } from '../store/indexes/index-builder.js';
import { type Settle, type Wait } from '../util/deadline.js';
import { type ChangeBatch, type FeedOptions } from './subscription-types.js';
import { type VersionWait } from './version-waiters.js';
/** What a feed needs of its informer. */
export interface FeedHost<T> {
    readonly indexer: Indexer<T, unknown>;
    readonly clock: Clock;
    readonly sourceName: string;
    /** Whether the store mirrors several sources: then versions are positions of the store itself. */
    readonly isOfSet: boolean;
    readonly isSynced: () => boolean;
    /** Compares versions. A TypeError where the source cannot, or where several sources leave open which. */
    hasReached(call: string, source?: string): (at: Version, mark: Version) => boolean;
    /**
     * Which history of its source the store shows; undefined while it is known to be over and the next list is not in. Over several
     * sources always 0: there positions are those of the store.
     */
    readonly history: number | undefined;
    /** Follows the history of this source that the store shows now. */
    followHistory(source: string | undefined, onForked: (error: SourceError) => void): FollowedHistory;
    /** Settles a wait when the store includes a version, also before this returns. Returns what ends the wait. */
    waitForStore(version: Version, source: string | undefined, settle: Settle<void>): () => void;
    report(error: SourceError): void;
    attach(feed: Feed<T>): void;
    detach(feed: Feed<T>): void;
    /** Whoever tells of this feed is done. */
    release(feed: Feed<T>): void;
}
export interface FollowedHistory {
    /** Over several sources: whether the store still shows this history; with one source the feed itself compares histories. */
    isShown(): boolean;
    leave(): void;
}
/** Where a feed is when a batch has been handled. */
export interface BatchEnd {
    readonly position: Version | undefined;
    readonly isSynced: boolean;
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
    /** The handler or run of this feed that has run for longest; set by the follower. */
    longest: () => {
        readonly key: string;
        readonly since: number;
    } | undefined;
    /** Called when there is something to take, or no more. */
    wake: () => void;
    constructor(host: FeedHost<T>, call: string, options: FeedOptions<T>, wantsBookmarks?: boolean);
    get isScoped(): boolean;
    get closed(): SourceError | undefined;
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
    isInScope(key: string): boolean;
    /** The store has its first list: what it holds is told first. */
    startReplay(): void;
    /** What has to be told cannot be found out: its follower is told that, instead of a part. */
    fail(thrown: unknown): void;
    /** A change that may concern this feed, out of a commit that `flush` ends. */
    match(change: Change<T>, membership: Membership | undefined, positions: ReadonlyMap<DeclaredIndex<T>, number>): void;
    /** Ends a commit. */
    publish(position: Version | undefined, source?: string): void;
    /** Queues a commit, all of which concerns this feed. */
    enqueue(changes: readonly Change<T>[], position: Version | undefined, source?: string): void;
    /** The next batch, or undefined where nothing waits. Each is ended by `finish`, in the order of taking. */
    dequeue(): ChangeBatch<T> | undefined;
    ack(batch: ChangeBatch<T>): void;
    /** All that has to be kept of a taken batch to finish it later. */
    endOf(batch: ChangeBatch<T>): BatchEnd;
    /** Finishes so many taken batches, the last of which has this end. */
    ackThrough({ position, isSynced }: BatchEnd, batches: number): void;
    synced(call: string, wait?: Wait): Promise<void>;
    waitFor(version: Version, wait?: VersionWait): Promise<void>;
    /**
     * From now on nothing is added to what waits. Before the first list it has no effect. Where `onMissed` is given, it is
     * told instead of what would have been added, and `has` goes on to say what is in the scope.
     */
    stopAccepting(onMissed?: (changes: readonly Change<T>[]) => void): void;
    close(reason: SourceError): void;
}
