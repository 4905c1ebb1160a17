import type { Clock } from '../../../src/contract/clock.js'
import type { Random } from '../../../src/contract/random.js'
import type { Version } from '../../../src/contract/version.js'
import {
  checkOptions,
  isCount,
  isObject,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../../src/util/validate-options.js'
import { isRecord, propertiesOf } from '../../common/properties.js'
import { isCodec } from '../../common/value-codec.js'
import { assertGiven, clientFlaw, keyPrefixOf, type RedisClient } from '../connection/client.js'
import { encodeKey } from '../connection/codec.js'
import type { RedisCodecName, RedisEncode, RedisKeys } from '../connection/codec-types.js'
import { collectionKeys, nameFlaw, shardName, shardOf, shardsFlaw } from './collection-keys.js'
import { parseVersion } from './collection-version.js'
import { CollectionWriter, encodeChange, keyOf, MAX_CHANGES } from './collection-writer.js'
import type { ApplyOptions, RedisChange } from './redis-change.js'

/**
 * The options of `redisWriter`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const writer = redisWriter<Uint8Array>({
 *   client: new Redis(url, { lazyConnect: true }),
 *   collection: 'thumbnails',
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
  readonly client: RedisClient
  /** The name of the collection, as in the options of the `redisCollectionSource` that reads it. */
  readonly collection: string
  /** How an object becomes a value: `json` (default), `string` (UTF-8), `bytes`, or a function. */
  readonly codec?: RedisCodecName | RedisEncode<T>
  /** How keys are encoded, as in the options of the reader. Default `string`. */
  readonly keys?: RedisKeys
  /** The approximate number of log entries to keep. A mirror that is further behind lists again. Default 10 000. */
  readonly retention?: number
  /** A command without a response counts as lost after this many milliseconds. Default 5 000. */
  readonly timeoutMs?: number
  /** Divides the keys among this number of collections, so that a cluster can spread them. Default: one collection. */
  readonly shardCount?: number
  /** The source of time. Default: the system clock. */
  readonly clock?: Clock
  /** The source of random numbers. Default: `Math.random`. */
  readonly random?: Random
}

/**
 * Writes a collection.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * await using writer = redisWriter<Limit>({ client: new Redis(url, { lazyConnect: true }), collection: 'limits' })
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
  apply(changes: readonly RedisChange<T>[], options?: ApplyOptions): Promise<Version>
  /** Closes the connection. Pending calls reject with `OUTCOME_UNKNOWN`. */
  close(): Promise<void>
}

/**
 * A writer with `shardCount`. All keys of one `apply` must belong to the same shard.
 *
 * @example
 * ```ts
 * import { Cluster } from 'ioredis'
 *
 * const client = new Cluster([{ host: 'redis-0', port: 6379 }], { lazyConnect: true })
 * const shards = redisCollectionSource<Limit>({ client, collection: 'limits', shardCount: 16 })
 * const limits = createInformer({ source: sourceSet(shards) }).start()
 * const writer = redisWriter<Limit>({ client, collection: 'limits', shardCount: 16 })
 * const version = await writer.apply([{ delete: 'acme' }])
 * await limits.waitFor(version, { source: writer.shardOf('acme') })
 * ```
 */
export interface RedisShardedWriter<T> extends RedisWriter<T> {
  /** The name of the shard that has this key: `informer.waitFor(version, { source: writer.shardOf(key) })`. */
  shardOf(key: string): string
  /** The writer of each shard, by its name. */
  readonly shards: ReadonlyMap<string, RedisWriter<T>>
}

const optionChecks: Readonly<Record<keyof RedisWriterOptions<unknown>, OptionCheck>> = {
  client: clientFlaw,
  collection: nameFlaw,
  codec: isCodec,
  keys: isOneOf('string', 'bytes'),
  retention: isCount,
  timeoutMs: isPositive,
  shardCount: shardsFlaw,
  clock: isObject,
  random: isObject,
}

/**
 * Creates a writer that divides the keys among several collections.
 * @returns The writer, with one for each shard.
 * @throws OptionError when an option is missing or not allowed.
 */
