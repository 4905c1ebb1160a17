import { redisKeysSource } from '../../adapters/redis/index.js'
import { describeListerWatcher, type ListerWatcherHarness } from '../../testing/index.js'
import { type DriverName, driverNames, userClient } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { describeRedis } from '../servers/index.js'
import type { RedisServer } from '../servers/redis.js'
import { drawn } from '../support/draw.js'
import { behindProxy } from './behind-proxy.js'

type Item = { readonly value: string }

/** A prefix of its own for each case. */
function harness(own: { readonly redis: RedisServer }, driver: DriverName): ListerWatcherHarness<Item> {
  let cases = 0
  return {
    unsupported: {
      openTransactions: 'a transaction of Redis is one request',
      compaction: 'there is no history that could be forgotten',
      epochs: 'all is read again after every disconnect, whatever the server is then',
      head: 'plain keys have no versions',
      hasReached: 'plain keys have no versions',
      versions: 'plain keys have no versions',
      progressRequests: 'every write is delivered at once, so a progress request has no effect',
    },
    async create({ heartbeatMs }) {
      const prefix = `${driver} [*${++cases}?]:`
      const [port, proxied] = await behindProxy(own.redis.port)
      const writer = own.redis.client()
      return {
        source: redisKeysSource<Item>({ client: userClient(driver, port), prefix, heartbeatMs }),
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
        ...proxied,
      }
    },
  }
}

describeRedis('plain keys of Redis', useRedis, async (own) => {
  for (const driver of drawn(driverNames, 'form')) await describeListerWatcher(`with ${driver}`, harness(own, driver))
})
