import { type RelayStore } from '../../../src/contract/relay-store.js';
import { type RedisClient } from '../connection/client.js';
/**
 * The options of `redisRelayStore`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisRelayStore } from 'listwatch/redis'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * const store = redisRelayStore({ client, name: 'orders', retention: 100_000 }) // Default: about 10 000 batches.
 * ```
 */
export interface RedisRelayStoreOptions {
    /**
     * A `Redis` or `Cluster` of ioredis. The store opens connections with the same options, and never closes the client.
     */
    readonly client: RedisClient;
    /**
     * The name of the relay. Its keys are `{relay:name}:h`, `{relay:name}:s` and `{relay:name}:m`, after the client's
     * `keyPrefix`.
     */
    readonly name: string;
    /** The approximate number of batches to keep. A follower that is further behind lists again. Default 10 000. */
    readonly retention?: number;
    /** A read that waits for changes ends after this many milliseconds, with a bookmark. Default 2 000. */
    readonly blockMs?: number;
    /**
     * A connection counts as lost if a response is pending and nothing arrives for this many milliseconds. Default 5 000.
     */
    readonly timeoutMs?: number;
}
/**
 * Returns the store of a relay in Redis 7 or later, or Valkey: a collection, as a `redisWriter` writes it. It connects
 * on first use.
 * @returns The store, for `publish`, `relaySource` and `relayCache`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisRelayStore } from 'listwatch/redis'
 * import { publish } from 'listwatch/relay'
 *
 * const store = redisRelayStore({ client: new Redis(url, { lazyConnect: true }), name: 'orders' })
 * publish(orders, store)
 * ```
 */
export declare function redisRelayStore(options: RedisRelayStoreOptions): RelayStore;
