import { describeListerWatcher } from '../../testing/index.js'
import { driverNames } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { describeRedis } from '../servers/index.js'
import { collectionForm, databaseForm, redisHarness } from './redis-harness.js'

describeRedis('a collection of Redis', async (server) => {
  const own = useRedis(server)
  for (const driver of driverNames)
    await describeListerWatcher(`with ${driver}`, redisHarness(own, driver, collectionForm))
  await describeListerWatcher('of a database', redisHarness(own, 'ioredis 6', databaseForm))
})
