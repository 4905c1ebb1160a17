import { connect, type Server, type Socket } from 'node:net'

/** A proxy before one port of this machine, whatever target is requested. */
export abstract class TunnelProxy implements AsyncDisposable {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  protected constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => this.#sockets.delete(socket))
    })
  }

  protected async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return this
  }

  protected get address(): string {
    const address = this.#server.address()
    return `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  }

  protected join(client: Socket, targetPort: number, opened: (target: Socket) => void): void {
    const target = connect(targetPort, '127.0.0.1', () => {
      opened(target)
      target.pipe(client).pipe(target)
    })
    target.on('error', () => client.destroy())
    target.on('close', () => client.destroy())
    client.on('close', () => target.destroy())
  }

  get open(): number {
    return this.#sockets.size
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
