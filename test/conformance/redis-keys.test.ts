import { describeListerWatcher } from '../../testing/index.js'
import { driverNames } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { describeRedis } from '../servers/index.js'
import { redisKeysHarness } from './redis-keys-harness.js'

describeRedis('plain keys of Redis', async (server) => {
  const redis = useRedis(server)
  for (const driver of driverNames) await describeListerWatcher(`with ${driver}`, redisKeysHarness(redis, driver))
})
