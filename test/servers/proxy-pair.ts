import { connect, type Socket } from 'node:net'
import type { Rules } from './fault-proxy.js'
import { Pipe } from './proxy-pipe.js'

export type PairEvents = { reset(): void; closed(): void }

/** One client's connection and the one to the server that answers it. */
export class Pair {
  readonly #client: Socket
  readonly #targetPort: number
  readonly #rules: Rules
  readonly #events: PairEvents
  /** Made when something may move for the first time: while all is held, the server does not hear of a new client. */
  #server: Socket | undefined
  #pipes: readonly Pipe[] = []
  #isServerGone = false
  #isBroken = false

  constructor(client: Socket, targetPort: number, rules: Rules, events: PairEvents) {
    this.#client = client
    this.#targetPort = targetPort
    this.#rules = rules
    this.#events = events
    client.on('error', () => this.#break())
    client.on('close', () => this.#closed())
  }

  /** Moves what the rules allow, or stops moving. */
  move(): void {
    if (this.#isBroken || this.#isServerGone) return
    if (this.#server === undefined && !this.#rules.isHeld) this.#open()
    for (const pipe of this.#pipes) pipe.move()
  }

  /** The server's side ends here; the client is not told, and what it sends goes nowhere. */
  dropServer(): void {
    if (this.#isBroken || this.#isServerGone) return
    this.#isServerGone = true
    for (const pipe of this.#pipes) pipe.stop()
    this.#server?.destroy()
    // Keep reading, to notice when the client closes.
    this.#client.on('data', () => {})
    this.#client.on('end', () => this.destroy())
    this.#client.resume()
    if (this.#client.readableEnded) this.destroy()
  }

  /** RST to both ends. */
  reset(): void {
    if (this.#isBroken) return
    this.#events.reset()
    this.#break()
  }

  destroy(): void {
    this.#isBroken = true
    for (const pipe of this.#pipes) pipe.stop()
    this.#client.destroy()
    this.#server?.destroy()
  }

  #open(): void {
    const server = connect({ port: this.#targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
    this.#server = server
    server.on('error', () => {
      if (!this.#isServerGone) this.#break()
    })
    server.on('close', () => this.#closed())
    const cut = (): void => this.reset()
    this.#pipes = [
      new Pipe(this.#client, server, 'toServer', this.#rules, cut),
      new Pipe(server, this.#client, 'toClient', this.#rules, cut),
    ]
  }

  #break(): void {
    if (this.#isBroken) return
    this.#isBroken = true
    for (const pipe of this.#pipes) pipe.stop()
    this.#client.resetAndDestroy()
    this.#server?.resetAndDestroy()
  }

  /** One end that has closed in order may have left bytes here for the other: that one closes in its own time. */
  #closed(): void {
    if (this.#client.closed && (this.#server === undefined || this.#server.closed)) this.#events.closed()
  }
}
