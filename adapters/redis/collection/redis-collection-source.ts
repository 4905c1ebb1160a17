import { checkOptions, isCount, isOneOf, isPositive, type OptionCheck } from '../../../src/util/validate-options.js'
import { isCodec } from '../../common/value-codec.js'
import { assertGiven, clientFlaw, type RedisClient } from '../connection/client.js'
import type { RedisCodecName, RedisDecode, RedisKeys } from '../connection/codec-types.js'
import { nameFlaw, shardName, shardsFlaw } from './collection-keys.js'
import { collectionSource, type RedisCollectionSource } from './collection-source.js'

/**
 * The options of `redisCollectionSource`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisCollectionSource<string>({
 *   client: new Redis(url, { lazyConnect: true }),
 *   collection: 'greetings', // The keys are `{greetings}:h`, `{greetings}:s` and `{greetings}:m`.
 *   codec: 'string', // Default: `json`.
 *   heartbeatMs: 5_000, // Default: 2 000.
 *   timeoutMs: 10_000, // Default: 5 000.
 * })
 * ```
 */
export interface RedisCollectionSourceOptions<T> {
  /**
   * A `Redis` or `Cluster` of ioredis. The source opens connections with the same options, and never closes the client.
   */
  readonly client: RedisClient
  /** The name of the collection. Its keys are `{name}:h`, `{name}:s` and `{name}:m`, after the client's `keyPrefix`. */
  readonly collection: string
  /** How a value becomes an object: `json` (default), `string` (UTF-8), `bytes`, or a function. */
  readonly codec?: RedisCodecName | RedisDecode<T>
  /** `string` (default): keys are UTF-8. `bytes`: a key is a string with one character for each byte. */
  readonly keys?: RedisKeys
  /** The time between two bookmarks of a silent watch, in milliseconds. Default 2 000. */
  readonly heartbeatMs?: number
  /**
   * A connection counts as lost if a response is pending and nothing arrives for this many milliseconds. Default 5 000.
   */
  readonly timeoutMs?: number
  /**
   * The number of shards, as in the writer's options. The result then has one source for each shard. Default: no
   * shards.
   */
  readonly shardCount?: number
}

const optionChecks: Readonly<Record<keyof RedisCollectionSourceOptions<unknown>, OptionCheck>> = {
  client: clientFlaw,
  collection: nameFlaw,
  codec: isCodec,
  keys: isOneOf('string', 'bytes'),
  heartbeatMs: isCount,
  timeoutMs: isPositive,
  shardCount: shardsFlaw,
}

/**
 * Creates one source for each shard, by the name of the shard. One informer mirrors all of them with
 * `sourceSet(redisCollectionSource({ shardCount: 4, … }))`.
 * @returns The sources, for `sourceSet`.
 * @throws OptionError when an option is missing or not allowed.
 */
export function redisCollectionSource<T = unknown>(
  options: RedisCollectionSourceOptions<T> & { readonly shardCount: number },
): Readonly<Record<string, RedisCollectionSource<T>>>
/**
 * Creates a source for a collection that a `redisWriter` writes, of Redis 7 or later, or Valkey. It opens no connection
 * before the first list, watch or head.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const source = redisCollectionSource<Limit>({ client: new Redis(url, { lazyConnect: true }), collection: 'limits' })
 * const limits = createInformer({ source })
 * ```
 */
export function redisCollectionSource<T = unknown>(
  options: RedisCollectionSourceOptions<T> & { readonly shardCount?: undefined },
): RedisCollectionSource<T>
export function redisCollectionSource<T>(
  options: RedisCollectionSourceOptions<T>,
): RedisCollectionSource<T> | Readonly<Record<string, RedisCollectionSource<T>>> {
  checkOptions('redisCollectionSource', options, optionChecks)
  assertGiven('redisCollectionSource', options, ['client', 'collection'])
  const {
    client,
    codec = 'json',
    keys = 'string',
    heartbeatMs: blockMs = 2_000,
    timeoutMs = 5_000,
    shardCount,
  } = options
  const source = (name: string): RedisCollectionSource<T> =>
    collectionSource<T>({ client, name, codec, keys, blockMs, timeoutMs, warnsOfAbsence: shardCount === undefined })
  if (shardCount === undefined) return source(options.collection)
  const numbers = Array.from({ length: shardCount }, (_, shard) => shard)
  return Object.fromEntries(numbers.map((shard) => [String(shard), source(shardName(options.collection, shard))]))
}
