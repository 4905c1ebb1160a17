import type { Random } from '../contract/random.js';
import type { Version } from '../contract/version.js';
import { type Wait } from '../util/deadline.js';
import type { Feed } from './feed.js';
import { type Subscription } from './subscription-types.js';
import type { VersionWait } from './version-waiters.js';
export interface ReconcileContext<T> {
    /** The object as the store has it now; undefined where it is gone, or out of the scope. */
    readonly object: T | undefined;
    /** Its last state, where it is gone, until a run for that has succeeded. */
    readonly deleted: T | undefined;
    /** 1 for the first run, one more after each failure, 1 again after a success. */
    readonly attempt: number;
    /** Aborts when the controller or the informer stops, and when the option `timeoutMs` is over. */
    readonly signal: AbortSignal;
    /**
     * Runs the key again after so many milliseconds, if this run succeeds and nothing happens to it before: no change, no
     * resync, no `enqueue` whose time has come.
     */
    requeueAfter(delayMs: number): void;
}
/**
 * Level-triggered: `fn` is run for each key that is not yet as it should be, with the state of now. Its `version` is
 * how far everything has been reconciled with success.
 */
export interface Controller extends Subscription {
    /**
     * Runs a key for a reason that comes from elsewhere: as soon as may be, or with `delayMs` after that many milliseconds.
     * What runs the key before leaves a delay as it is; of several delays of a key the one that ends first counts. Does
     * nothing once the controller is closed, or is being drained.
     */
    enqueue(key: string, options?: {
        readonly delayMs?: number;
    }): void;
}
/** The first delay after a failure, in milliseconds; it doubles up to the second number. Half of it is chance. */
export declare const RETRY_MS: readonly [number, number];
export declare class FeedController<T> implements Controller {
    #private;
    constructor(feed: Feed<T>, fn: (key: string, context: ReconcileContext<T>) => Promise<void>, options: {
        readonly concurrency?: number | undefined;
        readonly timeoutMs?: number | undefined;
        readonly signal?: AbortSignal | undefined;
        readonly random: Random;
    });
    get version(): Version | undefined;
    get backlog(): {
        readonly keys: number;
        readonly oldestMs: number;
        readonly oldestKey: string | undefined;
    };
    enqueue(key: string, options?: {
        readonly delayMs?: number;
    }): void;
    synced(wait?: Wait): Promise<void>;
    waitFor(version: Version, wait?: VersionWait): Promise<void>;
    close(options?: {
        readonly drain?: boolean;
    }): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
