import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { redisCollectionSource, redisWriter } from '../../adapters/redis/index.js'
import { describeServer } from '../servers/index.js'
import { listed, refusal } from '../support/source-calls.js'
import { driverNames, userClient } from './drivers.js'
import { startTlsRedis } from './tls-server.js'

// Valkey out of a wheel has no TLS.
describeServer('redis 7.0', 'a server that wants TLS', (server) => {
  test.each(driverNames)('is reached as the client would: with its authority and host name (%s)', async (driver) => {
    await using secure = await startTlsRedis(server, 'redis.test', 'DNS:redis.test')
    const { tlsPort, certificate } = secure
    const tls = { ca: await readFile(certificate), servername: 'redis.test' }
    await using writer = redisWriter({ client: userClient(driver, tlsPort, { tls }), collection: 'secret' })
    await writer.apply([{ put: 'a', object: 1 }])
    const { objects } = await listed(
      redisCollectionSource({ client: userClient(driver, tlsPort, { tls }), collection: 'secret' }),
    )
    expect([...objects]).toEqual([['a', 1]])
    for (const wrong of [{}, { ...tls, servername: 'other.test' }]) {
      const error = await refusal(
        redisCollectionSource({ client: userClient(driver, tlsPort, { tls: wrong }), collection: 'secret' }),
      )
      expect(error.code).toBe('UNAVAILABLE')
      expect(error.message).toContain("check the client's option tls")
    }
  })
})
