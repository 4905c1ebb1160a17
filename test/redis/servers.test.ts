import { expect, test } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'

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
})
