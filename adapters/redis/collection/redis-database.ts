import {
  type CollectionBatch,
  type HistoryWatchContext,
  type SharedHistory,
  watchCollection,
} from '../../../src/contract/shared-history.js'
import type { ListerWatcher } from '../../../src/contract/source.js'
import { SplitHistory } from '../../../src/contract/split-source.js'
import type { Version } from '../../../src/contract/version.js'
import {
  checkOptions,
  isCount,
  isDelayOrInfinity,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../../src/util/validate-options.js'
import { assertNewCollection, collectionOf, placeOf } from '../../common/database-collections.js'
import { hasMethods } from '../../common/properties.js'
import { expired } from '../../common/source-errors.js'
import { isCodec, notPromised } from '../../common/value-codec.js'
import { assertGiven, clientFlaw, keyPrefixOf, type RedisClient } from '../connection/client.js'
import { EventCodec } from '../connection/codec.js'
import type { RedisCodecName, RedisDecode, RedisEncode, RedisKeys } from '../connection/codec-types.js'
import { type CollectionKeys, databaseKeys, nameFlaw } from './collection-keys.js'
import {
  type CollectionSource,
  collectionSource,
  type Events,
  FlawError,
  type RedisCollectionSource,
} from './collection-source.js'
import { CollectionWriter, encodeChange, MAX_CHANGES } from './collection-writer.js'
import type { ApplyOptions, RedisChange } from './redis-change.js'
import type { RedisCollectionSourceOptions } from './redis-collection-source.js'
import { isVersion, type RedisWriterOptions } from './redis-writer.js'
import type { EncodedChange } from './writer-script.js'

/**
 * The options of `redisDatabase`: those of `redisCollectionSource` and `redisWriter` that do not concern one collection.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisDatabase } from 'listwatch/redis'
 *
 * const shop = redisDatabase({
 *   client: new Redis(url, { lazyConnect: true }),
 *   database: 'shop', // The keys are `{shop}:log`, `{shop}:meta`, and `{shop}:h:orders` for the collection `orders`.
 *   retention: 50_000, // Default: about 10 000 commits.
 *   holdMs: 5_000, // Default: 30 000.
 * })
 * ```
 */
export interface RedisDatabaseOptions
  extends Pick<RedisCollectionSourceOptions<unknown>, 'client' | 'heartbeatMs' | 'timeoutMs'>,
    Pick<RedisWriterOptions<unknown>, 'retention'> {
  /** The name of the database. All its keys begin with `{database}`, after the client's `keyPrefix`. */
  readonly database: string
  /**
   * If a collection has to be listed again, the others stay at the last common version for at most this time, in
   * milliseconds. `Infinity` has no limit. Default 30 000.
   */
  readonly holdMs?: number
}

/**
 * The options of a collection of `redisDatabase`.
 *
 * @example
 * ```ts
 * import { deserialize, serialize } from 'node:v8'
 * import type { RedisDatabaseCollectionOptions } from 'listwatch/redis'
 *
 * const options: RedisDatabaseCollectionOptions<Limit> = { codec: { decode: (value) => deserialize(value), encode: serialize } }
 * ```
 */
export interface RedisDatabaseCollectionOptions<T> {
  /** How a value becomes an object, and an object a value: `json` (default), `string` (UTF-8), `bytes`, or functions. */
  readonly codec?: RedisCodecName | { readonly decode: RedisDecode<T>; readonly encode: RedisEncode<T> }
  /** `string` (default): keys are UTF-8. `bytes`: a key is a string with one character for each byte. */
  readonly keys?: RedisKeys
}

/**
 * The writes of one commit of `redisDatabase`.
 *
 * @example
 * ```ts
 * import type { RedisCollectionSource, RedisTransaction } from 'listwatch/redis'
 *
 * type Orders = RedisCollectionSource<Order>
 * function archive(tx: RedisTransaction, open: Orders, archived: Orders, id: string, order: Order): void {
 *   tx.delete(open, id)
 *   tx.put(archived, id, order)
 * }
 * ```
 */
export interface RedisTransaction {
  /** Adds or replaces an object of a collection. */
  put<T>(collection: ListerWatcher<T>, key: string, object: NoInfer<T>): void
  /** Deletes an object of a collection, if it exists. */
  delete(collection: ListerWatcher<unknown>, key: string): void
}

/**
 * Collections in one Redis with one history. Informers over them show one version, and change in one step.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisDatabase } from 'listwatch/redis'
 *
 * await using shop = redisDatabase({ client: new Redis(url, { lazyConnect: true }), database: 'shop' })
 * const [orders, limits] = [shop.collection<Order>('orders'), shop.collection<Limit>('limits')]
 * const informer = createInformer({ source: orders })
 * const version = await shop.commit((tx) => tx.put(limits, 'acme', { tenant: 'acme', rps: 5, burst: 10 }))
 * await informer.start().waitFor(version) // Each takes the version of any commit.
 * ```
 */
export interface RedisDatabase extends AsyncDisposable {
  /**
   * Returns a collection as a source. Each can have one informer at a time.
   * @throws OptionError that names a wrong option; if it was returned before, or the name has a "/".
   */
  collection<T = unknown>(name: string, options?: RedisDatabaseCollectionOptions<T>): RedisCollectionSource<T>
  /**
   * Applies the writes of `fn` atomically, at most 3 500. Resolves with the version to wait for, in all collections.
   * Without writes it resolves with the current version, and creates the database if it does not exist.
   * @throws RedisWriteError CONFLICT, NOT_WRITTEN or OUTCOME_UNKNOWN, as `apply` of a `redisWriter`.
   * @throws TypeError when the writes are not valid.
   */
  commit(fn: (tx: RedisTransaction) => void, options?: ApplyOptions): Promise<Version>
  /** Closes the connection of commits. Pending ones reject with `OUTCOME_UNKNOWN`. Informers are not affected. */
  close(): Promise<void>
}

const optionChecks: Readonly<Record<keyof RedisDatabaseOptions, OptionCheck>> = {
  client: clientFlaw,
  database: nameFlaw,
  retention: isCount,
  heartbeatMs: isCount,
  timeoutMs: isPositive,
  holdMs: isDelayOrInfinity,
}

const codecFlaw: OptionCheck = (value) => (hasMethods(value, 'decode', 'encode') ? undefined : isCodec(value))

/**
 * Returns collections that one commit writes, of Redis 7 or later, or Valkey. It connects on first use.
 * @returns The database, whose collections are sources.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisDatabase } from 'listwatch/redis'
 *
 * const shop = redisDatabase({ client: new Redis(url, { lazyConnect: true }), database: 'shop' })
 * const limits = createInformer({ source: shop.collection<Limit>('limits') })
 * ```
 */
export function redisDatabase(options: RedisDatabaseOptions): RedisDatabase {
  checkOptions('redisDatabase', options, optionChecks)
  assertGiven('redisDatabase', options, ['client', 'database'])
  return new CollectionHistory(options)
}

interface Collection {
  readonly keys: CollectionKeys
  readonly events: EventCodec<unknown>
  encode(change: RedisChange<unknown>): EncodedChange
}

class CollectionHistory implements SharedHistory, RedisDatabase {
  readonly name: string
  readonly holdMs: number | undefined
  readonly #settings: { client: RedisClient; name: string; blockMs: number; timeoutMs: number }
  readonly #collections = new Map<string, Collection>()
  readonly #keys: CollectionKeys[] = []
  /** All collections, whose keys are `collection/key`. */
  readonly #all: CollectionSource<unknown>
  readonly #writer: CollectionWriter

  constructor(options: RedisDatabaseOptions) {
    const { client, database: name, retention, heartbeatMs = 2_000, timeoutMs = 5_000, holdMs } = options
    this.#settings = { client, name, blockMs: heartbeatMs, timeoutMs }
    this.holdMs = holdMs
    const events = eventsOf(this.#collections)
    const all = { collection: '', codec: 'bytes', keys: 'bytes', events, warnsOfAbsence: true } as const
    this.#all = collectionSource({ ...this.#settings, ...all })
    this.name = this.#all.name
    this.#writer = new CollectionWriter(
      { client, name: `redisDatabase ${name}`, collections: this.#keys, retention, timeoutMs },
      databaseKeys(keyPrefixOf(client), name, ''),
    )
  }

  collection<T>(name: string, options: RedisDatabaseCollectionOptions<T> = {}): RedisCollectionSource<T> {
    assertNewCollection(name, this.#collections)
    checkOptions('collection', options, { codec: codecFlaw, keys: isOneOf('string', 'bytes') })
    const { codec = 'json', keys: keyForm = 'string' } = options
    const [decode, encode] = typeof codec === 'string' ? [codec, codec] : [codec.decode, codec.encode]
    const keys = databaseKeys(keyPrefixOf(this.#settings.client), this.#settings.name, name)
    const source = collectionSource<T>({ ...this.#settings, collection: name, codec: decode, keys: keyForm })
    this.#keys.push(keys)
    this.#collections.set(name, {
      keys,
      events: new EventCodec<unknown>(decode, keyForm),
      encode: (change: RedisChange<T>) => encodeChange(change, encode, keyForm),
    })
    const watch: RedisCollectionSource<T>['watch'] = (context) => watchCollection<T>(this, name, context)
    return Object.assign(source, { history: this, collection: name, watch })
  }

  async commit(fn: (tx: RedisTransaction) => void, options: ApplyOptions = {}): Promise<Version> {
    checkOptions('commit', options, { ifVersion: isVersion })
    if (this.#keys.length === 0) throw new TypeError('commit: the database has no collection: call collection() first')
    const changes: EncodedChange[] = []
    const add = (source: ListerWatcher<unknown>, change: RedisChange<unknown>): void => {
      const collection = this.#collections.get(collectionOf(this, source))
      if (collection === undefined) return
      const { key, value } = collection.encode(change)
      const { start } = collection.keys
      changes.push({ key: typeof key === 'string' ? start + key : Buffer.concat([Buffer.from(start), key]), value })
    }
    const result = fn({
      put: (source, key, object) => add(source, { put: key, object }),
      delete: (source, key) => add(source, { delete: key }),
    })
    notPromised(result, 'commit: the function')
    if (changes.length > MAX_CHANGES)
      throw new TypeError(`commit: ${changes.length} writes; one commit makes at most ${MAX_CHANGES}`)
    return await this.#writer.apply(changes, options)
  }

  /** A collection whose hash differs from the history is lost. The others continue without it. */
  async *watch({ positions, ...context }: HistoryWatchContext): AsyncIterable<CollectionBatch> {
    const lost = new Map<string, unknown>()
    for (let left = positions; ; ) {
      try {
        for await (const batch of this.#watch({ ...context, positions: left })) {
          yield lost.size === 0 ? batch : { ...batch, lost: new Map(lost) }
          lost.clear()
          left = new Map(Array.from(left.keys(), (collection) => [collection, batch.version]))
        }
        return
      } catch (error) {
        if (!(error instanceof FlawError)) throw error
        for (const [collection, { keys }] of this.#collections) {
          const flaw = error.flaws.get(keys.hash)
          if (flaw !== undefined) lost.set(collection, expired(flaw))
        }
        left = new Map([...left].filter(([collection]) => !lost.has(collection)))
        if (left.size === 0) throw error
      }
    }
  }

  #watch(context: HistoryWatchContext): AsyncIterable<CollectionBatch> {
    const { positions } = context
    const verified = [...positions.keys()].flatMap((each) => this.#collections.get(each)?.keys ?? [])
    const source: ListerWatcher<unknown> = {
      ...this.#all,
      watch: (own) => this.#all.watch(own, { verified, positions: [...new Set(positions.values())] }),
    }
    return new SplitHistory(source, placeOf).watch(context)
  }

  async close(): Promise<void> {
    this.#writer.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Makes the events of all collections. Those that the program has not named are in no batch. */
function eventsOf(collections: ReadonlyMap<string, Collection>): Events<unknown> {
  const others = new EventCodec<unknown>('bytes', 'bytes')
  const named = <E extends { readonly key?: string }>(
    bytes: Buffer,
    from: number,
    make: (codec: EventCodec<unknown>, at: number) => E,
  ): E => {
    const at = bytes.indexOf('/', from)
    const name = bytes.toString(undefined, from, at)
    const event = make(collections.get(name)?.events ?? others, at + 1)
    return { ...event, key: `${name}/${event.key}` }
  }
  return {
    put: (bytes, value, from = 0) => named(bytes, from, (codec, at) => codec.put(bytes, value, at)),
    delete: (bytes, from = 0) => named(bytes, from, (codec, at) => codec.delete(bytes, at)),
  }
}
