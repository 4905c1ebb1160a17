/**
 * Returns the object for the value that is stored under a key. If it throws, this one object is invalid.
 *
 * @example
 * ```ts
 * import { deserialize } from 'node:v8'
 * import { Redis } from 'ioredis'
 * import type { RedisDecode } from 'listwatch/redis'
 *
 * const codec: RedisDecode<Limit> = (value) => deserialize(value) // The reverse of `serialize`.
 * const source = redisCollectionSource({ client: new Redis(url, { lazyConnect: true }), collection: 'limits', codec })
 * ```
 */
export type RedisDecode<T> = (value: Uint8Array, key: string) => T
/**
 * Returns the value to store for an object. If it throws, `apply` rejects.
 *
 * @example
 * ```ts
 * import { serialize } from 'node:v8'
 * import { Redis } from 'ioredis'
 * import type { RedisEncode } from 'listwatch/redis'
 *
 * const codec: RedisEncode<Limit> = (limit) => serialize(limit)
 * const writer = redisWriter({ client: new Redis(url, { lazyConnect: true }), collection: 'limits', codec })
 * ```
 */
export type RedisEncode<T> = (object: T, key: string) => Uint8Array | string

/**
 * `json`: JSON in UTF-8. `string`: UTF-8. `bytes`: a `Uint8Array`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * const objects = redisKeysSource<Limit>({ client, prefix: 'limits:' }) // Default: `json`.
 * const texts = redisKeysSource<string>({ client, prefix: 'motd:', codec: 'string' })
 * const images = redisKeysSource<Uint8Array>({ client, prefix: 'icon:', codec: 'bytes' })
 * ```
 */
export type RedisCodecName = 'json' | 'string' | 'bytes'
/**
 * `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * const hashes = createInformer({ source: redisKeysSource<Limit>({ client, prefix: 'by-hash:', keys: 'bytes' }) })
 * const limit = hashes.get(`by-hash:${Buffer.from('00ff', 'hex').toString('latin1')}`) // One character for each byte.
 * ```
 */
export type RedisKeys = 'string' | 'bytes'
