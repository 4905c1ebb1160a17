import { describe, expect, test } from 'vitest'
import { redisWriter } from '../../adapters/redis/index.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import { describeRedis, type FoundServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { waitUntil } from '../servers/wait-until.js'
import { context, listed } from '../support/source-calls.js'
import { userClient } from './drivers.js'
import { type Kind, kinds, sourceAt, write } from './kinds.js'
import { Mirror } from './mirror.js'

const NAME = 'mirrored'

/** A master, a replica that has everything, and a mirror of what the master has: two keys. */
async function replicated(server: FoundServer, kind: Kind) {
  const master = await RedisServer.start({ server })
  const replica = await RedisServer.start({ server })
  await replica.follow(master)
  for (const key of ['a', 'b']) await write(kind, master, NAME, key, 1)
  await master.client().wait(1, 10_000)
  const mirror = await Mirror.open(master, sourceAt(kind, NAME))
  await mirror.live()
  await mirror.shows({ a: 1, b: 1 })
  return {
    master,
    replica,
    mirror,
    /** The address of the master is the replica's from now on. */
    takeOver: () => {
      mirror.proxy.retarget(replica.port)
      mirror.proxy.pass()
    },
    [Symbol.asyncDispose]: async () => {
      for (const each of [mirror, master, replica]) await each[Symbol.asyncDispose]()
    },
  }
}

describeRedis('a failover', (server) => {
  test('that leaves no master: a writer opens fewer and fewer connections to the replica', async () => {
    await using master = await RedisServer.start({ server })
    await using proxy = await startFaultProxy({ targetPort: master.port })
    await using writer = redisWriter({
      client: userClient('ioredis 6', proxy.port),
      collection: NAME,
      timeoutMs: 2_000,
    })
    await writer.apply([{ put: 'a', object: 1 }])
    await master.client().replicaof('127.0.0.1', 1)
    for (let writes = 0; writes < 2; writes++)
      await expect(writer.apply([{ put: 'a', object: 2 }])).rejects.toThrow(`127.0.0.1:${proxy.port} is a replica`)
    expect(proxy.counts.accepted).toBeLessThan(12) // One every 100 ms would be 20 or more.
    await master.client().replicaof('NO', 'ONE')
    await writer.apply([{ put: 'a', object: 3 }])
  })

  test('that makes the server of a writer a replica: the writer leaves it, and writes to the new master', async () => {
    await using master = await RedisServer.start({ server })
    await using replica = await RedisServer.start({ server })
    await replica.follow(master)
    await using proxy = await startFaultProxy({ targetPort: master.port })
    await using writer = redisWriter({ client: userClient('ioredis 6', proxy.port), collection: NAME })
    for (const object of [1, 2]) await writer.apply([{ put: 'a', object }])
    await master.client().wait(1, 10_000)
    await replica.promote()
    await master.client().replicaof('127.0.0.1', replica.port)
    proxy.retarget(replica.port)
    await writer.apply([{ put: 'b', object: 3 }])
    expect(await replica.client().hgetall(`{${NAME}}:h`)).toEqual({ a: '2', b: '3' })
    await waitUntil('the connection to the replica to be closed', () => proxy.counts.open === 1)
  })

  describe.each(kinds)('of $name', (kind) => {
    test.concurrent('that loses mirrored writes, and is behind the mirror: they are removed', async () => {
      await using pair = await replicated(server, kind)
      const { master, replica, mirror } = pair
      await replica.promote()
      await write(kind, master, NAME, 'lost', 1)
      await mirror.shows({ a: 1, b: 1, lost: 1 })
      mirror.cut()
      await master.kill()
      pair.takeOver()
      await mirror.shows({ a: 1, b: 1 })
      expect(mirror.codes).toEqual(['EPOCH_CHANGED'])
    })

    for (const [what, times] of [
      ['exactly as far as we were', 3],
      ['past us', 10],
    ] as const) {
      test.concurrent(`that loses mirrored writes, and is ${what}: they are removed, and nothing is missing`, async () => {
        await using pair = await replicated(server, kind)
        const { master, replica, mirror } = pair
        await replica.promote()
        for (let n = 1; n <= 3; n++) await write(kind, master, NAME, 'lost', n)
        await mirror.shows({ a: 1, b: 1, lost: 3 })
        mirror.cut()
        await master.kill()
        for (let n = 0; n < times; n++) await write(kind, replica, NAME, `new${n % 2}`, n)
        pair.takeOver()
        await mirror.shows({ a: 1, b: 1, [`new${(times - 1) % 2}`]: times - 1, [`new${times % 2}`]: times - 2 })
        expect(mirror.codes).toEqual(['EPOCH_CHANGED'])
      })
    }

    test.concurrent('that makes the server a replica during a blocking read: it is left at once, before heartbeatMs has passed', async () => {
      await using master = await RedisServer.start({ server })
      await using other = await RedisServer.start({ server })
      await write(kind, master, NAME, 'a', 1)
      const source = kind.source(userClient('ioredis 6', master.port), NAME, 3_600_000)
      const { version } = await listed(source)
      const watch = source.watch({ ...context(), after: version, onProgressRequest: () => {} })[Symbol.asyncIterator]()
      await watch.next()
      const news = watch.next()
      const isWaiting = async (): Promise<boolean> =>
        /cmd=xread/.test(String(await master.admin.call('CLIENT', 'LIST')))
      await waitUntil('it to wait', isWaiting)
      await master.client().replicaof('127.0.0.1', other.port)
      await expect(news).rejects.toMatchObject({ code: 'UNAVAILABLE', message: expect.stringMatching(/^UNBLOCKED /) })
    })

    test.concurrent('that makes the server a replica: the mirror resumes at the new master, without a list', async () => {
      await using pair = await replicated(server, kind)
      const { master, replica, mirror } = pair
      await replica.promote()
      await master.client().replicaof('127.0.0.1', replica.port)
      await mirror.until('it to be reported', () => mirror.errors.length > 0)
      await write(kind, replica, NAME, 'a', 2)
      pair.takeOver()
      await mirror.shows({ a: 2, b: 1 })
      expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
    })

    test.concurrent('that makes the server a replica between two reads: it is left after the first empty read', async () => {
      await using master = await RedisServer.start({ server })
      await using other = await RedisServer.start({ server })
      const source = kind.source(userClient('ioredis 6', master.port), NAME)
      const { version } = await listed(source)
      const watch = source.watch({ ...context(), after: version, onProgressRequest: () => {} })[Symbol.asyncIterator]()
      await watch.next()
      // No command is pending now, so the server does not close the connection.
      await master.follow(other)
      const batches = (async () => {
        for (let n = 0; n < 5; n++) await watch.next()
      })()
      await expect(batches).rejects.toThrow('is a replica')
    })
  })
})
