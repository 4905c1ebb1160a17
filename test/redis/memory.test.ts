import { describe, expect, test } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { kinds, sourceAt, write } from './kinds.js'
import { Mirror } from './mirror.js'

const NAME = 'mirrored'

describeRedis('a server short of memory', (server) => {
  describe.each(kinds)('with $name', (kind) => {
    test.concurrent('refuses a write whole, and is listed and watched all the same', async () => {
      await using redis = await RedisServer.start({ server })
      await write(kind, redis, NAME, 'a', 1)
      const admin = redis.client()
      await admin.config('SET', 'maxmemory', '1')
      await using mirror = await Mirror.open(redis, sourceAt(kind, NAME))
      await mirror.live()
      await expect(write(kind, redis, NAME, 'b', 1)).rejects.toThrow('OOM')
      await mirror.shows({ a: 1 })
      mirror.cut()
      mirror.proxy.pass()
      await mirror.until('it to be back', () => mirror.informer.status.reconnects > 0)
      await admin.config('SET', 'maxmemory', '0')
      await write(kind, redis, NAME, 'b', 1)
      await mirror.shows({ a: 1, b: 1 })
      expect(mirror.codes).toEqual([])
    })
  })
})
