import { describe, expect, test } from 'vitest'
import { redisKeys } from '../../adapters/redis/index.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { describeRedis, type FoundServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { userClient } from './drivers.js'
import { kinds, sourceAt, write } from './kinds.js'
import { type Item, Mirror } from './mirror.js'

const NAME = 'shared'
const PREFIX = 'k:'

interface Shared {
  readonly name: string
  source(port: number): ListerWatcher<Item>
  put(redis: RedisServer, key: string, n?: number): Promise<unknown>
}

const all: readonly Shared[] = [
  ...kinds.map((kind) => ({
    name: kind.name,
    source: sourceAt(kind, NAME),
    put: (redis: RedisServer, key: string, n?: number) => write(kind, redis, NAME, key, n),
  })),
  {
    name: 'plain keys',
    source: (port) =>
      redisKeys<Item>({ client: userClient('ioredis 6', port), prefix: PREFIX, blockMs: 500, timeoutMs: 10_000 }),
    put: (redis, key, n) =>
      n === undefined ? redis.client().del(key) : redis.client().set(key, JSON.stringify({ n })),
  },
]

/** Two mirrors of the very same source object, behind one proxy. */
async function twoOf(server: FoundServer, { source }: Shared) {
  const redis = await RedisServer.start({ server })
  const one = await Mirror.open(redis, source)
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
  describe.each(all)('of $name', (kind) => {
    test.concurrent('and both mirror it; one continues when the other is stopped', async () => {
      await using two = await twoOf(server, kind)
      const { redis, one, other } = two
      await kind.put(redis, 'k:a', 1)
      await one.live()
      await kind.put(redis, 'k:b', 1)
      await other.live()
      await Promise.all([one, other].map((each) => each.shows({ 'k:a': 1, 'k:b': 1 })))
      await one.informer.stop()
      await kind.put(redis, 'k:a')
      await other.shows({ 'k:b': 1 })
      expect([...one.codes, ...other.codes]).toEqual([])
    })

    test.concurrent('and each detects another history by itself', async () => {
      await using two = await twoOf(server, kind)
      const { redis, one, other } = two
      for (const key of ['k:a', 'k:b', 'k:ghost']) await kind.put(redis, key, 1)
      for (const each of [one, other]) await each.live()
      await Promise.all([one, other].map((each) => each.shows({ 'k:a': 1, 'k:b': 1, 'k:ghost': 1 })))
      one.cut()
      await redis.client().flushall()
      await kind.put(redis, 'k:a', 2)
      one.proxy.pass()
      await Promise.all([one, other].map((each) => each.shows({ 'k:a': 2 })))
      expect(one.codes).toEqual(other.codes)
    })
  })
})
