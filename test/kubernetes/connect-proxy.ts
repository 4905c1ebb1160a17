import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import { TunnelProxy } from './tunnel-proxy.js'

/** An HTTP proxy that connects each client by CONNECT. */
export class ConnectProxy extends TunnelProxy {
  readonly wanted: string[] = []

  static async start(targetPort: number): Promise<ConnectProxy> {
    const server = createServer()
    const proxy = new ConnectProxy(server)
    server.on('connect', ({ url = '' }, client: Socket, head: Buffer) => {
      proxy.wanted.push(url)
      proxy.join(client, targetPort, (target) => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        target.write(head)
      })
    })
    return await proxy.listen()
  }

  get url(): string {
    return `http://${this.address}`
  }
}
