import type { ListerWatcher } from '../../../src/contract/source.js';
import { type RedisClient } from '../connection/client.js';
import type { RedisCodecName, RedisDecode, RedisKeys } from '../connection/codec-types.js';
/**
 * The options of `redisKeys`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisKeys<string>({
 *   client: new Redis(url, { lazyConnect: true }),
 *   prefix: 'feature:', // Only keys with strings are mirrored.
 *   codec: 'string', // Default: `json`.
 *   maxKeys: 1_000, // Default: 100 000.
 * })
 * ```
 */
export interface RedisKeysOptions<T> {
    /** A `Redis` of ioredis, or a `Cluster` if the prefix has a whole hash tag. The source never closes it. */
    readonly client: RedisClient;
    /** The prefix of the keys, after the client's `keyPrefix`. Only keys that hold strings are mirrored. */
    readonly prefix: string;
    /** How a value becomes an object: `json` (default), `string` (UTF-8), `bytes`, or a function. */
    readonly codec?: RedisCodecName | RedisDecode<T>;
    /** `string` (default): keys are UTF-8. `bytes`: a key is a string with one character for each byte. */
    readonly keys?: RedisKeys;
    /** The maximum number of keys. With more keys the source fails with `PROTOCOL`. Default 100 000. */
    readonly maxKeys?: number;
    /**
     * After this many milliseconds, with or without messages, the source checks that the server is a master and that no
     * databases were swapped. Default 2 000.
     */
    readonly blockMs?: number;
    /**
     * A connection counts as lost if a response is pending and nothing arrives for this many milliseconds. Default 5 000.
     */
    readonly timeoutMs?: number;
}
/**
 * Plain keys, as a source. Redis keeps no history of them: there are no marks to wait for, and after a lost connection
 * all keys are read again.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const features = redisKeys<string>({ client: new Redis(url), prefix: 'feature:', codec: 'string' })
 * const informer = createInformer({ source: features })
 * await informer.start().synced()
 * await informer.until('feature:dark-mode', (value) => value === 'on', { signal }) // There are no marks to wait for.
 * ```
 */
export interface RedisKeysSource<T> extends ListerWatcher<T> {
    /** The longest silence of a healthy watch, in milliseconds: `blockMs` and `timeoutMs`. */
    readonly heartbeatMs: number;
}
/**
 * Creates a source for plain keys that hold strings, of Redis 7 or later, or Valkey. It opens no connection before the
 * first list or watch.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisKeys<Limit>({ client: new Redis(url, { lazyConnect: true }), prefix: 'limits:' })
 * const limits = createInformer({ source })
 * ```
 */
export declare function redisKeys<T = unknown>(options: RedisKeysOptions<T>): RedisKeysSource<T>;
