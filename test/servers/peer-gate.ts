import { connect, createServer, type Server, type Socket } from 'node:net'

export interface PeerGateOptions {
  /** The port at which peers reach the member. */
  readonly port: number
  /** The port of the member itself. */
  readonly target: number
  /** Returns the caller that the first bytes of a connection name; undefined if more bytes are needed. */
  callerOf(head: string): string | undefined
  /** Whether this caller is partitioned from the member. */
  isCut(caller: string): boolean
}

/** A proxy between a member and its peers. It identifies the caller by its first bytes, and blocks partitioned peers. */
export class PeerGate implements AsyncDisposable {
  readonly #options: PeerGateOptions
  readonly #server: Server
  readonly #callers = new Map<Socket, string | undefined>()

  constructor(options: PeerGateOptions) {
    this.#options = options
    this.#server = createServer((socket) => this.#accept(socket))
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(this.#options.port, '127.0.0.1', resolve)
    })
  }

  /** Ends the connections of partitioned peers. */
  sweep(): void {
    for (const [socket, caller] of this.#callers)
      if (caller !== undefined && this.#options.isCut(caller)) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#callers.keys()) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  /** What the member sends is passed on at once; what the caller sends is held until it is identified. */
  #accept(socket: Socket): void {
    const { target, callerOf, isCut } = this.#options
    this.#callers.set(socket, undefined)
    const peer = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [socket, peer],
      [peer, socket],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
    socket.on('close', () => this.#callers.delete(socket))
    peer.pipe(socket)
    const held: Buffer[] = []
    const identify = (bytes: Buffer): void => {
      held.push(bytes)
      const caller = callerOf(Buffer.concat(held).toString('latin1'))
      if (caller === undefined) return
      socket.off('data', identify)
      this.#callers.set(socket, caller)
      if (isCut(caller)) {
        socket.destroy()
        return
      }
      for (const each of held) peer.write(each)
      socket.pipe(peer)
    }
    socket.on('data', identify)
  }
}
