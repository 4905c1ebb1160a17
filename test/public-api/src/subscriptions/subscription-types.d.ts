import type { Version } from '../contract/version.js';
import type { Change } from '../queue/change.js';
import type { DeclaredIndex } from '../store/indexes/index-builder.js';
import type { IndexValue } from '../store/indexes/index-types.js';
import type { Wait } from '../util/deadline.js';
import type { VersionWait } from './version-waiters.js';
/** Which objects are wanted. What leaves the scope is told as a delete, what enters it as an add. */
export interface Scope<T, I = {}> {
    /** For errors and logs. Default: none. */
    readonly name?: string;
    /** Closes the subscription when it aborts. */
    readonly signal?: AbortSignal | undefined;
    /**
     * How many keys are handled at a time; each key's changes stay in order. `changes` has no use for it: its reader takes one batch
     * after the other. Default 1.
     */
    readonly concurrency?: number;
    /**
     * How long a handler or a run may take, in milliseconds. Then its `signal` aborts, it counts as failed, and the key goes on without it: the
     * next change is told, or the run is tried again. A function that ignores its signal then still runs beside that. `changes` has no use for it. Default: no limit.
     */
    readonly timeoutMs?: number;
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
    /**
     * What waits, and for how many milliseconds the oldest of it has. A key counts once while it is queued, and once more for each of its
     * changes that has left the queue and waits for its handler: there may be more than there are keys. What was merged has
     * waited as long as the first of it. `oldestKey` is the key whose handler or run has been running for longest; undefined if none runs.
     */
    readonly backlog: {
        readonly keys: number;
        readonly oldestMs: number;
        readonly oldestKey?: string | undefined;
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
/**
 * A subscription as an async iterator of batches. A batch counts as handled when the next one is read. Until then later
 * changes wait in the queue. The iteration ends without an error when the stream is closed, when its signal aborts and
 * when the informer stops. Leaving the loop closes the stream.
 */
export interface ChangeStream<T> extends Subscription, AsyncIterable<ChangeBatch<T>> {
}
/** Refuses what makes no sense, at the call. */
export declare function checkSubscribeOptions(call: string, options: object): void;
/** The declared indexes that `where` asks, with what it asks them for. */
export declare function declaredIn<T>(call: string, where: object, declared: ReadonlyMap<string, DeclaredIndex<T>>): (readonly [DeclaredIndex<T>, unknown])[];
