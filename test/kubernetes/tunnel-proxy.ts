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

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  protected get address(): string {
    return `127.0.0.1:${this.port}`
  }

  protected join(client: Socket, targetPort: number, opened: (target: Socket) => void): void {
    const target = connect(targetPort, '127.0.0.1', () => {
      opened(target)
      target.pipe(client).pipe(target)
    })
    this.endTogether(client, target)
  }

  protected endTogether(client: Socket, target: Socket): void {
    for (const socket of [client, target]) socket.on('error', () => {})
    client.on('close', () => target.destroy())
    target.on('close', () => client.destroy())
  }

  get open(): number {
    return this.#sockets.size
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }
}
