import { Cluster, Redis } from 'ioredis'
import { createClient } from 'redis'
import { describe, expect, test } from 'vitest'
import {
  type RedisClient,
  redisCollectionSource,
  redisKeysSource,
  redisStreamSource,
  redisWriter,
} from '../../adapters/redis/index.js'
import { createInformer, type ListerWatcher, OptionError } from '../../src/index.js'
import { describeRedis, describeServer } from '../servers/index.js'
import { RedisCluster } from '../servers/redis-cluster.js'
import { waitUntil } from '../servers/wait-until.js'
import { listed } from '../support/source-calls.js'
import { useRedis } from './support.js'

const decode = (): undefined => undefined
const makers: readonly (readonly [call: string, make: (client: RedisClient) => unknown])[] = [
  ['redisCollectionSource', (client) => redisCollectionSource({ client, collection: 'a' })],
  ['redisStreamSource', (client) => redisStreamSource({ client, stream: 'a', decode })],
  ['redisKeysSource', (client) => redisKeysSource({ client, prefix: '{a}' })],
  ['redisWriter', (client) => redisWriter({ client, collection: 'a' })],
]
const redis = new Redis({ lazyConnect: true })
const wrong: readonly (readonly [what: string, client: unknown])[] = [
  ['undefined', undefined],
  ['null', null],
  ['a function that returns a client', () => redis],
  ['a URL', 'redis://localhost:6379'],
  ['a client of node-redis', createClient()],
  ['a pipeline', redis.pipeline()],
  ['a pool of clients', { acquire: async () => redis, release: async () => {}, options: {} }],
]

describe.each(makers)('%s', (call, make) => {
  test.each(wrong)('throws an OptionError at the call if the client is %s', (_what, client) => {
    const error = thrownBy(() => make(client as RedisClient))
    expect(error).toBeInstanceOf(OptionError)
    expect(error).toMatchObject({ option: 'client', message: expect.stringContaining(`${call}: option "client"`) })
  })
})

function thrownBy(run: () => unknown): unknown {
  try {
    run()
    return undefined
  } catch (error) {
    return error
  }
}

/** The sources, of an empty collection, stream and prefix. */
const sourcesOf = (client: RedisClient): readonly ListerWatcher<unknown>[] => [
  redisCollectionSource({ client, collection: 'a' }),
  redisStreamSource({ client, stream: 'a', decode }),
  redisKeysSource({ client, prefix: '{a}' }),
]

describeRedis('a Redis client', (server) => {
  const own = useRedis(server)

  test('that subscribes can be used: sources have their own connections', async () => {
    const client = own.redis.client()
    await client.subscribe('channel')
    for (const source of sourcesOf(client)) expect((await listed(source)).objects.size).toBe(0)
    await using writer = redisWriter({ client, collection: 'written by a subscriber' })
    await writer.apply([{ put: 'a', object: 1 }])
  })

  test('that was closed can be used: only its options are needed', async () => {
    const client = own.redis.client()
    await client.quit()
    for (const source of sourcesOf(client)) expect((await listed(source)).objects.size).toBe(0)
  })
})

describeServer('redis 7.0', 'a Cluster that was closed', (server) => {
  test('causes an OptionError of list, apply and synced, because its slot map is not current', async () => {
    await using cluster = await RedisCluster.start(server)
    const client = new Cluster([{ host: '127.0.0.1', port: cluster.nodes[0]?.port ?? 0 }])
    await client.set('a', '1')
    await client.quit()
    await waitUntil('the Cluster to be closed', () => client.status === 'end')
    const says = { option: 'client', message: expect.stringContaining('the Cluster was closed') }
    for (const source of sourcesOf(client)) {
      const error: unknown = await listed(source).catch((error: unknown) => error)
      expect(error).toBeInstanceOf(OptionError)
      expect(error).toMatchObject(says)
      const informer = createInformer({ source })
      informer.on('error', () => {})
      await expect(informer.start().synced()).rejects.toBeInstanceOf(OptionError)
      expect(informer.status.state).toBe('failed')
      await informer.stop()
    }
    await using writer = redisWriter({ client, collection: 'a' })
    await expect(writer.apply([])).rejects.toMatchObject(says)
  })
})
