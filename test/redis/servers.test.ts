import { expect, test } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { RedisCluster } from '../servers/redis-cluster.js'
import { RedisSentinel } from '../servers/redis-sentinel.js'

describeRedis('a server of the tests', (server) => {
  test('keeps what was written through a kill, and forgets what its file lost', async () => {
    await using redis = await RedisServer.start({ server, isDurable: true })
    const client = redis.client()
    await client.set('first', '1')
    const bytes = await redis.written()
    await client.set('second', '2')
    await redis.kill()
    await redis.start()
    expect(await redis.client().mget('first', 'second')).toEqual(['1', '2'])
    await redis.cutTo(bytes)
    await redis.start()
    expect(await redis.client().mget('first', 'second')).toEqual(['1', null])
  })

  test('follows another, and is a master of its own when it is promoted', async () => {
    await using master = await RedisServer.start({ server })
    await using replica = await RedisServer.start({ server })
    await replica.follow(master)
    await master.client().set('key', 'from the master')
    await master.client().wait(1, 5_000)
    await replica.promote()
    await replica.client().append('key', ', and on')
    expect(await replica.client().get('key')).toBe('from the master, and on')
  })

  test('is one of three that share the slots; a slot moves, and a replica takes over', async () => {
    await using cluster = await RedisCluster.start(server)
    const from = await cluster.ownerOf('{a}')
    const to = await cluster.another(from)
    const clientOf = (at: number) => cluster.nodes[at]?.client()
    await clientOf(from)?.mset('{a}1', '1', '{a}2', '2')
    await cluster.migrate('{a}', to, async () => {
      await expect(clientOf(from)?.get('{a}1')).rejects.toThrow('ASK')
      expect(await clientOf(from)?.get('{a}2')).toBe('2')
    })
    await expect(clientOf(from)?.get('{a}2')).rejects.toThrow('MOVED')
    const replica = await cluster.addReplica(to)
    await cluster.failover(replica)
    expect(await clientOf(replica)?.mget('{a}1', '{a}2')).toEqual(['1', '2'])
  })

  test('is replaced by its replica when a sentinel misses it', async () => {
    await using group = await RedisSentinel.start(server)
    const client = group.client()
    await client.set('key', 'value')
    await client.wait(1, 5_000)
    await group.first.kill()
    await group.hasFailedOver()
    expect(await group.client().get('key')).toBe('value')
  })
})
