import { redisLeases } from '../../../adapters/redis/index.js'
import { leasesConformance } from '../../../testing/index.js'
import { driverNames, userClient } from '../../redis/drivers.js'
import { useRedis } from '../../redis/support.js'
import { describeRedis } from '../../servers/index.js'

describeRedis('leases in Redis', useRedis, async (own) => {
  for (const driver of driverNames) {
    await leasesConformance(`with ${driver}`, {
      create: (group) => redisLeases({ client: userClient(driver, own.redis.port), group, leaseMs: 5_000 }),
    })
  }
})
