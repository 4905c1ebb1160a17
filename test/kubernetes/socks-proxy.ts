import { createServer } from 'node:net'
import { TunnelProxy } from './tunnel-proxy.js'

/** A SOCKS5 proxy without authentication. */
export class SocksProxy extends TunnelProxy {
  readonly kinds: number[] = []

  static async start(targetPort: number): Promise<SocksProxy> {
    const server = createServer()
    const proxy = new SocksProxy(server)
    server.on('connection', (client) => {
      client.once('data', () => {
        client.write(Buffer.from([5, 0]))
        client.once('data', (request: Buffer) => {
          proxy.kinds.push(request[3] ?? 0)
          proxy.join(client, targetPort, () => client.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0])))
        })
      })
    })
    return await proxy.listen()
  }

  get url(): string {
    return `socks5://${this.address}`
  }
}