export function redisWriter<T = unknown>(
  options: RedisWriterOptions<T> & { readonly shardCount: number },
): RedisShardedWriter<T>
/**
 * Creates a writer for a collection that `redisCollectionSource` mirrors, in Redis 7 or later, or Valkey. It connects on
 * first use.
 * @returns The writer.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 *
 * const writer = redisWriter<Limit>({ client: new Redis(url, { lazyConnect: true }), collection: 'limits' })
 * const mark = await writer.apply([{ put: 'acme', object: { tenant: 'acme', rps: 5, burst: 10 } }])
 * await limits.waitFor(mark)
 * ```
 */
export function redisWriter<T = unknown>(
  options: RedisWriterOptions<T> & { readonly shardCount?: undefined },
): RedisWriter<T>
export function redisWriter<T>(options: RedisWriterOptions<T>): RedisWriter<T> {
  checkOptions('redisWriter', options, optionChecks)
  assertGiven('redisWriter', options, ['client', 'collection'])
  return options.shardCount === undefined
    ? singleWriter<T>(options, options.collection)
    : shardedWriter<T>(options, options.shardCount)
}

/** Writes one collection. `isExact`: a collection that has lost fields counts as deleted. */
export function singleWriter<T>(options: RedisWriterOptions<T>, name: string, isExact = false): RedisWriter<T> {
  const { codec = 'json', keys: keyForm = 'string' } = options
  const keys = collectionKeys(keyPrefixOf(options.client), name)
  const writer = new CollectionWriter({ ...options, name: `redisWriter ${name}`, collections: [keys], isExact }, keys)
  const close = async (): Promise<void> => writer.close()
  return {
    apply: async (changes, given = {}) => {
      checkChanges(changes)
      checkOptions('apply', given, { ifVersion: isVersion })
      return await writer.apply(
        changes.map((change) => encodeChange(change, codec, keyForm)),
        given,
      )
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

function shardedWriter<T>(options: RedisWriterOptions<T>, shardCount: number): RedisShardedWriter<T> {
  const { collection, keys = 'string' } = options
  const numbers = Array.from({ length: shardCount }, (_, shard) => shard)
  const shards = new Map(
    numbers.map((shard) => [String(shard), singleWriter<T>(options, shardName(collection, shard))]),
  )
  const nameOf = (key: string): string => String(shardOf(Buffer.from(encodeKey(key, keys)), shards.size))
  const close = async (): Promise<void> => {
    await Promise.all(Array.from(shards.values(), (shard) => shard.close()))
  }
  return {
    shards,
    shardOf: nameOf,
    apply: async (changes, given = {}) => {
      checkChanges(changes)
      const names = new Set(changes.map((change) => nameOf(keyOf(change))))
      const [name = '', ...others] = names
      const shard = shards.get(name)
      if (shard === undefined)
        throw new TypeError('apply: without changes, call the writer of one shard: writer.shards.get("0")')
      if (others.length > 0)
        throw new TypeError(
          `apply: the keys belong to ${names.size} shards, and a transaction writes to one: group them by writer.shardOf(key)`,
        )
      return await shard.apply(changes, given)
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

const SHOWN_PROPERTIES = 4

export const isVersion: OptionCheck = (value) => {
  try {
    parseVersion(String(value))
    return undefined
  } catch {
    return 'must be a version of apply or of an informer'
  }
}

function checkChanges(changes: unknown): void {
  if (!Array.isArray(changes)) throw new TypeError('apply: the changes must be an array')
  if (changes.length > MAX_CHANGES)
    throw new TypeError(`apply: ${changes.length} changes; one call makes at most ${MAX_CHANGES}`)
  for (const [index, change] of changes.entries()) {
    const { put, delete: deleted } = propertiesOf(change)
    const isPut = typeof put === 'string' && 'object' in change && deleted === undefined
    if (!isPut && !(typeof deleted === 'string' && put === undefined))
      throw new TypeError(
        `apply: changes[${index}] must be { put: key, object } or { delete: key } with a string as its key, got ${shapeOf(change)}`,
      )
  }
}

/** The properties of a wrong change with their types. Their values may be secret. */
function shapeOf(change: unknown): string {
  if (!isRecord(change) || Array.isArray(change)) return typeOf(change)
  const properties = Object.entries(change)
  const shown = properties.slice(0, SHOWN_PROPERTIES).map(([name, value]) => `${name}: ${typeOf(value)}`)
  if (properties.length > SHOWN_PROPERTIES) shown.push('…')
  return shown.length === 0 ? '{}' : `{ ${shown.join(', ')} }`
}

function typeOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value
}
