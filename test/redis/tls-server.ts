import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../tools/postgres/free-port.js'
import type { FoundServer } from '../servers/locate.js'
import { RedisServer } from '../servers/redis.js'

/** A Redis that speaks TLS at a port of its own, and plainly at the other. */
export interface TlsRedis extends AsyncDisposable {
  readonly redis: RedisServer
  readonly tlsPort: number
  /** The file of the certificate, which is its own authority. */
  readonly certificate: string
}

/** Under a certificate for `name`, which also has these alternative names. */
export async function startTlsRedis(server: FoundServer, name: string, alternatives: string): Promise<TlsRedis> {
  const redis = await RedisServer.create({ server })
  try {
    const [key, certificate] = [join(redis.folder, 'key.pem'), join(redis.folder, 'certificate.pem')]
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${alternatives}`]
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-keyout', key]
    await promisify(execFile)('openssl', ['req', '-x509', ...made, '-out', certificate, ...subject])
    const tlsPort = await freePort()
    const secure = ['--tls-port', String(tlsPort), '--tls-cert-file', certificate, '--tls-key-file', key]
    const plain = ['--port', String(redis.port), '--bind', '127.0.0.1', '--dir', redis.folder, '--save', '']
    await redis.run([...plain, ...secure, '--tls-ca-cert-file', certificate, '--tls-auth-clients', 'no'])
    return { redis, tlsPort, certificate, [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() }
  } catch (error) {
    await redis[Symbol.asyncDispose]()
    throw error
  }
}
