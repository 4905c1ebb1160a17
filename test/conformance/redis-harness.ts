import { type RedisWriter, redisCollectionSource, redisWriter } from '../../adapters/redis/index.js'
import type { ConformanceOptions, ListerWatcherHarness, ListerWatcherSubject } from '../../testing/index.js'
import { type DriverName, userClient } from '../redis/drivers.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import type { RedisServer } from '../servers/redis.js'

type Item = { readonly value: string }

/** A collection of its own for each case, and a proxy before the server that can end connections. */
export function redisHarness(server: { readonly redis: RedisServer }, driver: DriverName): ListerWatcherHarness<Item> {
  let cases = 0
  return {
    create: (wish) => subjectOf(server.redis, driver, `${driver} ${++cases}`, wish),
    unsupported: {
      openTransactions: 'an apply is one script',
      versions: 'a field of a hash has no version',
      progressRequests: 'every commit is delivered at once, so a progress request has no effect',
    },
  }
}

async function subjectOf(
  redis: RedisServer,
  driver: DriverName,
  name: string,
  { heartbeatMs }: ConformanceOptions,
): Promise<ListerWatcherSubject<Item>> {
  const proxy = await startFaultProxy({ targetPort: redis.port })
  const source = redisCollectionSource<Item>({ client: userClient(driver, proxy.port), collection: name, heartbeatMs })
  const client = userClient(driver, redis.port)
  const writer: RedisWriter<Item> = redisWriter<Item>({ client, collection: name })
  const raw: RedisWriter<string> = redisWriter<string>({ client, collection: name, codec: 'string' })
  const admin = redis.client()
  return {
    source,
    read: ({ value }) => value,
    refuses: (key) => (key.isWellFormed() ? undefined : 'its unpaired surrogate is not UTF-8'),
    write: (changes) =>
      writer.apply(
        changes.map(({ key, value }) => (value === undefined ? { delete: key } : { put: key, object: { value } })),
      ),
    compact: async () => void (await admin.xtrim(`{${name}}:s`, 'MAXLEN', 0)),
    restore: async () => {
      await admin.del(`{${name}}:s`, `{${name}}:m`)
      await writer.apply([])
    },
    corrupt: async (key) => void (await raw.apply([{ put: key, object: '{' }])),
    disconnect: () => proxy.reset(),
    connections: () => proxy.counts.open,
    dispose: async () => {
      await writer.close()
      await raw.close()
      await proxy[Symbol.asyncDispose]()
    },
  }
}
