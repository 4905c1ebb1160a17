import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { redisCollection, redisWriter } from '../../adapters/redis/index.js'
import { describeRedis } from '../servers/index.js'
import { RedisSentinel } from '../servers/redis-sentinel.js'
import { waitUntil } from '../servers/wait-until.js'
import { context } from '../support/source-calls.js'
import { driverNames, userClient } from './drivers.js'
import { kinds } from './kinds.js'
import { Mirror } from './mirror.js'

const NAME = 'mirrored'

describeRedis.concurrent('a sentinel', (server) => {
  describe.each(kinds)('with $name', (kind) => {
    test('that replaces a master: mirrors and writers find the new one, and continue', async () => {
      await using group = await RedisSentinel.start(server)
      const { first, second } = group
      await kind.write(group.client(), NAME, 'a', 1)
      await first.client().wait(1, 10_000)
      await using mirror = await Mirror.open(first, () => kind.source(group.client(), NAME))
      await mirror.live()
      await first.kill()
      await group.hasFailedOver()
      await kind.write(group.client(), NAME, 'b', 2)
      expect(await second.client().exists(...kind.keys(NAME))).toBe(kind.keys(NAME).length)
      await mirror.shows({ a: 1, b: 2 })
      expect([mirror.codes, mirror.informer.status.relists]).toEqual([[], 0])
    })

    test('that makes a master of one that lacks what was shown: that is gone', async () => {
      await using group = await RedisSentinel.start(server)
      const { first, second } = group
      await kind.write(first.client(), NAME, 'a', 1)
      await first.client().wait(1, 10_000)
      await using mirror = await Mirror.open(first, () => kind.source(group.client(), NAME))
      await mirror.live()
      await second.promote()
      await kind.write(first.client(), NAME, 'lost', 1)
      await mirror.shows({ a: 1, lost: 1 })
      await first.kill()
      await group.hasFailedOver()
      await kind.write(second.client(), NAME, 'b', 2)
      await mirror.shows({ a: 1, b: 2 })
      expect(mirror.codes).toEqual(['EPOCH_CHANGED'])
    })
  })
})

describe.each(driverNames)('a sentinel that does not respond (%s)', (driver) => {
  /** Calls `stop` during a query, and expects that all connections to the Sentinel are closed. */
  const outlives = async (begin: (client: ReturnType<typeof userClient>) => () => unknown): Promise<void> => {
    const sockets = new Set<Socket>()
    const silent = createServer((socket) => {
      sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
      socket.resume()
    }).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const sentinels = [{ host: '127.0.0.1', port: (silent.address() as AddressInfo).port }]
    const stop = begin(userClient(driver, 1, { sentinels, name: NAME }))
    try {
      await waitUntil('a query', () => sockets.size === 1)
      stop()
      await waitUntil('the end of the query', () => sockets.size === 0)
    } finally {
      silent.close()
      for (const socket of sockets) socket.destroy()
    }
  }
  const timeoutMs = 600_000

  test('is left at once by a list that is stopped', async () => {
    await outlives((client) => {
      const stop = new AbortController()
      const list = redisCollection({ client, name: NAME, timeoutMs }).list({ ...context(stop.signal), pageSize: 10 })
      list[Symbol.asyncIterator]()
        .next()
        .catch(() => {})
      return () => stop.abort()
    })
  })

  test('is left at once by a writer that is closed', async () => {
    await outlives((client) => {
      const writer = redisWriter({ client, name: NAME, timeoutMs })
      writer.apply([]).catch(() => {})
      return () => writer.close()
    })
  })
})

test.each(driverNames)('a master that does not respond is named as that of its Sentinels (%s)', async (driver) => {
  const sockets = new Set<Socket>()
  // It answers as a Sentinel that says that it is the master itself, and never as a master.
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    socket.on('data', (data) => {
      const [host, port] = ['127.0.0.1', String((server.address() as AddressInfo).port)]
      const master = `*2\r\n$${host.length}\r\n${host}\r\n$${port.length}\r\n${port}\r\n`
      for (const [word = ''] of String(data).matchAll(/SETINFO|get-master-addr-by-name|sentinels/g))
        socket.write({ SETINFO: '+OK\r\n', sentinels: '*0\r\n' }[word] ?? master)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const sentinels = [{ host: '127.0.0.1', port: (server.address() as AddressInfo).port }]
    const client = userClient(driver, 1, { sentinels, name: NAME })
    const writer = redisWriter({ client, name: NAME, timeoutMs: 500 })
    await expect(writer.apply([])).rejects.toThrow(`no response from the master "${NAME}" of the Sentinels`)
    writer.close()
  } finally {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
})
