import { createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../../tools/postgres/free-port.js'
import { Pair } from './proxy-pair.js'

export type Direction = 'toServer' | 'toClient'

export interface FaultProxyOptions {
  /** Port on 127.0.0.1 that connections are passed on to. */
  readonly targetPort: number
  /** Default: a free port. */
  readonly port?: number
}

export interface ProxyCounts {
  /** Connections that clients made since the start, refused ones too. */
  readonly accepted: number
  readonly refused: number
  /** Connections that `reset` and `cutAfter` ended. */
  readonly reset: number
  /** Connections that clients hold now. */
  readonly open: number
}

/** What a new connection meets. */
type Welcome = 'pass' | 'ignore' | 'refuse'

/** What every connection obeys; read at each piece, so that a change takes hold at once. */
export interface Rules {
  isHeld: boolean
  delayMs: number
  chopBytes: number
  bytesPerSecond: number
  /** Until when a slow line carries what was sent last, each way; by `performance.now()`. */
  readonly busyUntil: Map<Direction, number>
  readonly cuts: Map<Direction, Cut>
  readonly bytes: Map<Direction, number>
}

export type Cut = { left: number; readonly done: () => void }

export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new FaultProxy(options.port ?? (await freePort()), options.targetPort)
  await proxy.listen()
  return proxy
}

/**
 * Stands between a client and a server on TCP, and does to their connections what networks do. Bytes are delayed, cut off
 * at the end or never sent, but none is lost from the middle of a stream: TCP does not do that.
 */
export class FaultProxy implements AsyncDisposable {
  readonly port: number
  #targetPort: number
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  readonly #rules: Rules = {
    isHeld: false,
    delayMs: 0,
    chopBytes: 0,
    bytesPerSecond: 0,
    busyUntil: new Map(),
    cuts: new Map(),
    bytes: new Map(),
  }
  #welcome: Welcome = 'pass'
  #accepted = 0
  #refused = 0
  #reset = 0

  constructor(port: number, targetPort: number) {
    this.port = port
    this.#targetPort = targetPort
    // Paused: a connection made while all is held must not be read from.
    const sockets = { allowHalfOpen: true, noDelay: true, pauseOnConnect: true }
    this.#server = createServer(sockets, (socket) => this.#accept(socket))
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ port: this.port, host: '127.0.0.1', exclusive: true }, resolve)
    })
  }

  get counts(): ProxyCounts {
    return { accepted: this.#accepted, refused: this.#refused, reset: this.#reset, open: this.#pairs.size }
  }

  /** How many bytes have been handed on, each way. */
  get bytes(): ReadonlyMap<Direction, number> {
    return this.#rules.bytes
  }

  /** Ends all faults, and passes on the bytes that were held. Connections that `halfOpen` cut off are not notified. */
  pass(): void {
    this.#welcome = 'pass'
    this.#rules.delayMs = 0
    this.#rules.chopBytes = 0
    this.#rules.bytesPerSecond = 0
    this.#rules.cuts.clear()
    this.#setHeld(false)
  }

  /** A network that is down: from now on nothing moves, in both directions, on connections old and new, and nothing is lost. */
  hold(): void {
    this.#setHeld(true)
  }

  /**
   * A server that vanished: the connections it had are gone and their clients are never told; what they send is
   * taken and never answered. With `newConnections`, later ones fare the same, until `pass`; without, they are passed on.
   */
  halfOpen({ newConnections = false }: { readonly newConnections?: boolean } = {}): void {
    this.#welcome = newConnections ? 'ignore' : 'pass'
    for (const pair of this.#pairs) pair.dropServer()
    this.#setHeld(false)
  }

  reset(): void {
    for (const pair of [...this.#pairs]) pair.reset()
    this.#welcome = 'pass'
    this.#setHeld(false)
  }

  /** Later connections are passed on to this port, as an address that has moved to another server. */
  retarget(port: number): void {
    this.#targetPort = port
  }

  /** RST to every new connection, until `pass`; those there are stay. */
  refuse(): void {
    this.#welcome = 'refuse'
  }

  delay(ms: number): void {
    this.#rules.delayMs = ms
  }

  /** The most bytes of a piece; each piece is sent by itself. 0 ends it. */
  chop(bytes: number): void {
    this.#rules.chopBytes = bytes
  }

  /** A slow line: each direction carries at most this many bytes per second, over all connections together; 0 ends it. */
  throttle(bytesPerSecond: number): void {
    this.#rules.bytesPerSecond = bytesPerSecond
    this.#rules.busyUntil.clear()
  }

  /**
   * After this number of further bytes in this direction, over all connections, the one that carried the last of them gets RST at
   * both ends: the bytes up to there arrive, none after. Once. Resolves when that has happened; `pass` calls it off.
   */
  cutAfter(bytes: number, direction: Direction): Promise<void> {
    return new Promise((done) => this.#rules.cuts.set(direction, { left: bytes, done }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pair of [...this.#pairs]) pair.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #accept(socket: Socket): void {
    this.#accepted++
    if (this.#welcome === 'refuse') {
      this.#refused++
      socket.on('error', () => {})
      socket.resetAndDestroy()
      return
    }
    const pair: Pair = new Pair(socket, this.#targetPort, this.#rules, {
      reset: () => {
        this.#reset++
      },
      closed: () => void this.#pairs.delete(pair),
    })
    this.#pairs.add(pair)
    if (this.#welcome === 'ignore') pair.dropServer()
    pair.move()
  }

  #setHeld(isHeld: boolean): void {
    this.#rules.isHeld = isHeld
    for (const pair of [...this.#pairs]) pair.move()
  }
}
