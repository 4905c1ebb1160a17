import type { Version } from '../contract/version.js';
import type { Wait } from '../util/deadline.js';
import type { Feed } from './feed.js';
import type { ChangeBatch, Subscription } from './subscription-types.js';
import type { VersionWait } from './version-waiters.js';
/**
 * A subscription as an async iterator of batches. A batch counts as handled when the next one is asked for; until then
 * what happens waits in the queue. It ends, without an error, when it is closed, when its signal aborts and when the
 * informer stops; leaving the loop closes it.
 */
export interface ChangeStream<T> extends Subscription, AsyncIterable<ChangeBatch<T>> {
}
type Result<T> = IteratorResult<ChangeBatch<T>, undefined>;
export declare class BatchIterator<T> implements ChangeStream<T>, AsyncIterator<ChangeBatch<T>, undefined> {
    #private;
    constructor(feed: Feed<T>, signal: AbortSignal | undefined);
    get version(): Version | undefined;
    get backlog(): {
        readonly keys: number;
        readonly oldestMs: number;
    };
    [Symbol.asyncIterator](): AsyncIterator<ChangeBatch<T>, undefined>;
    next(): Promise<Result<T>>;
    return(): Promise<Result<T>>;
    synced(wait?: Wait): Promise<void>;
    waitFor(version: Version, wait?: VersionWait): Promise<void>;
    close(options?: {
        readonly drain?: boolean;
    }): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
export {};
