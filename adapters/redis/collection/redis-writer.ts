import { type Clock, systemClock } from '../../../src/contract/clock.js'
import { type Random, systemRandom } from '../../../src/contract/random.js'
import type { Version } from '../../../src/contract/version.js'
import {
  checkOptions,
  isCount,
  isObject,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../../src/util/validate-options.js'
import { isCodec } from '../../shared/value-codec.js'
import { assertGiven, clientFlaw, keyPrefixOf, type RedisClient } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { encodeKey } from '../connection/codec.js'
import type { RedisCodecName, RedisEncode, RedisKeys } from '../connection/codec-types.js'
import { Warnings } from '../connection/server-checks.js'
import { collectionKeys, nameFlaw, shardName, shardOf, shardsFlaw } from './collection-keys.js'
import { parseVersion } from './collection-version.js'
import { CollectionWriter, keyOf, MOST_CHANGES } from './collection-writer.js'
import type { ApplyOptions, RedisChange } from './redis-change.js'
import { WriterConnection } from './writer-connection.js'

export interface RedisWriterOptions<T> {
  /** Your own `Redis` or `Cluster` of ioredis. It stays yours: the writer has a connection of its own, made as it would make one. */
  readonly client: RedisClient
  /** Of the collection, as the `redisCollection` that reads it has it. */
  readonly name: string
  /** What values are: `json` (default), `string` (UTF-8), `bytes`, or a function that makes one of an object. */
  readonly codec?: RedisCodecName | RedisEncode<T>
  /** As the reader's. */
  readonly keys?: RedisKeys
  /** About how many entries of history to keep: a mirror that is further behind reads all again. Default 10 000. */
  readonly retention?: number
  /** What is not answered for so many milliseconds counts as lost. Default 5 000. */
  readonly timeoutMs?: number
  /** Divides the keys among so many collections, for a cluster: each change then belongs to one of them. */
  readonly shards?: number
  readonly clock?: Clock
  readonly random?: Random
}

export interface RedisWriter<T> extends AsyncDisposable {
  /**
   * Makes all of these changes at one moment, or none of them; mirrors see them as one batch. Gives the version to wait for:
   * `informer.waitFor(version)`. At most 3 500 changes. Without any it gives the version at which the collection is, which it begins where there is none.
   * Rejects with a `RedisWriteError`.
   */
  apply(changes: readonly RedisChange<T>[], options?: ApplyOptions): Promise<Version>
  /** The connection ends; what was not answered is `OUTCOME_UNKNOWN`. */
  close(): Promise<void>
}

/** With `shards`: all keys of one `apply` must be of the same one. */
export interface RedisShardedWriter<T> extends RedisWriter<T> {
  /** The name of the source that has this key: `informer.waitFor(version, { source: writer.shardOf(key) })`. */
  shardOf(key: string): string
  /** A writer of each. */
  readonly shards: ReadonlyMap<string, RedisWriter<T>>
}

const optionChecks: Readonly<Record<keyof RedisWriterOptions<unknown>, OptionCheck>> = {
  client: clientFlaw,
  name: nameFlaw,
  codec: isCodec,
  keys: isOneOf('string', 'bytes'),
  retention: isCount,
  timeoutMs: isPositive,
  shards: shardsFlaw,
  clock: isObject,
  random: isObject,
}

/** With `shards`, one that divides the keys among so many collections. */
export function redisWriter<T = unknown>(
  options: RedisWriterOptions<T> & { readonly shards: number },
): RedisShardedWriter<T>
/** Writes a collection that `redisCollection` mirrors, in Redis 7 or later, or Valkey. Connects when it is first used. */
export function redisWriter<T = unknown>(
  options: RedisWriterOptions<T> & { readonly shards?: undefined },
): RedisWriter<T>
export function redisWriter<T>(options: RedisWriterOptions<T>): RedisWriter<T> {
  checkOptions('redisWriter', options, optionChecks)
  assertGiven('redisWriter', options, ['client', 'name'])
  return options.shards === undefined
    ? new SingleWriter<T>(options, options.name)
    : new ShardedWriter<T>(options, options.shards)
}

class SingleWriter<T> implements RedisWriter<T> {
  readonly #link: WriterConnection
  readonly #writer: CollectionWriter<T>

  constructor(options: RedisWriterOptions<T>, name: string) {
    const { client, codec = 'json', keys: keyForm = 'string', retention = 10_000, timeoutMs = 5_000 } = options
    const { clock = systemClock, random = systemRandom } = options
    const keys = collectionKeys(keyPrefixOf(client), name)
    const warnings = new Warnings(`redisWriter ${name}`)
    this.#link = new WriterConnection({ route: new ClusterRoute(client, keys.meta), clock, timeoutMs, warnings })
    this.#writer = new CollectionWriter<T>({ connection: this.#link, keys, codec, keyForm, retention, random })
  }

  async apply(changes: readonly RedisChange<T>[], options: ApplyOptions = {}): Promise<Version> {
    checkChanges(changes)
    checkOptions('apply', options, { ifVersion: isVersion })
    return await this.#writer.apply(changes, options)
  }

  async close(): Promise<void> {
    this.#link.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

class ShardedWriter<T> implements RedisShardedWriter<T> {
  readonly shards: ReadonlyMap<string, RedisWriter<T>>
  readonly #keyForm: RedisKeys

  constructor(options: RedisWriterOptions<T>, shards: number) {
    this.#keyForm = options.keys ?? 'string'
    const numbers = Array.from({ length: shards }, (_, shard) => shard)
    this.shards = new Map(
      numbers.map((shard) => [String(shard), new SingleWriter<T>(options, shardName(options.name, shard))]),
    )
  }

  shardOf(key: string): string {
    return String(shardOf(Buffer.from(encodeKey(key, this.#keyForm)), this.shards.size))
  }

  async apply(changes: readonly RedisChange<T>[], options: ApplyOptions = {}): Promise<Version> {
    checkChanges(changes)
    const names = new Set(changes.map((change) => this.shardOf(keyOf(change))))
    const [name = '', ...others] = names
    const shard = this.shards.get(name)
    if (shard === undefined) throw new TypeError('apply: without changes, say of which shard: writer.shards.get("0")')
    if (others.length > 0)
      throw new TypeError(
        `apply: the keys belong to ${names.size} shards, which no transaction has together: group them by writer.shardOf(key)`,
      )
    return await shard.apply(changes, options)
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.shards.values(), (shard) => shard.close()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

const isVersion: OptionCheck = (value) => {
  try {
    parseVersion(String(value))
    return undefined
  } catch {
    return 'must be a version that apply gave, or that an informer has'
  }
}

function checkChanges(changes: unknown): void {
  if (!Array.isArray(changes)) throw new TypeError('apply: the changes must be an array')
  if (changes.length > MOST_CHANGES)
    throw new TypeError(`apply: ${changes.length} changes; one call makes at most ${MOST_CHANGES}`)
  for (const change of changes) {
    const { put, delete: deleted } = Object(change) as { readonly put?: unknown; readonly delete?: unknown }
    const isPut = typeof put === 'string' && 'object' in change && deleted === undefined
    if (!isPut && !(typeof deleted === 'string' && put === undefined))
      throw new TypeError('apply: a change must be { put: key, object } or { delete: key }, with a string as its key')
  }
}
