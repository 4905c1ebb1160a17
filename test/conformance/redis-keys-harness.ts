import { redisKeysSource } from '../../adapters/redis/index.js'
import type { ConformanceOptions, ListerWatcherHarness, ListerWatcherSubject } from '../../testing/index.js'
import { type DriverName, userClient } from '../redis/drivers.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import type { RedisServer } from '../servers/redis.js'

type Item = { readonly value: string }

/** A prefix of its own for each case, and a proxy before the server that can end connections. */
export function redisKeysHarness(
  server: { readonly redis: RedisServer },
  driver: DriverName,
): ListerWatcherHarness<Item> {
  let cases = 0
  return {
    create: (wish) => subjectOf(server.redis, driver, `${driver} [*${++cases}?]:`, wish),
    unsupported: {
      openTransactions: 'a transaction of Redis is one request',
      compaction: 'there is no history that could be forgotten',
      epochs: 'all is read again after every disconnect, whatever the server is then',
      head: 'plain keys have no versions',
      hasReached: 'plain keys have no versions',
      versions: 'plain keys have no versions',
      progressRequests: 'every write is delivered at once, so a progress request has no effect',
    },
  }
}

async function subjectOf(
  redis: RedisServer,
  driver: DriverName,
  prefix: string,
  { heartbeatMs }: ConformanceOptions,
): Promise<ListerWatcherSubject<Item>> {
  const proxy = await startFaultProxy({ targetPort: redis.port })
  const writer = redis.client()
  return {
    source: redisKeysSource<Item>({ client: userClient(driver, proxy.port), prefix, heartbeatMs }),
    read: ({ value }) => value,
    keyOf: (key) => prefix + key,
    refuses: (key) => (key.isWellFormed() ? undefined : 'its unpaired surrogate is not UTF-8'),
    write: async (changes) => {
      const transaction = writer.multi()
      for (const { key, value } of changes) {
        if (value === undefined) transaction.del(prefix + key)
        else transaction.set(prefix + key, JSON.stringify({ value }))
      }
      await transaction.exec()
      return undefined
    },
    corrupt: async (key) => void (await writer.set(prefix + key, '{')),
    disconnect: () => proxy.reset(),
    connections: () => proxy.counts.open,
    dispose: async () => await proxy[Symbol.asyncDispose](),
  }
}
