import { type Cluster, Redis } from 'ioredis'
import type { Cluster as Cluster5, Redis as Redis5 } from 'ioredis5'
import { describe, expectTypeOf, test } from 'vitest'
import {
  type RedisClient,
  type RedisCollectionSource,
  type RedisShardedWriter,
  type RedisWriter,
  redisCollectionSource,
  redisDatabase,
  redisWriter,
} from '../../adapters/redis/index.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { type SourceSet, sourceSet } from '../../src/informer/sources/source-set.js'

interface Flag {
  readonly enabled: boolean
}

const client = new Redis()

describe('collections of Redis', () => {
  test('take the clients of both versions of ioredis, as they are', () => {
    expectTypeOf<Redis>().toExtend<RedisClient>()
    expectTypeOf<Cluster>().toExtend<RedisClient>()
    expectTypeOf<Redis5>().toExtend<RedisClient>()
    expectTypeOf<Cluster5>().toExtend<RedisClient>()
    expectTypeOf(new Redis({ replyMapping: 'resp3' })).toExtend<RedisClient>()
  })

  test('are a source, or one for each shard', () => {
    expectTypeOf(redisCollectionSource<Flag>({ client, collection: 'a' })).toEqualTypeOf<RedisCollectionSource<Flag>>()
    expectTypeOf(sourceSet(redisCollectionSource<Flag>({ client, collection: 'a', shardCount: 4 }))).toEqualTypeOf<
      SourceSet<Flag>
    >()
    expectTypeOf(
      createInformer({ source: redisCollectionSource<Flag>({ client, collection: 'a' }) }).get('x'),
    ).toEqualTypeOf<Flag | undefined>()
  })

  test('are of what the codec makes', () => {
    expectTypeOf(redisCollectionSource({ client, collection: 'a', codec: (value) => value.length })).toEqualTypeOf<
      RedisCollectionSource<number>
    >()
  })

  test('are written as what they are', () => {
    const writer = redisWriter<Flag>({ client, collection: 'a' })
    expectTypeOf(writer).toEqualTypeOf<RedisWriter<Flag>>()
    expectTypeOf(redisWriter<Flag>({ client, collection: 'a', shardCount: 4 })).toEqualTypeOf<
      RedisShardedWriter<Flag>
    >()
    void writer.apply([{ put: 'x', object: { enabled: true } }, { delete: 'y' }], { ifVersion: undefined })
    // @ts-expect-error another object
    void writer.apply([{ put: 'x', object: { on: true } }])
    // @ts-expect-error a put has an object
    void writer.apply([{ put: 'x' }])
  })

  test('of a database are written as what they are', () => {
    const database = redisDatabase({ client, database: 'a' })
    const flags = database.collection<Flag>('flags')
    expectTypeOf(flags).toEqualTypeOf<RedisCollectionSource<Flag>>()
    void database.commit((tx) => tx.put(flags, 'x', { enabled: true }))
    // @ts-expect-error another object
    void database.commit((tx) => tx.put(flags, 'x', {}))
  })
})
