import { describe, expect, test } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { userClient } from './drivers.js'
import { kinds, plainKeys } from './kinds.js'
import { Mirror } from './mirror.js'
import { useRedis } from './support.js'

let names = 0

describeRedis('a network', (server) => {
  const own = useRedis(server)

  describe.each([...kinds, plainKeys])('between $name and its mirror', (kind) => {
    const opened = async (redis: RedisServer) => {
      const name = `network-${++names}`
      const put = (key: string, n?: number): Promise<unknown> => kind.write(redis.client(), name, key, n)
      await put('a', 1)
      const mirror = await Mirror.open(redis, (port) => kind.source(userClient('ioredis 6', port), name))
      await mirror.live()
      const showsAll = (wanted: Readonly<Record<string, number>>): Promise<void> =>
        mirror.shows(kind.shown(wanted, name))
      return Object.assign(mirror, { put, showsAll })
    }
    /** A silence was noticed, and nothing was listed again. */
    const isNoticed = (mirror: Mirror): void => {
      expect(mirror.errors.map(({ message }) => message).join()).toContain('no response from')
      expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
    }

    test.concurrent('that drops all packets is noticed, and writes meanwhile are delivered when it is back', async () => {
      await using mirror = await opened(own.redis)
      mirror.proxy.hold()
      await mirror.put('a')
      await mirror.put('b', 1)
      await mirror.until('the silence to be noticed', () => mirror.errors.length > 0)
      mirror.proxy.pass()
      await mirror.showsAll({ b: 1 })
      isNoticed(mirror)
    })

    test.concurrent('that ends connections again and again loses nothing', async () => {
      await using mirror = await opened(own.redis)
      for (let n = 0; n < 20; n++) {
        await mirror.put(`k${n % 5}`, n)
        if (n % 4 === 0) mirror.proxy.reset()
        if (n % 5 === 0) void mirror.proxy.cutAfter(100 * n, 'toClient').catch(() => {})
      }
      mirror.proxy.pass()
      await mirror.showsAll({ a: 1, k0: 15, k1: 16, k2: 17, k3: 18, k4: 19 })
      expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
    })

    test.concurrent('whose server is killed and comes back with all it had: nothing is listed again', async () => {
      await using redis = await RedisServer.start({ server, isDurable: true })
      await using mirror = await opened(redis)
      await mirror.put('b', 1)
      await redis.kill()
      await redis.start()
      await mirror.put('a')
      await mirror.showsAll({ b: 1 })
      expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
    })

    test.concurrent('leaves no connection and no timer behind when the mirror stops', async () => {
      await using mirror = await opened(own.redis)
      mirror.proxy.hold()
      await mirror.informer.stop()
      mirror.proxy.pass()
      await mirror.until('nothing to be left', () => mirror.proxy.counts.open === 0 && mirror.clock.sleeping === 0)
    })
  })
})
