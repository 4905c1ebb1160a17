import type { ListerWatcher, SourceContext } from '../../../src/contract/source.js';
import type { Version } from '../../../src/contract/version.js';
import { type RedisClient } from '../connection/client.js';
import type { StreamDecode } from './stream-change.js';
/**
 * All objects after one entry of the stream, and before the next one.
 *
 * @example
 * ```ts
 * import type { StreamSnapshot } from 'listwatch/redis'
 *
 * // For the option `snapshot`: a database that stores the id of the last entry it has applied.
 * async function snapshot(): Promise<StreamSnapshot<string>> {
 *   const { rows } = await pool.query('SELECT sku, count, (SELECT id FROM applied) AS id FROM stock')
 *   return { entries: rows.map(({ sku, count }) => [sku, count] as const), after: rows[0]?.id ?? '0-0' }
 * }
 * ```
 */
export interface StreamSnapshot<T> {
    /** Keys and objects. */
    readonly entries: Iterable<readonly [key: string, object: T]>;
    /**
     * The id of the entry; `0-0` for the state before the first entry. It may also be a version of this source, such as
     * an informer's. A version detects a replaced stream even if that one has an entry with the same id.
     */
    readonly after: string;
}
/**
 * The options of `redisStream`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisStream<string>({
 *   client: new Redis(url, { lazyConnect: true }),
 *   stream: 'stock',
 *   decode: (fields) => ({ key: fields.get('sku') ?? '', object: fields.get('count') }),
 *   whenTrimmed: 'fold', // The newest entry of each key remains. Default: `refuse`.
 *   blockMs: 5_000, // Default: 2 000.
 * })
 * ```
 */
export interface RedisStreamOptions<T> {
    /**
     * A `Redis` or `Cluster` of ioredis. The source opens connections with the same options, and never closes the client.
     */
    readonly client: RedisClient;
    /** The key of the stream, after the client's `keyPrefix`. */
    readonly stream: string;
    /** Returns the changes of an entry. */
    readonly decode: StreamDecode<T>;
    /**
     * Returns the state with which a list begins. It must not be older than the oldest entry. Default: a list begins at
     * the oldest entry.
     */
    readonly snapshot?: (context: Pick<SourceContext, 'signal'>) => Promise<StreamSnapshot<T>>;
    /**
     * What a list does if entries that it needs were removed. `refuse` (default): it fails with `PROTOCOL`. `fold`: it
     * reads the remaining entries, for streams in which the newest entry of each key always remains.
     */
    readonly whenTrimmed?: 'refuse' | 'fold';
    /** A read that waits for entries ends after this many milliseconds, with a bookmark. Default 2 000. */
    readonly blockMs?: number;
    /**
     * A connection counts as lost if a response is pending and nothing arrives for this many milliseconds. Default 5 000.
     */
    readonly timeoutMs?: number;
}
/**
 * A stream of Redis, as a source. A mark is an id that XADD returned.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const client = new Redis(url)
 * const decode = (fields: ReadonlyMap<string, string>) => ({ key: fields.get('sku') ?? '', object: fields.get('n') })
 * const stock = createInformer({ source: redisStream<string>({ client, stream: 'stock', decode }) }).start()
 * const id = await client.xadd('stock', '*', 'sku', 'A1', 'n', '7')
 * if (id !== null) await stock.waitFor(id)
 * ```
 */
export interface RedisStream<T> extends ListerWatcher<T> {
    /** The longest silence of a healthy watch, in milliseconds: `blockMs` and `timeoutMs`. */
    readonly heartbeatMs: number;
    /**
     * Reads the id of the newest entry.
     * @throws SourceError UNAVAILABLE when the server does not respond; PROTOCOL when the key does not hold a stream.
     */
    head(context: SourceContext): Promise<Version>;
    /**
     * Whether a mirror at `at` includes `mark`.
     * @throws SourceError EPOCH_CHANGED when they are of different histories; PROTOCOL when one is not a version or an
     * id.
     */
    hasReached(at: Version, mark: Version): boolean;
}
/**
 * Creates a source for the objects that a stream of Redis 7.0 or later describes. It opens no connection before the
 * first list, watch or head.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisStream<{ readonly total: number }>({
 *   client: new Redis(url, { lazyConnect: true }),
 *   stream: 'orders',
 *   decode: (fields) => {
 *     const total = fields.get('total')
 *     return { key: fields.get('id') ?? '', object: total === undefined ? undefined : { total: Number(total) } }
 *   },
 * })
 * ```
 */
export declare function redisStream<T = unknown>(options: RedisStreamOptions<T>): RedisStream<T>;
