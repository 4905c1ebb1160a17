import { syncBuiltinESMExports } from 'node:module'
import workerThreads from 'node:worker_threads'
import type { PortChecker } from './port-checker.js'
import type { ShareWorld } from './share-world.js'

type Listener = (value?: unknown) => void

/** The schedule whose channels these are. */
let network: ShareWorld | undefined
const { MessageChannel, MessagePort } = workerThreads

/** Replaces the ports of `node:worker_threads` in this process: each message is delivered in virtual time. */
export function simulatePorts(of: ShareWorld): void {
  network = of
  Object.assign(workerThreads, { MessageChannel: SimulatedChannel, MessagePort: SimulatedPort })
  syncBuiltinESMExports()
}

export function restorePorts(): void {
  Object.assign(workerThreads, { MessageChannel, MessagePort })
  syncBuiltinESMExports()
}

/** A channel between the thread of the share and a worker. */
export class SimulatedChannel {
  readonly port1: SimulatedPort
  readonly port2: SimulatedPort
  tap: PortChecker | undefined

  constructor() {
    if (network === undefined) throw new Error('no schedule runs')
    this.port1 = new SimulatedPort('share', this, network)
    this.port2 = new SimulatedPort('worker', this, network)
  }
}

/** One end of a channel. Messages arrive in their order; the end of the channel arrives behind them. */
export class SimulatedPort {
  readonly channel: SimulatedChannel
  readonly #side: 'share' | 'worker'
  readonly #network: ShareWorld
  readonly #listeners = new Map<string, Set<Listener>>()
  /** The messages that have not arrived yet, in order. */
  readonly #coming: (() => void)[] = []
  /** How many arrivals wait until the thread runs again. */
  #missed = 0
  #isBlocked = false
  #isReferenced = false
  isClosed = false

  constructor(side: 'share' | 'worker', channel: SimulatedChannel, of: ShareWorld) {
    this.#side = side
    this.channel = channel
    this.#network = of
  }

  get #other(): SimulatedPort {
    return this.#side === 'share' ? this.channel.port2 : this.channel.port1
  }

  on(event: string, listener: Listener): this {
    const listeners = this.#listeners.get(event) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(event, listeners)
    if (event === 'message') this.ref()
    return this
  }

  once(event: string, listener: Listener): this {
    const once: Listener = (value) => {
      this.#listeners.get(event)?.delete(once)
      listener(value)
    }
    return this.on(event, once)
  }

  ref(): void {
    if (!this.isClosed) this.#isReferenced = true
  }

  unref(): void {
    this.#isReferenced = false
  }

  hasRef(): boolean {
    return this.#isReferenced
  }

  postMessage(message: unknown): void {
    if (this.isClosed) return
    const copy: unknown = structuredClone(message)
    this.channel.tap?.sent(this.#side, message)
    this.#other.#comes(() => this.#other.#receive(copy))
  }

  /** Ends the channel. Each end has an event. */
  close(): void {
    if (this.isClosed) return
    this.#end()
    this.#network.clock.in(0, () => this.#emit('close'))
    this.#other.#comes(() => this.#other.#closed())
  }

  /** The thread of this end was terminated. It has no event. */
  terminate(): void {
    this.#listeners.clear()
    this.close()
  }

  /** The thread does not take messages. */
  block(): void {
    this.#isBlocked = true
  }

  unblock(): void {
    this.#isBlocked = false
    for (; this.#missed > 0; this.#missed--) this.#network.clock.in(0, () => this.#arrive())
  }

  #comes(act: () => void): void {
    this.#coming.push(act)
    this.#network.clock.in(this.#network.delayMs(), () => this.#arrive())
  }

  /** Whatever is first has arrived. */
  #arrive(): void {
    if (this.#isBlocked) this.#missed++
    else this.#coming.shift()?.()
  }

  #receive(message: unknown): void {
    if (this.isClosed) return
    this.channel.tap?.received(this.#side, message)
    this.#emit('message', message)
  }

  #closed(): void {
    if (this.isClosed) return
    this.#end()
    this.#emit('close')
  }

  #end(): void {
    this.isClosed = true
    this.#isReferenced = false
  }

  #emit(event: string, value?: unknown): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(value)
  }
}
