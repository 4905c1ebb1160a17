import { redisRelayStore } from '../../../adapters/redis/index.js'
import { describeListerWatcher, relayStoreConformance } from '../../../testing/index.js'
import { driverNames, userClient } from '../../redis/drivers.js'
import { useRedis } from '../../redis/support.js'
import { describeRedis } from '../../servers/index.js'
import { behindProxy } from '../behind-proxy.js'
import { relayHarness } from './relay-harness.js'

describeRedis('[Y11] a relay store of Redis', useRedis, async (own) => {
  for (const driver of driverNames) {
    await relayStoreConformance(`with ${driver}`, {
      create: (name) => redisRelayStore({ client: userClient(driver, own.redis.port), relay: name, heartbeatMs: 200 }),
      remove: async (name) => {
        const tag = `{relay:${name}}`
        await own.redis.client().del(`${tag}:h`, `${tag}:s`, `${tag}:m`)
      },
    })
  }
})

describeRedis('a follower of a relay behind Redis', useRedis, async (own) => {
  let cases = 0
  await describeListerWatcher(
    'with ioredis',
    relayHarness(async ({ heartbeatMs }) => {
      const { redis } = own
      const [port, proxied] = await behindProxy(redis.port)
      const name = `case ${++cases}`
      const options = { relay: name, heartbeatMs }
      return {
        written: redisRelayStore({ ...options, client: userClient('ioredis 6', redis.port) }),
        read: redisRelayStore({ ...options, client: userClient('ioredis 6', port) }),
        compact: async () => void (await redis.client().xtrim(`{relay:${name}}:s`, 'MAXLEN', 0)),
        ...proxied,
      }
    }),
  )
})
