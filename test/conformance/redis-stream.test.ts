import { describeListerWatcher } from '../../testing/index.js'
import { useRedis } from '../redis/support.js'
import { describeRedis } from '../servers/index.js'
import { redisStreamHarness } from './redis-stream-harness.js'

describeRedis('a Redis stream that others write', async (server) => {
  const redis = useRedis(server)
  await describeListerWatcher('from its oldest entry on', redisStreamHarness(redis, 'oldest entry'))
  await describeListerWatcher('from a snapshot on', redisStreamHarness(redis, 'snapshot'))
})
