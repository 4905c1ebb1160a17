import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { redisCollection, redisWriter } from '../../adapters/redis/index.js'
import { freePort } from '../../src/cli/free-port.js'
import { describeServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { driverNames, userClient } from './drivers.js'
import { listed, refusal } from './follow.js'

// Valkey out of a wheel has no TLS.
describeServer('redis 7.0', 'a server that wants TLS', (server) => {
  test.each(driverNames)(
    'is spoken to as the client would: with its authority, and its host name (%s)',
    async (driver) => {
      const redis = await RedisServer.create({ server })
      await using _ = redis
      const [key, certificate] = [join(redis.folder, 'key.pem'), join(redis.folder, 'certificate.pem')]
      const subject = ['-subj', '/CN=redis.test', '-addext', 'subjectAltName=DNS:redis.test']
      const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-keyout', key]
      await promisify(execFile)('openssl', ['req', '-x509', ...made, '-out', certificate, ...subject])
      const tlsPort = await freePort()
      const secure = ['--tls-port', String(tlsPort), '--tls-cert-file', certificate, '--tls-key-file', key]
      const plain = ['--port', String(redis.port), '--bind', '127.0.0.1', '--dir', redis.folder, '--save', '']
      await redis.run([...plain, ...secure, '--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'])
      const tls = { ca: await readFile(certificate), servername: 'redis.test' }
      await using writer = redisWriter({ client: userClient(driver, tlsPort, { tls }), name: 'secret' })
      await writer.apply([{ put: 'a', object: 1 }])
      const { objects } = await listed(
        redisCollection({ client: userClient(driver, tlsPort, { tls }), name: 'secret' }),
      )
      expect([...objects]).toEqual([['a', 1]])
      for (const wrong of [{}, { ...tls, servername: 'other.test' }]) {
        const error = await refusal(
          redisCollection({ client: userClient(driver, tlsPort, { tls: wrong }), name: 'secret' }),
        )
        expect([error.code, error.message]).toEqual([
          'UNAVAILABLE',
          expect.stringContaining("check the client's option tls"),
        ])
      }
    },
  )
})
