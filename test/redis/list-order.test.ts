import { expect, test } from 'vitest'
import { redisCollectionSource, redisWriter } from '../../adapters/redis/index.js'
import { describeRedis } from '../servers/index.js'
import { listed } from '../support/source-calls.js'
import { steered, userClient } from './drivers.js'
import { useRedis } from './support.js'

describeRedis('a list of a collection', (server) => {
  const own = useRedis(server)

  for (const command of ['XREAD', 'HSCAN', 'MULTI']) {
    test(`shows all that was written just before any ${command} of it`, async () => {
      const name = `order-${command}`
      await using writer = redisWriter<number>({ client: userClient('ioredis 6', own.redis.port), collection: name })
      const keys = Array.from({ length: 2_000 }, (_, n) => `k${n}`)
      const writeAll = (object: number): Promise<string> => writer.apply(keys.map((put) => ({ put, object })))
      await writeAll(0)
      let times = 0
      // Every key is another, and one of them is gone and comes back.
      const write = async (): Promise<void> => {
        if (times++ >= 10) return
        await writeAll(times)
        await writer.apply([times % 2 === 0 ? { put: 'k0', object: times } : { delete: 'k0' }])
      }
      const source = redisCollectionSource<number>({
        client: steered([own.redis.port], write, command),
        collection: name,
      })
      const { objects } = await listed(source, 200)
      const wanted = await own.redis.client().hgetall(`{${name}}:h`)
      expect(times).toBeGreaterThan(1)
      expect(Object.fromEntries(Array.from(objects, ([key, n]) => [key, String(n)]))).toEqual(wanted)
    })
  }
})
