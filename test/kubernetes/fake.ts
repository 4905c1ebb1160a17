import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { KubeConfig } from '@kubernetes/client-node'
import { waitUntil } from '../servers/wait-until.js'
import { FakeCollection } from './fake-collection.js'
import { Exchange } from './fake-exchange.js'

/** Says whether it has taken an exchange into its own hands. */
type Interceptor = (exchange: Exchange) => boolean

/**
 * An API server of one collection that speaks HTTP and behaves like a real one. A test can take a request from it and
 * answer that itself, byte by byte.
 */
export class FakeKubernetes implements AsyncDisposable {
  readonly collection = new FakeCollection()
  /** All questions so far, in their order. */
  readonly exchanges: Exchange[] = []
  readonly port: number
  readonly #server: Server
  readonly #sockets: Set<Socket>
  readonly #interceptors = new Set<Interceptor>()

  private constructor(server: Server, sockets: Set<Socket>, port: number) {
    this.#server = server
    this.#sockets = sockets
    this.port = port
    server.on('request', (question, answer) => this.#take(new Exchange(question, answer)))
  }

  static async start(): Promise<FakeKubernetes> {
    const server = createServer({ requestTimeout: 0, keepAliveTimeout: 0 })
    const sockets = new Set<Socket>()
    server.on('connection', (socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    if (typeof address !== 'object' || address === null) throw new Error('the fake has no port')
    return new FakeKubernetes(server, sockets, address.port)
  }

  /** The client allows plain HTTP only without certificate checks. */
  config(token = 'a-token'): KubeConfig {
    const config = new KubeConfig()
    config.loadFromOptions({
      clusters: [{ name: 'fake', server: `http://127.0.0.1:${this.port}`, skipTLSVerify: true }],
      users: [{ name: 'admin', token }],
      contexts: [{ name: 'fake', cluster: 'fake', user: 'admin' }],
      currentContext: 'fake',
    })
    return config
  }

  get connections(): number {
    return this.#sockets.size
  }

  get watches(): readonly Exchange[] {
    return this.exchanges.filter(({ isWatch, isStreamedList }) => isWatch && !isStreamedList)
  }

  /** Those of which the objects were wanted, in either way. */
  get lists(): readonly Exchange[] {
    return this.exchanges.filter(({ isList, isStreamedList }) => isList || isStreamedList)
  }

  /** The questions so answered, from now on, until the end; the newest rule comes first. Returns a function that ends it. */
  rule(isMeant: (exchange: Exchange) => boolean, answer: (exchange: Exchange) => void): () => void {
    const interceptor: Interceptor = (exchange) => {
      if (!isMeant(exchange)) return false
      answer(exchange)
      return true
    }
    this.#interceptors.add(interceptor)
    return () => void this.#interceptors.delete(interceptor)
  }

  /** Answers this number of the next requests of a kind in this way. */
  next(isMeant: (exchange: Exchange) => boolean, answer: (exchange: Exchange) => void, times = 1): void {
    let left = times
    const end = this.rule(
      (exchange) => left > 0 && isMeant(exchange),
      (exchange) => {
        left--
        if (left === 0) end()
        answer(exchange)
      },
    )
  }

  /** The next question of a kind, in the hands of the test. */
  async taken(isMeant: (exchange: Exchange) => boolean): Promise<Exchange> {
    let taken: Exchange | undefined
    this.next(isMeant, (exchange) => (taken = exchange))
    await waitUntil('a request of the client', () => taken !== undefined)
    if (taken === undefined) throw new Error('there was no request')
    return taken
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #take(exchange: Exchange): void {
    this.exchanges.push(exchange)
    for (const interceptor of [...this.#interceptors].reverse()) if (interceptor(exchange)) return
    this.collection.answer(exchange)
  }
}

/** Kinds of questions. */
export const isWatch = (exchange: Exchange): boolean => exchange.isWatch && !exchange.isStreamedList
export const isStreamedList = (exchange: Exchange): boolean => exchange.isStreamedList
export const isPlainList = (exchange: Exchange): boolean => exchange.isList
export const isAnyList = (exchange: Exchange): boolean => exchange.isList || exchange.isStreamedList
export const isAny = (): boolean => true
/** Whether the client reads how far the server is. */
export const isHead = ({ isWatch, query }: Exchange): boolean => !isWatch && query.get('limit') === '1'
