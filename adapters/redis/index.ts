/**
 * Sources over Redis or Valkey, a writer of collections, a database of several ones, leases of replicas, and the store of a relay.
 *
 * @module listwatch/redis
 */

export type { LeaseOptions } from '../common/lease-options.js'
export type { RedisCollectionSource } from './collection/collection-source.js'
export type { ApplyOptions, RedisChange } from './collection/redis-change.js'
export {
  type RedisCollectionSourceOptions,
  redisCollectionSource,
} from './collection/redis-collection-source.js'
export {
  type RedisDatabase,
  type RedisDatabaseCollectionOptions,
  type RedisDatabaseOptions,
  type RedisTransaction,
  redisDatabase,
} from './collection/redis-database.js'
export {
  type RedisShardedWriter,
  type RedisWriter,
  type RedisWriterOptions,
  redisWriter,
} from './collection/redis-writer.js'
export { type RedisRelayStoreOptions, redisRelayStore } from './collection/relay-store.js'
export { type RedisWriteCode, RedisWriteError } from './collection/write-error.js'
export type { RedisClient } from './connection/client.js'
export type { RedisCodecName, RedisDecode, RedisEncode, RedisKeys } from './connection/codec-types.js'
export { type RedisKeysSource, type RedisKeysSourceOptions, redisKeysSource } from './keys/keys-source.js'
export { type RedisLeasesOptions, redisLeases } from './leases/redis-leases.js'
export type { StreamChange, StreamDecode } from './stream/stream-change.js'
export {
  type RedisStreamSource,
  type RedisStreamSourceOptions,
  redisStreamSource,
  type StreamSnapshot,
} from './stream/stream-source.js'
