import { type Clock } from '../../../src/contract/clock.js';
import { type Random } from '../../../src/contract/random.js';
import type { Version } from '../../../src/contract/version.js';
import { type RedisClient } from '../connection/client.js';
import type { RedisCodecName, RedisEncode, RedisKeys } from '../connection/codec-types.js';
import type { ApplyOptions, RedisChange } from './redis-change.js';
/**
 * The options of `redisWriter`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const writer = redisWriter<Uint8Array>({
 *   client: new Redis(url, { lazyConnect: true }),
 *   name: 'thumbnails',
 *   codec: 'bytes', // Default: `json`. Readers need the same.
 *   retention: 50_000, // Default: about 10 000 log entries.
 * })
 * ```
 */
export interface RedisWriterOptions<T> {
    /**
     * A `Redis` or `Cluster` of ioredis. The writer opens its own connection with the same options, and never closes the
     * client.
     */
    readonly client: RedisClient;
    /** The name of the collection, as in the options of the `redisCollection` that reads it. */
    readonly name: string;
    /** How an object becomes a value: `json` (default), `string` (UTF-8), `bytes`, or a function. */
    readonly codec?: RedisCodecName | RedisEncode<T>;
    /** How keys are encoded, as in the options of the reader. Default `string`. */
    readonly keys?: RedisKeys;
    /** The approximate number of log entries to keep. A mirror that is further behind lists again. Default 10 000. */
    readonly retention?: number;
    /** A command without a response counts as lost after this many milliseconds. Default 5 000. */
    readonly timeoutMs?: number;
    /** Divides the keys among this number of collections, so that a cluster can spread them. Default: one collection. */
    readonly shards?: number;
    /** The source of time. Default: the system clock. */
    readonly clock?: Clock;
    /** The source of random numbers. Default: `Math.random`. */
    readonly random?: Random;
}
/**
 * Writes a collection.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * await using writer = redisWriter<Limit>({ client: new Redis(url, { lazyConnect: true }), name: 'limits' })
 * await writer.apply([]) // Creates the collection, so that mirrors can list it.
 * const version = await writer.apply([
 *   { put: 'acme', object: { tenant: 'acme', rps: 5, burst: 10 } },
 *   { delete: 'former' },
 * ])
 * ```
 */
export interface RedisWriter<T> extends AsyncDisposable {
    /**
     * Applies all changes atomically; mirrors receive them as one batch. Resolves with the version to wait for:
     * `informer.waitFor(version)`. The maximum is 3 500 changes. Without changes it resolves with the current version,
     * and creates the collection if it does not exist.
     * @throws RedisWriteError CONFLICT, NOT_WRITTEN or OUTCOME_UNKNOWN.
     * @throws TypeError when the changes are not valid.
     */
    apply(changes: readonly RedisChange<T>[], options?: ApplyOptions): Promise<Version>;
    /** Closes the connection. Pending calls reject with `OUTCOME_UNKNOWN`. */
    close(): Promise<void>;
}
/**
 * A writer with `shards`. All keys of one `apply` must belong to the same shard.
 *
 * @example
 * ```ts
 * import { Cluster } from 'ioredis'
 *
 * const client = new Cluster([{ host: 'redis-0', port: 6379 }], { lazyConnect: true })
 * const shards = redisCollection<Limit>({ client, name: 'limits', shards: 16 })
 * const limits = createInformer({ source: sourceSet(shards) }).start()
 * const writer = redisWriter<Limit>({ client, name: 'limits', shards: 16 })
 * const version = await writer.apply([{ delete: 'acme' }])
 * await limits.waitFor(version, { source: writer.shardOf('acme') })
 * ```
 */
export interface RedisShardedWriter<T> extends RedisWriter<T> {
    /** The name of the shard that has this key: `informer.waitFor(version, { source: writer.shardOf(key) })`. */
    shardOf(key: string): string;
    /** The writer of each shard, by its name. */
    readonly shards: ReadonlyMap<string, RedisWriter<T>>;
}
/**
 * Creates a writer that divides the keys among several collections.
 * @returns The writer, with one for each shard.
 * @throws OptionError when an option is missing or not allowed.
 */
export declare function redisWriter<T = unknown>(options: RedisWriterOptions<T> & {
    readonly shards: number;
}): RedisShardedWriter<T>;
/**
 * Creates a writer for a collection that `redisCollection` mirrors, in Redis 7 or later, or Valkey. It connects on
 * first use.
 * @returns The writer.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const writer = redisWriter<Limit>({ client: new Redis(url, { lazyConnect: true }), name: 'limits' })
 * const mark = await writer.apply([{ put: 'acme', object: { tenant: 'acme', rps: 5, burst: 10 } }])
 * await limits.waitFor(mark)
 * ```
 */
export declare function redisWriter<T = unknown>(options: RedisWriterOptions<T> & {
    readonly shards?: undefined;
}): RedisWriter<T>;
/** Writes one collection. `isExact`: a collection that has lost fields counts as deleted. */
export declare class SingleWriter<T> implements RedisWriter<T> {
    #private;
    constructor(options: RedisWriterOptions<T>, name: string, isExact?: boolean);
    apply(changes: readonly RedisChange<T>[], options?: ApplyOptions): Promise<Version>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}
