import type { Clock } from '../contract/clock.js';
import type { SourceError } from '../contract/errors.js';
import type { Random } from '../contract/random.js';
import type { ListerWatcher } from '../contract/source.js';
import type { Logger, Status } from '../contract/status.js';
import type { Version } from '../contract/version.js';
import type { IndexBuilder } from '../store/indexes/index-types.js';
import type { StoreView } from '../store/store-view.js';
import type { Controller, ReconcileContext } from '../subscriptions/controller-types.js';
import type { Handlers } from '../subscriptions/handlers.js';
import type { ChangeStream, Scope, SubscribeOptions, Subscription } from '../subscriptions/subscription-types.js';
import type { VersionWait } from '../subscriptions/version-waiters.js';
import type { Wait } from '../util/deadline.js';
import type { SourceSet } from './source-set.js';
import type { StandardSchema } from './standard-schema.js';
/** The thresholds of `health`. */
export interface HealthOptions {
    /** Not ready if the source has sent nothing for longer than this, in milliseconds. Default: no limit. */
    readonly staleAfterMs?: number | undefined;
    /** Not ready if a handler or a run has been running for longer than this, in milliseconds. Default: no limit. */
    readonly stuckAfterMs?: number | undefined;
}
/** The result of `health`, for liveness and readiness probes. */
export interface Health {
    /** Whether the informer was started and not stopped. */
    readonly isLive: boolean;
    /** Whether the store has the first list of every source, and no threshold is exceeded. */
    readonly isReady: boolean;
    /** The state and its cause, in words. */
    readonly reason: string;
}
/** What can be started and stopped. */
export interface Lifecycle extends AsyncDisposable {
    /** Begins to mirror; a second call does nothing. With `signal`, stops when it aborts. Throws `STOPPED` after `stop`. */
    start(options?: {
        readonly signal?: AbortSignal | undefined;
    }): this;
    /**
     * Resolves when the first list is in the store, also where the collection is empty. Rejects when the state becomes
     * `failed` before that (`NOT_FOUND`, `UNAUTHORIZED`, `PROTOCOL`), while the informer goes on trying.
     */
    synced(wait?: Wait): Promise<void>;
    /**
     * Ends it for good: no callback begins any more, running ones get up to 1 s. The store stays readable; every call that would wait,
     * follow, or add to it fails with `STOPPED`. With `drainMs` only the
     * source ends at once, and subscriptions and controllers have so many milliseconds to handle what waits.
     */
    stop(options?: {
        readonly drainMs?: number | undefined;
    }): Promise<void>;
    /**
     * For probes. `isLive`: started and not stopped. `isReady`: the first list is in, and, with `staleAfterMs`, the source
     * was heard within that time. Not ready while a source is cleared by `onAccessLost`, and, with `stuckAfterMs`, while a handler or a run
     * has been running for longer than that.
     */
    health(options?: HealthOptions): Health;
}
/**
 * A source mirrored into an indexed store.
 *
 * Promised: the states that the store shows of a key are a subsequence of the states that the source had of it, in
 * order; once faults are over and writes stop, store and subscriptions equal the source. No read sees part of a list
 * or of a batch.
 */
export interface Informer<T, I = {}> extends StoreView<T, I>, Lifecycle {
    /** The version of each source of a set; of a single source under its name. */
    readonly versions: ReadonlyMap<string, Version>;
    readonly status: Status;
    /** Objects that could not be decoded, with the reason. A later good event clears it. */
    readonly invalid: ReadonlyMap<string, SourceError>;
    /** Every failure, with what happens next. An error that nobody listens to is a process warning. */
    on(event: 'error', listener: (error: SourceError) => void): this;
    on(event: 'status', listener: (status: Status, previous: Status) => void): this;
    off(event: 'error' | 'status', listener: (...args: never[]) => void): this;
    /** Tells handlers first what the store holds, then every change exactly once. */
    subscribe(handlers: Handlers<T>, options?: SubscribeOptions<T, I>): Subscription;
    /** The same as an async iterator of batches, with backpressure. */
    changes(options?: SubscribeOptions<T, I>): ChangeStream<T>;
    /** Runs `fn` for each key that is not yet as it should be: coalesced, retried, never twice at once for a key. */
    reconcile(fn: (key: string, context: ReconcileContext<T>) => Promise<void>, options?: Scope<T, I>): Controller;
    /**
     * Resolves when the store includes `version`: a mark from a writer, or any version of the source. Rejects with
     * `EPOCH_CHANGED` for another incarnation of the source, once the source says in which it is; while the store is known to show
     * an incarnation that is over, waits for the next list. A TypeError where the source cannot compare versions, and over
     * several sources without `source`.
     */
    waitFor(version: Version, wait?: VersionWait): Promise<void>;
    /** Reads the whole source again, and resolves when that is in the store. */
    relist(wait?: Wait): Promise<void>;
    /**
     * Waits until the store includes where the source is now. Transient errors of the source are retried until the wait ends; other errors
     * reject it. A TypeError if the source has no `head`.
     */
    fresh(wait?: Wait): Promise<void>;
    /** Resolves with the object once `condition` holds for it, after the first list; `undefined` where the key is absent. */
    until(key: string, condition: (object: T | undefined) => boolean, wait?: Wait): Promise<T | undefined>;
    /** The store as it is now, readable while it changes; dispose of it when done. */
    snapshot(): StoreView<T, I> & Disposable;
    /** Adds an index to a store that may be full. */
    addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): X;
}
export interface InformerOptions<S, I extends object, P = S, T = P> {
    /** A source, or several at once: `sourceSet`. */
    readonly source: ListerWatcher<S> | SourceSet<S>;
    /**
     * A Standard Schema (zod, valibot, arktype and others), synchronous; what it gives is what goes on, and what it refuses is
     * invalid. Runs once for each object that arrives.
     */
    readonly schema?: StandardSchema<P>;
    /**
     * Makes the stored object of the source's; `undefined` leaves it out, a throw makes it invalid. Runs once for each
     * object that arrives, and must not call the informer.
     */
    readonly transform?: (object: P, key: string) => T | undefined;
    /** Whether two objects are the same, so that nobody has to be told. Default: by content. */
    readonly equals?: (a: T, b: T) => boolean;
    readonly indexes?: (ix: IndexBuilder<T>) => I;
    /** What becomes of the last good object when its successor cannot be decoded. Default `keep-previous`. */
    readonly onInvalid?: 'omit' | 'keep-previous';
    /**
     * What happens to the objects of a source if a list or a watch fails with `UNAUTHORIZED` after the first list. `keep`
     * (default): they stay readable. `clear`: they are deleted from the store, and handlers receive deletes with the origin
     * `access-lost`, which say nothing about the object at the source. The next list that succeeds adds the objects again;
     * until then `waitFor` and `fresh` wait, and `health()` is not ready. An expired credential counts as lost access too.
     */
    readonly onAccessLost?: 'keep' | 'clear';
    /** Deep-freezes plain objects and arrays. Default: unless NODE_ENV is `production`. */
    readonly freeze?: boolean;
    /**
     * Compares the store with the source every `periodMs` (default 5 minutes), reports what differs and reads the source again. On
     * by default where the source can list keys and versions (`versions`); elsewhere it costs a list each time.
     */
    readonly audit?: false | {
        readonly periodMs?: number;
    };
    readonly clock?: Clock;
    readonly random?: Random;
    readonly logger?: Logger;
}
