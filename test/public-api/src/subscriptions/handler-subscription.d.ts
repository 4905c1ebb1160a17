import type { Version } from '../contract/version.js';
import { type Added, type Deleted, type Updated } from '../queue/change.js';
import { type Wait } from '../util/deadline.js';
import type { Feed } from './feed.js';
import { type Subscription } from './subscription-types.js';
import type { VersionWait } from './version-waiters.js';
/**
 * What is called for each change. A promise is awaited before the key's next change. One that throws, rejects or never
 * settles is reported with code `HANDLER`; nothing is lost for anybody else, and the next change is told all the same.
 */
export interface Handlers<T> {
    add?(change: Added<T>, context: HandlerContext): unknown;
    update?(change: Updated<T>, context: HandlerContext): unknown;
    delete?(change: Deleted<T>, context: HandlerContext): unknown;
}
export interface HandlerContext {
    /** Aborts when the subscription or the informer stops, and when the option `timeoutMs` is over. */
    readonly signal: AbortSignal;
}
/** A subscription that calls handlers: the changes of a key one after the other, `concurrency` keys at a time. */
export declare class HandlerSubscription<T> implements Subscription {
    #private;
    constructor(feed: Feed<T>, handlers: Handlers<T>, options: HandlerOptions);
    get version(): Version | undefined;
    get backlog(): {
        readonly keys: number;
        readonly oldestMs: number;
        readonly oldestKey: string | undefined;
    };
    synced(wait?: Wait): Promise<void>;
    waitFor(version: Version, wait?: VersionWait): Promise<void>;
    close(options?: {
        readonly drain?: boolean;
    }): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
/** Refuses what are no handlers, at the call. */
export declare function assertHandlers(handlers: unknown, call: string): void;
export interface HandlerOptions {
    readonly concurrency?: number | undefined;
    readonly timeoutMs?: number | undefined;
    readonly capacity?: number | undefined;
    readonly delivery?: 'every' | 'latest' | undefined;
    readonly signal?: AbortSignal | undefined;
}
