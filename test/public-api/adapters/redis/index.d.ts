export type { RedisClient } from './client.js';
export type { RedisCodecName, RedisDecode, RedisEncode, RedisKeys } from './codec.js';
export { type RedisKeysOptions, type RedisKeysSource, redisKeys } from './keys-source.js';
export type { ApplyOptions, RedisChange } from './redis-change.js';
export { type RedisCollection, type RedisCollectionOptions, redisCollection } from './redis-collection.js';
export { type RedisShardedWriter, type RedisWriter, type RedisWriterOptions, redisWriter } from './redis-writer.js';
export type { StreamChange, StreamDecode } from './stream-decode.js';
export { type RedisStream, type RedisStreamOptions, redisStream, type StreamSnapshot } from './stream-source.js';
export { type RedisWriteCode, RedisWriteError } from './write-error.js';
