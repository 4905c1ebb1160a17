import { readFile } from 'node:fs/promises'
import { connect, createServer, type Server, type TLSSocket } from 'node:tls'
import type { ApiServer } from '../servers/api-server.js'
import type { CertificateAuthority, ClientCertificate } from '../servers/certificate-authority.js'

/** Ends TLS before an API server, and closes each connection without a valid client certificate. */
export class MutualTlsFront implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<TLSSocket>()

  private constructor(server: Server) {
    this.#server = server
  }

  /** `own`: the certificate with which it connects to the API server. */
  static async start(api: ApiServer, authority: CertificateAuthority, own: ClientCertificate): Promise<MutualTlsFront> {
    const [cert, key, ca] = await Promise.all([api.certificate(), api.privateKey(), readFile(authority.file)])
    const server = createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: true })
    const front = new MutualTlsFront(server)
    server.on('secureConnection', (client) => {
      const target = connect({ port: api.port, host: '127.0.0.1', ca: cert, ...own })
      client.pipe(target).pipe(client)
      for (const [socket, other] of [
        [client, target],
        [target, client],
      ] as const) {
        front.#sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => {
          front.#sockets.delete(socket)
          other.destroy()
        })
      }
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return front
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
