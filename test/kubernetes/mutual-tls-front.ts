import { readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:tls'
import type { ApiServer } from '../servers/api-server.js'
import type { CertificateAuthority, ClientCertificate } from '../servers/certificate-authority.js'
import { TunnelProxy } from './tunnel-proxy.js'

/** Ends TLS before an API server, and closes each connection without a valid client certificate. */
export class MutualTlsFront extends TunnelProxy {
  /** `own`: the certificate with which it connects to the API server. */
  static async start(api: ApiServer, authority: CertificateAuthority, own: ClientCertificate): Promise<MutualTlsFront> {
    const [cert, key, ca] = await Promise.all([api.certificate(), api.privateKey(), readFile(authority.file)])
    const server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true })
    const front = new MutualTlsFront(server)
    server.on('secureConnection', (client) => {
      const target = connect({ port: api.port, host: '127.0.0.1', ca: cert, ...own })
      client.pipe(target).pipe(client)
      front.endTogether(client, target)
    })
    return await front.listen()
  }
}
