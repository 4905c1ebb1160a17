import type { ListContext, ListerWatcher, ListPage, SourceContext, WatchBatch, WatchContext } from '../../../src/contract/source.js';
import type { Version } from '../../../src/contract/version.js';
import { type RedisClient } from '../connection/client.js';
import type { RedisCodecName, RedisDecode, RedisKeys } from '../connection/codec-types.js';
export interface CollectionSettings<T> {
    readonly client: RedisClient;
    readonly name: string;
    readonly codec: RedisCodecName | RedisDecode<T>;
    readonly keys: RedisKeys;
    readonly blockMs: number;
    readonly timeoutMs: number;
}
/**
 * A collection of Redis, as a source. A mark is a version that `apply` of a `redisWriter` returned.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * const limits = createInformer({ source: redisCollection<Limit>({ client, name: 'limits' }) })
 * await limits.start().synced()
 * const version = await redisWriter<Limit>({ client, name: 'limits' }).apply([{ delete: 'acme' }])
 * await limits.waitFor(version)
 * ```
 */
export interface RedisCollection<T> extends ListerWatcher<T> {
    /** The longest silence of a healthy watch, in milliseconds: `blockMs` and `timeoutMs`. */
    readonly heartbeatMs: number;
    /**
     * Reads the current version.
     * @throws SourceError UNAVAILABLE when the server does not respond; PROTOCOL when the keys do not hold a collection.
     */
    head(context: SourceContext): Promise<Version>;
    /**
     * Whether a mirror at `at` includes `mark`.
     * @throws SourceError EPOCH_CHANGED when they are of different histories; PROTOCOL when one is not a version of a
     * collection.
     */
    hasReached(at: Version, mark: Version): boolean;
}
export declare class CollectionSource<T> implements RedisCollection<T> {
    #private;
    readonly name: string;
    readonly selection: string;
    readonly heartbeatMs: number;
    constructor(settings: CollectionSettings<T>);
    list(context: ListContext): AsyncGenerator<ListPage<T>>;
    watch(context: WatchContext): AsyncGenerator<WatchBatch<T>>;
    head(context: Pick<SourceContext, 'signal' | 'clock' | 'warn'>): Promise<Version>;
    /**
     * The value of a key, and the version at that moment. A collection that has lost fields counts as deleted, with a
     * warning.
     */
    field(key: string, context: Pick<SourceContext, 'signal' | 'clock' | 'warn'>): Promise<{
        readonly value: string | undefined;
        readonly version: Version;
    }>;
    hasReached(at: Version, mark: Version): boolean;
}
