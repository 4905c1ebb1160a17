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
/** A collection of Redis, as a source. Marks are the versions that a `redisWriter` gives. */
export interface RedisCollection<T> extends ListerWatcher<T> {
    readonly heartbeatMs: number;
    head(context: SourceContext): Promise<Version>;
    hasReached(at: Version, mark: Version): boolean;
}
export declare class CollectionSource<T> implements RedisCollection<T> {
    #private;
    readonly name: string;
    readonly heartbeatMs: number;
    constructor(settings: CollectionSettings<T>);
    list(context: ListContext): AsyncGenerator<ListPage<T>>;
    watch(context: WatchContext): AsyncGenerator<WatchBatch<T>>;
    head(context: Pick<SourceContext, 'signal' | 'clock' | 'warn'>): Promise<Version>;
    hasReached(at: Version, mark: Version): boolean;
}
