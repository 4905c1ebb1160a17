import type { ListerWatcher } from '../../../src/contract/source.js';
import { type RedisClient } from '../connection/client.js';
import type { RedisCodecName, RedisDecode, RedisKeys } from '../connection/codec-types.js';
export interface RedisKeysOptions<T> {
    /** Your own `Redis` of ioredis, or a `Cluster` where the prefix has a whole hash tag. It stays yours. */
    readonly client: RedisClient;
    /** All keys that begin so and hold strings. The client's `keyPrefix` comes before it. */
    readonly prefix: string;
    /** What values are: `json` (default), `string` (UTF-8), `bytes`, or a function that makes an object of one. */
    readonly codec?: RedisCodecName | RedisDecode<T>;
    /** Keys are UTF-8 (`string`, the default), or strings with one character for each byte (`bytes`). */
    readonly keys?: RedisKeys;
    /** Most keys that there may be. Default 100 000. */
    readonly maxKeys?: number;
    /** After so many milliseconds of silence the server is asked whether it is there. Default 2 000. */
    readonly blockMs?: number;
    /** A connection counts as lost if an answer is due and nothing is received for this many milliseconds. Default 5 000. */
    readonly timeoutMs?: number;
}
/**
 * Plain keys, as a source. Redis keeps no history of them: there are no marks to wait for, and after a lost connection all
 * of them are read again.
 */
export interface RedisKeysSource<T> extends ListerWatcher<T> {
    readonly heartbeatMs: number;
}
/** Mirrors plain keys of Redis 6 or later that hold strings. Opens nothing by itself. */
export declare function redisKeys<T = unknown>(options: RedisKeysOptions<T>): RedisKeysSource<T>;
