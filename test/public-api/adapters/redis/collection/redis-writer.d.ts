import { type Clock } from '../../../src/contract/clock.js';
import { type Random } from '../../../src/contract/random.js';
import type { Version } from '../../../src/contract/version.js';
import { type RedisClient } from '../connection/client.js';
import type { RedisCodecName, RedisEncode, RedisKeys } from '../connection/codec-types.js';
import type { ApplyOptions, RedisChange } from './redis-change.js';
export interface RedisWriterOptions<T> {
    /** Your own `Redis` or `Cluster` of ioredis. It stays yours: the writer has a connection of its own, made as it would make one. */
    readonly client: RedisClient;
    /** Of the collection, as the `redisCollection` that reads it has it. */
    readonly name: string;
    /** What values are: `json` (default), `string` (UTF-8), `bytes`, or a function that makes one of an object. */
    readonly codec?: RedisCodecName | RedisEncode<T>;
    /** As the reader's. */
    readonly keys?: RedisKeys;
    /** About how many entries of history to keep: a mirror that is further behind reads all again. Default 10 000. */
    readonly retention?: number;
    /** What is not answered for so many milliseconds counts as lost. Default 5 000. */
    readonly timeoutMs?: number;
    /** Divides the keys among so many collections, for a cluster: each change then belongs to one of them. */
    readonly shards?: number;
    readonly clock?: Clock;
    readonly random?: Random;
}
export interface RedisWriter<T> extends AsyncDisposable {
    /**
     * Makes all of these changes at one moment, or none of them; mirrors see them as one batch. Gives the version to wait for:
     * `informer.waitFor(version)`. At most 3 500 changes. Without any it gives the version at which the collection is, which it begins where there is none.
     * Rejects with a `RedisWriteError`.
     */
    apply(changes: readonly RedisChange<T>[], options?: ApplyOptions): Promise<Version>;
    /** The connection ends; what was not answered is `OUTCOME_UNKNOWN`. */
    close(): Promise<void>;
}
/** With `shards`: all keys of one `apply` must be of the same one. */
export interface RedisShardedWriter<T> extends RedisWriter<T> {
    /** The name of the source that has this key: `informer.waitFor(version, { source: writer.shardOf(key) })`. */
    shardOf(key: string): string;
    /** A writer of each. */
    readonly shards: ReadonlyMap<string, RedisWriter<T>>;
}
/** With `shards`, one that divides the keys among so many collections. */
export declare function redisWriter<T = unknown>(options: RedisWriterOptions<T> & {
    readonly shards: number;
}): RedisShardedWriter<T>;
/** Writes a collection that `redisCollection` mirrors, in Redis 7 or later, or Valkey. Connects when it is first used. */
export declare function redisWriter<T = unknown>(options: RedisWriterOptions<T> & {
    readonly shards?: undefined;
}): RedisWriter<T>;
