import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'

/** An HTTP proxy that connects each client (CONNECT) to one port of this machine, whatever target it requests. */
export class ConnectProxy implements AsyncDisposable {
  /** The requested targets, in order. */
  readonly wanted: string[] = []
  readonly url: string
  readonly #server: Server
  readonly #sockets: Set<Socket>

  private constructor(server: Server, sockets: Set<Socket>, port: number) {
    this.#server = server
    this.#sockets = sockets
    this.url = `http://127.0.0.1:${port}`
  }

  static async start(targetPort: number): Promise<ConnectProxy> {
    const server = createServer()
    const sockets = new Set<Socket>()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const proxy = new ConnectProxy(server, sockets, typeof address === 'object' && address !== null ? address.port : 0)
    server.on('connection', (socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    })
    server.on('connect', ({ url = '' }, client, head: Buffer) => {
      proxy.wanted.push(url)
      const target = connect(targetPort, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        target.write(head)
        target.pipe(client).pipe(target)
      })
      target.on('error', () => client.destroy())
      target.on('close', () => client.destroy())
      client.on('close', () => target.destroy())
    })
    return proxy
  }

  /** How many connections clients hold. */
  get open(): number {
    return this.#sockets.size
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
