import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { redisCollectionSource, redisWriter } from '../../adapters/redis/index.js'
import { describeRedis } from '../servers/index.js'
import { GROUP, RedisSentinel } from '../servers/redis-sentinel.js'
import { waitUntil } from '../servers/wait-until.js'
import { portOf } from '../support/listening.js'
import { context } from '../support/source-calls.js'
import { driverNames, userClient } from './drivers.js'
import { type Kind, kinds, plainKeys } from './kinds.js'
import { Mirror } from './mirror.js'

const NAME = 'mirrored'

/** Two keys that both servers have, and a mirror of them. */
async function watched(group: RedisSentinel, kind: Kind): Promise<Mirror> {
  const { first } = group
  for (const key of ['a', 'b']) await kind.write(first.client(), NAME, key, 1)
  await first.client().wait(1, 10_000)
  const mirror = await Mirror.open(first, () => kind.source(group.client(), NAME))
  await mirror.live()
  await mirror.shows(kind.shown({ a: 1, b: 1 }, NAME))
  return mirror
}

describeRedis.concurrent('a sentinel', (server) => {
  describe.each([...kinds, plainKeys])('with $name', (kind) => {
    test('that replaces a master: mirrors and writers find the new one, and continue', async () => {
      await using group = await RedisSentinel.start(server)
      await using mirror = await watched(group, kind)
      await group.first.kill()
      await group.hasFailedOver()
      await kind.write(group.client(), NAME, 'b', undefined)
      await kind.write(group.client(), NAME, 'c', 2)
      await mirror.shows(kind.shown({ a: 1, c: 2 }, NAME))
      expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
    })

    test('that makes a master of one that lacks what was shown: that is gone', async () => {
      await using group = await RedisSentinel.start(server)
      const { first, second } = group
      await using mirror = await watched(group, kind)
      await second.promote()
      await kind.write(first.client(), NAME, 'lost', 1)
      await mirror.shows(kind.shown({ a: 1, b: 1, lost: 1 }, NAME))
      await first.kill()
      await group.hasFailedOver()
      await kind.write(second.client(), NAME, 'b', 2)
      await mirror.shows(kind.shown({ a: 1, b: 2 }, NAME))
      expect(mirror.codes).toEqual(kind.hasMarks ? ['EPOCH_CHANGED'] : [])
    })
  })

  test('that makes the master a replica: plain keys are read from the new master', async () => {
    await using group = await RedisSentinel.start(server)
    const { first, second, sentinel } = group
    await using mirror = await watched(group, plainKeys)
    // Until it has heard enough of the replica it says that there is none.
    const isBegun = async (): Promise<boolean> =>
      (await sentinel.admin.call('SENTINEL', 'FAILOVER', GROUP).catch(String)) === 'OK'
    await waitUntil('the sentinel to begin', isBegun)
    await group.hasFailedOver()
    await mirror.until('it to leave the old one', () => mirror.errors.length > 0)
    await mirror.until('it to be live', () => mirror.informer.status.state === 'live')
    await first.kill() // From now on only the new master can respond.
    await plainKeys.write(second.client(), NAME, 'a', 2)
    await mirror.shows(plainKeys.shown({ a: 2, b: 1 }, NAME))
    expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
  })
})

describe.each(driverNames)('a sentinel that does not respond (%s)', (driver) => {
  /** Calls `stop` during a query, and expects that all connections to the Sentinel are closed. */
  const outlives = async (begin: (client: ReturnType<typeof userClient>) => () => unknown): Promise<void> => {
    let open = 0
    const silent = createServer((socket) => {
      open++
      socket.resume().on('close', () => open--)
    })
    const sentinels = [{ host: '127.0.0.1', port: await portOf(silent) }]
    const stop = begin(userClient(driver, 1, { sentinels, name: NAME }))
    await waitUntil('a query', () => open === 1)
    stop()
    await waitUntil('the end of the query', () => open === 0)
  }
  const timeoutMs = 600_000

  test('is left at once by a list that is stopped', async () => {
    await outlives((client) => {
      const stop = new AbortController()
      const list = redisCollectionSource({ client, collection: NAME, timeoutMs }).list({
        ...context(stop.signal),
        pageSize: 10,
      })
      list[Symbol.asyncIterator]()
        .next()
        .catch(() => {})
      return () => stop.abort()
    })
  })

  test('is left at once by a writer that is closed', async () => {
    await outlives((client) => {
      const writer = redisWriter({ client, collection: NAME, timeoutMs })
      writer.apply([]).catch(() => {})
      return () => writer.close()
    })
  })
})

test.each(driverNames)('a master that does not respond is named as that of its Sentinels (%s)', async (driver) => {
  // It answers as a Sentinel that says that it is the master itself, and never as a master.
  const server = createServer((socket) => {
    socket.on('data', (data) => {
      const [host, port] = ['127.0.0.1', String(socket.localPort)]
      const master = `*2\r\n$${host.length}\r\n${host}\r\n$${port.length}\r\n${port}\r\n`
      for (const [word = ''] of String(data).matchAll(/SETINFO|get-master-addr-by-name|sentinels/g))
        socket.write({ SETINFO: '+OK\r\n', sentinels: '*0\r\n' }[word] ?? master)
    })
  })
  const sentinels = [{ host: '127.0.0.1', port: await portOf(server) }]
  const client = userClient(driver, 1, { sentinels, name: NAME })
  const writer = redisWriter({ client, collection: NAME, timeoutMs: 500 })
  await expect(writer.apply([])).rejects.toThrow(`no response from the master "${NAME}" of the Sentinels`)
  await writer.close()
})
