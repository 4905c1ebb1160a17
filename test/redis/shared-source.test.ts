import { describe, expect, test } from 'vitest'
import { describeRedis, type FoundServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { type Kind, kinds, plainKeys, sourceAt, write } from './kinds.js'
import { Mirror } from './mirror.js'

const NAME = 'shared'

/** Two mirrors of the very same source object, behind one proxy. */
async function twoOf(server: FoundServer, kind: Kind) {
  const redis = await RedisServer.start({ server })
  const one = await Mirror.open(redis, sourceAt(kind, NAME))
  const other = await Mirror.open(redis, () => one.source)
  return {
    redis,
    one,
    other,
    async [Symbol.asyncDispose](): Promise<void> {
      for (const each of [one, other, redis]) await each[Symbol.asyncDispose]()
    },
  }
}

describeRedis('two informers share a source', (server) => {
  // A collection of a database has one informer.
  const shared = [...kinds, plainKeys].filter(({ name }) => name !== 'a collection of a database')
  describe.each(shared)('of $name', (kind) => {
    test.concurrent('and both mirror it; one continues when the other is stopped', async () => {
      await using two = await twoOf(server, kind)
      const { redis, one, other } = two
      await write(kind, redis, NAME, 'a', 1)
      await one.live()
      await write(kind, redis, NAME, 'b', 1)
      await other.live()
      await Promise.all([one, other].map((each) => each.shows(kind.shown({ a: 1, b: 1 }, NAME))))
      await one.informer.stop()
      await write(kind, redis, NAME, 'a')
      await other.shows(kind.shown({ b: 1 }, NAME))
      expect([...one.codes, ...other.codes]).toEqual([])
    })

    test.concurrent('and each detects another history by itself', async () => {
      await using two = await twoOf(server, kind)
      const { redis, one, other } = two
      for (const key of ['a', 'b', 'ghost']) await write(kind, redis, NAME, key, 1)
      for (const each of [one, other]) await each.live()
      await Promise.all([one, other].map((each) => each.shows(kind.shown({ a: 1, b: 1, ghost: 1 }, NAME))))
      one.cut()
      await redis.client().flushall()
      await write(kind, redis, NAME, 'a', 2)
      one.proxy.pass()
      await Promise.all([one, other].map((each) => each.shows(kind.shown({ a: 2 }, NAME))))
      expect(one.codes).toEqual(other.codes)
    })
  })
})
