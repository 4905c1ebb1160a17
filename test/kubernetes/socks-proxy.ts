import { createServer, connect as dial, type Server, type Socket } from 'node:net'

/** A SOCKS5 proxy without authentication that connects each client to one port of this machine. */
export class SocksProxy implements AsyncDisposable {
  readonly url: string
  /** The requested kinds of address: 1 for IPv4, 3 for a name. */
  readonly kinds: number[] = []
  readonly #server: Server
  readonly #sockets: Set<Socket>

  private constructor(server: Server, sockets: Set<Socket>, port: number) {
    this.#server = server
    this.#sockets = sockets
    this.url = `socks5://127.0.0.1:${port}`
  }

  static async start(targetPort: number): Promise<SocksProxy> {
    const sockets = new Set<Socket>()
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const proxy = new SocksProxy(server, sockets, typeof address === 'object' && address !== null ? address.port : 0)
    server.on('connection', (client) => {
      sockets.add(client)
      client.on('error', () => {})
      client.on('close', () => sockets.delete(client))
      client.once('data', () => {
        client.write(Buffer.from([5, 0]))
        client.once('data', (request: Buffer) => {
          proxy.kinds.push(request[3] ?? 0)
          const target = dial(targetPort, '127.0.0.1', () => {
            client.write(Buffer.from([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
            target.pipe(client).pipe(target)
          })
          target.on('error', () => client.destroy())
          target.on('close', () => client.destroy())
          client.on('close', () => target.destroy())
        })
      })
    })
    return proxy
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
