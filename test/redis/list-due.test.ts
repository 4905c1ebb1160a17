import { describe, expect, test } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { type Kind, kinds, plainKeys, sourceAt, write } from './kinds.js'
import { Mirror } from './mirror.js'

const NAME = 'restored'

describeRedis('a list that is due while a snapshot is restored', (server) => {
  /** A mirror that shows `a` = 1 and `lost` = 1, of which the snapshot has only `a`; its network is down, and a list is due. */
  const due = async (redis: RedisServer, kind: Kind) => {
    await write(kind, redis, NAME, 'a', 1)
    const mirror = await Mirror.open(redis, sourceAt(kind, NAME))
    await mirror.live()
    await redis.client().save()
    await write(kind, redis, NAME, 'lost', 1)
    await mirror.shows(kind.shown({ a: 1, lost: 1 }, NAME))
    mirror.cut()
    await mirror.until('the loss of the connection to be noticed', () => mirror.informer.status.state === 'backing-off')
    const relisted = mirror.informer.relist({ timeoutMs: 60_000 })
    relisted.catch(() => {}) // A test that fails earlier has its own reason.
    return Object.assign(mirror, { relisted })
  }
  const restored = async (redis: RedisServer): Promise<void> => {
    await redis.kill()
    await redis.start()
  }

  describe.each([...kinds, plainKeys])('of $name', (kind) => {
    test.concurrent.each([
      ['ends before', { a: 1 }, 0],
      ['has got past', { a: 1, b: 4 }, 5],
    ])('shows the restored state if it %s the state that was shown', async (_where, shown, writes) => {
      await using redis = await RedisServer.start({ server })
      await using mirror = await due(redis, kind)
      await restored(redis)
      for (let n = 0; n < writes; n++) await write(kind, redis, NAME, 'b', n)
      mirror.proxy.pass()
      await mirror.relisted
      await mirror.shows(kind.shown(shown, NAME))
      expect(mirror.codes).toEqual(kind.hasMarks ? ['EPOCH_CHANGED'] : [])
    })
  })

  describe.each(kinds)('of $name', (kind) => {
    test.concurrent('rejects a wait for a write that the snapshot does not have', async () => {
      await using redis = await RedisServer.start({ server })
      await using mirror = await due(redis, kind)
      const waiting = mirror.informer.waitFor(await write(kind, redis, NAME, 'lost', 2), { timeoutMs: 60_000 })
      const outcome = expect(waiting).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
      await restored(redis)
      for (let n = 0; n < 5; n++) await write(kind, redis, NAME, 'b', n)
      mirror.proxy.pass()
      await outcome
      await mirror.relisted
      await mirror.shows({ a: 1, b: 4 })
    })
  })
})
