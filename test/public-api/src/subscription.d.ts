import { type Added, type Deleted, type Updated } from './delta.js';
import type { Feed } from './feed.js';
import { type Subscription } from './scope.js';
import type { Version } from './version.js';
import { type VersionWait, type Wait } from './waits.js';
/**
 * What is called for each change. A promise is awaited before the key's next change. One that throws, rejects or never
 * settles is reported with code `HANDLER`; nothing is lost for anybody else, and the next change is told all the same.
 */
export interface Handlers<T> {
    add?(change: Added<T>): unknown;
    update?(change: Updated<T>): unknown;
    delete?(change: Deleted<T>): unknown;
}
/** A subscription that calls handlers: the changes of a key one after the other, `concurrency` keys at a time. */
export declare class HandlerSubscription<T> implements Subscription {
    #private;
    constructor(feed: Feed<T>, handlers: Handlers<T>, options: HandlerOptions);
    get version(): Version | undefined;
    get backlog(): {
        readonly keys: number;
        readonly oldestMs: number;
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
    readonly capacity?: number | undefined;
    readonly delivery?: 'every' | 'latest' | undefined;
    readonly signal?: AbortSignal | undefined;
}
