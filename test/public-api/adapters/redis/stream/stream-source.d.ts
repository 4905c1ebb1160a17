import type { ListerWatcher, SourceContext } from '../../../src/contract/source.js';
import type { Version } from '../../../src/contract/version.js';
import { type RedisClient } from '../connection/client.js';
import type { StreamDecode } from './stream-change.js';
/** Everything as it was when the entry `after` had been written, and no later one. */
export interface StreamSnapshot<T> {
    readonly entries: Iterable<readonly [key: string, object: T]>;
    /**
     * Id of an entry that the stream has or had; `0-0` for before all. Or a version of this source, such as an informer's, which says more: by it
     * another stream under the same name is known also where it has an entry of that id.
     */
    readonly after: string;
}
export interface RedisStreamOptions<T> {
    /** Your own `Redis` or `Cluster` of ioredis. It stays yours: nothing is sent over it, and it is never closed. */
    readonly client: RedisClient;
    /** The stream's key. The client's `keyPrefix` comes before it. */
    readonly stream: string;
    /** What an entry says. */
    readonly decode: StreamDecode<T>;
    /** Where a list begins, instead of at the oldest entry. Must be newer than the oldest entry that is there. */
    readonly snapshot?: (context: Pick<SourceContext, 'signal'>) => Promise<StreamSnapshot<T>>;
    /**
     * What to do where entries are gone that a list would need: `refuse` (default), or `fold` what is left, for streams in
     * which the newest entry of each key always stays.
     */
    readonly whenTrimmed?: 'refuse' | 'fold';
    /** How long a read waits for news, in milliseconds, before it says that there are none. Default 2 000. */
    readonly blockMs?: number;
    /** A connection counts as lost if an answer is due and nothing is received for this many milliseconds. Default 5 000. */
    readonly timeoutMs?: number;
}
/** A stream of Redis that others write, as a source. Marks are the ids that XADD gives. */
export interface RedisStream<T> extends ListerWatcher<T> {
    readonly heartbeatMs: number;
    head(context: SourceContext): Promise<Version>;
    hasReached(at: Version, mark: Version): boolean;
}
/** Mirrors what a stream of Redis 7.0 or later says of its keys. Opens nothing by itself. */
export declare function redisStream<T = unknown>(options: RedisStreamOptions<T>): RedisStream<T>;
