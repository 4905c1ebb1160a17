import { checkOptions, isCount, isOneOf, isPositive, type OptionCheck } from '../../../src/util/validate-options.js'
import { isCodec } from '../../shared/value-codec.js'
import { assertGiven, clientFlaw, type RedisClient } from '../connection/client.js'
import type { RedisCodecName, RedisDecode, RedisKeys } from '../connection/codec-types.js'
import { nameFlaw, shardName, shardsFlaw } from './collection-keys.js'
import { CollectionSource, type RedisCollection } from './collection-source.js'

export interface RedisCollectionOptions<T> {
  /** Your own `Redis` or `Cluster` of ioredis. It stays yours: connections are made as it would make them. */
  readonly client: RedisClient
  /** Of the collection: the keys `{name}:h`, `{name}:s` and `{name}:m`, with the client's `keyPrefix` before. */
  readonly name: string
  /** What values are: `json` (default), `string` (UTF-8), `bytes`, or a function that makes an object of one. */
  readonly codec?: RedisCodecName | RedisDecode<T>
  /** Keys are UTF-8 (`string`, the default), or strings with one character for each byte (`bytes`). */
  readonly keys?: RedisKeys
  /** How long a read waits for news, in milliseconds, before it says that there are none. Default 2 000. */
  readonly blockMs?: number
  /** A connection counts as lost if an answer is due and nothing is received for this many milliseconds. Default 5 000. */
  readonly timeoutMs?: number
  /** The writer's `shards`: then there is a source for each of them. */
  readonly shards?: number
}

const optionChecks: Readonly<Record<keyof RedisCollectionOptions<unknown>, OptionCheck>> = {
  client: clientFlaw,
  name: nameFlaw,
  codec: isCodec,
  keys: isOneOf('string', 'bytes'),
  blockMs: isCount,
  timeoutMs: isPositive,
  shards: shardsFlaw,
}

/** With `shards`, a source for each of them: one informer has all by `sourceSet(redisCollection({ shards: 4, … }))`. */
export function redisCollection<T = unknown>(
  options: RedisCollectionOptions<T> & { readonly shards: number },
): Readonly<Record<string, RedisCollection<T>>>
/** Mirrors a collection that a `redisWriter` writes, of Redis 7 or later, or Valkey. Opens nothing by itself. */
export function redisCollection<T = unknown>(
  options: RedisCollectionOptions<T> & { readonly shards?: undefined },
): RedisCollection<T>
export function redisCollection<T>(
  options: RedisCollectionOptions<T>,
): RedisCollection<T> | Readonly<Record<string, RedisCollection<T>>> {
  checkOptions('redisCollection', options, optionChecks)
  assertGiven('redisCollection', options, ['client', 'name'])
  const { client, codec = 'json', keys = 'string', blockMs = 2_000, timeoutMs = 5_000, shards } = options
  const source = (name: string): RedisCollection<T> =>
    new CollectionSource<T>({ client, name, codec, keys, blockMs, timeoutMs })
  if (shards === undefined) return source(options.name)
  const numbers = Array.from({ length: shards }, (_, shard) => shard)
  return Object.fromEntries(numbers.map((shard) => [String(shard), source(shardName(options.name, shard))]))
}
