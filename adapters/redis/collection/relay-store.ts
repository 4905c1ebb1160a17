import type { Clock } from '../../../src/contract/clock.js'
import { messageOf, SourceError } from '../../../src/contract/errors.js'
import { RelayConflictError, type RelayStore } from '../../../src/contract/relay-store.js'
import { checkOptions, isCount, isPositive, type OptionCheck } from '../../../src/util/validate-options.js'
import { unavailable } from '../../common/source-errors.js'
import { assertGiven, clientFlaw, type RedisClient } from '../connection/client.js'
import { nameFlaw } from './collection-keys.js'
import { collectionSource } from './collection-source.js'
import { MAX_CHANGES } from './collection-writer.js'
import { type RedisWriter, singleWriter } from './redis-writer.js'
import { RedisWriteError } from './write-error.js'

/**
 * The options of `redisRelayStore`.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisRelayStore } from 'listwatch/redis'
 *
 * const client = new Redis(url, { lazyConnect: true })
 * const store = redisRelayStore({ client, relay: 'orders', retention: 100_000 }) // Default: about 10 000 batches.
 * ```
 */
export interface RedisRelayStoreOptions {
  /**
   * A `Redis` or `Cluster` of ioredis. The store opens connections with the same options, and never closes the client.
   */
  readonly client: RedisClient
  /**
   * The name of the relay. Its keys are `{relay:name}:h`, `{relay:name}:s` and `{relay:name}:m`, after the client's
   * `keyPrefix`.
   */
  readonly relay: string
  /** The approximate number of batches to keep. A follower that is further behind lists again. Default 10 000. */
  readonly retention?: number
  /** The time between two bookmarks of a silent watch, in milliseconds. Default 2 000. */
  readonly heartbeatMs?: number
  /**
   * A connection counts as lost if a response is pending and nothing arrives for this many milliseconds. Default 5 000.
   */
  readonly timeoutMs?: number
}

/** What one write may have, in bytes. Redis blocks while it applies a write. */
const MAX_BYTES = 16 * 1024 * 1024

const optionChecks: Readonly<Record<keyof RedisRelayStoreOptions, OptionCheck>> = {
  client: clientFlaw,
  relay: nameFlaw,
  retention: isCount,
  heartbeatMs: isCount,
  timeoutMs: isPositive,
}

/**
 * Returns the store of a relay in Redis 7 or later, or Valkey: a collection, as a `redisWriter` writes it. It connects
 * on first use.
 * @returns The store, for `serveRelay`, `relaySource` and `relayCache`.
 * @throws OptionError when an option is missing or not allowed.
 *
 * @example
 * ```ts
 * import { Redis } from 'ioredis'
 * import { redisRelayStore } from 'listwatch/redis'
 * import { serveRelay } from 'listwatch/relay'
 *
 * const store = redisRelayStore({ client: new Redis(url, { lazyConnect: true }), relay: 'orders' })
 * serveRelay(orders, store)
 * ```
 */
export function redisRelayStore(options: RedisRelayStoreOptions): RelayStore {
  checkOptions('redisRelayStore', options, optionChecks)
  assertGiven('redisRelayStore', options, ['client', 'relay'])
  const { relay, client, heartbeatMs: blockMs = 2_000, timeoutMs = 5_000 } = options
  const name = `relay:${relay}`
  const collection = collectionSource<string>({ client, name, codec: 'string', keys: 'string', blockMs, timeoutMs })
  let writer: RedisWriter<string> | undefined
  const writerOf = (clock: Clock): RedisWriter<string> => {
    const { relay: _, heartbeatMs: __, ...rest } = options
    writer ??= singleWriter<string>({ ...rest, collection: name, codec: 'string', clock }, name, true)
    return writer
  }
  return {
    name: collection.name,
    collection,
    /** One change is the header of the relay. */
    maxChanges: MAX_CHANGES,
    maxBytes: MAX_BYTES,
    read: async (key, context) => {
      const { value, version } = await collection.field(key, context)
      return { text: value, position: version }
    },
    write: async (changes, after, { clock, signal }) => {
      signal.throwIfAborted()
      const applied = changes.map(({ key, text }) =>
        text === undefined ? { delete: key } : { put: key, object: text },
      )
      try {
        return await writerOf(clock).apply(applied, { ifVersion: after })
      } catch (error) {
        if (!(error instanceof RedisWriteError)) throw error
        if (error.code === 'CONFLICT') throw new RelayConflictError(error.message, { cause: error })
        const { cause } = error
        if (cause instanceof SourceError && error.code === 'NOT_WRITTEN') throw cause
        throw unavailable(messageOf(error), error)
      }
    },
    close: async () => {
      const open = writer
      writer = undefined
      await open?.close()
    },
  }
}
