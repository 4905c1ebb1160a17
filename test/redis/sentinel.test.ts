import { describe, expect, test } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { RedisSentinel } from '../servers/redis-sentinel.js'
import { kinds } from './kinds.js'
import { Mirror } from './mirror.js'

const NAME = 'mirrored'

describeRedis('a sentinel', (server) => {
  describe.each(kinds)('with $name', (kind) => {
    test('that replaces a master: the mirror finds the new one, and goes on where it was', async () => {
      await using group = await RedisSentinel.start(server)
      const { first, second } = group
      await kind.write(first.client(), NAME, 'a', 1)
      await first.client().wait(1, 10_000)
      await using mirror = await Mirror.open(first, () => kind.source(group.client(), NAME))
      await mirror.live()
      await first.kill()
      await group.hasFailedOver()
      await kind.write(second.client(), NAME, 'b', 2)
      await mirror.shows({ a: 1, b: 2 })
      expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
    })

    test('that makes a master of one that lacks what was shown: that is gone', async () => {
      await using group = await RedisSentinel.start(server)
      const { first, second } = group
      await kind.write(first.client(), NAME, 'a', 1)
      await first.client().wait(1, 10_000)
      await using mirror = await Mirror.open(first, () => kind.source(group.client(), NAME))
      await mirror.live()
      await second.promote()
      await kind.write(first.client(), NAME, 'lost', 1)
      await mirror.shows({ a: 1, lost: 1 })
      await first.kill()
      await group.hasFailedOver()
      await kind.write(second.client(), NAME, 'b', 2)
      await mirror.shows({ a: 1, b: 2 })
      expect(mirror.codes).toEqual(['EPOCH_CHANGED'])
    })
  })
})
