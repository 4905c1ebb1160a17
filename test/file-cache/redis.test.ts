import { join } from 'node:path'
import { expect, test } from 'vitest'
import { redisCollectionSource, redisStreamSource, redisWriter } from '../../adapters/redis/index.js'
import { userClient } from '../redis/drivers.js'
import { useRedis } from '../redis/support.js'
import { describeRedis } from '../servers/index.js'
import type { RedisServer } from '../servers/redis.js'
import { type Life, life, testExpiry, testResume, type Values, type WarmCollection } from './life.js'
import { folder } from './support.js'

interface Collection extends WarmCollection {
  /** The key of the stream with its history. */
  readonly history: string
  readonly keys: readonly string[]
}

let names = 0

function collection(redis: RedisServer): Collection {
  const name = `warm-${++names}`
  const path = join(folder(), 'a.cache')
  const put = async (values: Values): Promise<void> => {
    const writer = redisWriter<number>({ client: userClient('ioredis 6', redis.port), collection: name })
    const changes = Object.entries(values).map(([key, n]) =>
      n === undefined ? { delete: key } : { put: key, object: n },
    )
    await writer.apply(changes)
    await writer.close()
  }
  const run = (expected: Values): Promise<Life> =>
    life({
      source: redisCollectionSource<number>({ client: userClient('ioredis 6', redis.port), collection: name }),
      cache: { path },
      expected,
    })
  return { put, run, history: `{${name}}:s`, keys: ['h', 's', 'm'].map((each) => `{${name}}:${each}`) }
}

function stream(redis: RedisServer): Collection {
  const name = `warm-${++names}`
  const path = join(folder(), 'a.cache')
  const put = async (values: Values): Promise<void> => {
    for (const [key, n] of Object.entries(values))
      await redis.client().xadd(name, '*', key, n === undefined ? '' : `${n}`)
  }
  const run = (expected: Values): Promise<Life> =>
    life({
      source: redisStreamSource<number>({
        client: userClient('ioredis 6', redis.port),
        stream: name,
        decode: (fields) => Array.from(fields, ([key, n]) => ({ key, object: n === '' ? undefined : Number(n) })),
      }),
      cache: { path },
      expected,
    })
  return { put, run, history: name, keys: [name] }
}

describeRedis('a warm start from Redis', useRedis, (own) => {
  for (const [kind, open] of [
    ['collection', collection],
    ['stream', stream],
  ] as const) {
    testResume(() => open(own.redis), '', ` (${kind})`)

    test(`lists once if the collection was deleted and made again (${kind})`, async () => {
      const { put, run, keys } = open(own.redis)
      await put({ a: 1, b: 1, c: 1 })
      await run({ a: 1, b: 1, c: 1 })
      await own.redis.client().del(...keys)
      await put({ a: 7, b: 7, d: 7 })
      const after = await run({ a: 7, b: 7, d: 7 })
      expect(after).toMatchObject({ lists: 1, initial: ['a', 'b', 'd'], changes: [] })
      expect(after.errors).toHaveLength(1)
    })
  }

  testExpiry(
    'lists once after its history was trimmed',
    () => collection(own.redis),
    ({ history }) => own.redis.client().xtrim(history, 'MAXLEN', 0),
  )
})
