import type { MessagePort } from 'node:worker_threads'
import { SourceError } from '../../src/contract/errors.js'
import { onAbort } from '../../src/util/abort-listeners.js'
import type { BodyReader, ReceivedBody, SendRequest } from '../http/received-response.js'
import {
  BASE_URL,
  type FollowerMessage,
  type OpenedMessage,
  type ResponseMessage,
  type ShareMessage,
  shareMessage,
  WINDOW_BYTES,
} from './port-messages.js'
import type { OpenedSnapshot } from './shared-snapshot.js'

/** The reader reports the bytes of frames that it has taken after this many. */
const REPORT_BYTES = WINDOW_BYTES / 4

/** All sources of a port use the same client. */
const clients = new WeakMap<MessagePort, PortClient>()

export function portClient(port: MessagePort): PortClient {
  let client = clients.get(port)
  if (client === undefined) {
    client = new PortClient(port)
    clients.set(port, client)
  }
  return client
}

export class PortClient {
  readonly #port: MessagePort
  readonly #exchanges = new Map<number, Exchange>()
  #lastId = 0

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (received: unknown) => this.#receive(received))
    port.on('close', () => this.#endAll(closedPort()))
    port.unref()
  }

  readonly fetch: SendRequest = async (url, { signal }) => {
    const path = url.slice(BASE_URL.length)
    const exchange = this.#begin(signal ?? undefined, (id) => ({ type: 'request', id, path }))
    const { status = 500, headers = [] } = await exchange.answer
    return {
      ok: status >= 200 && status < 300,
      status,
      headers: { get: (name) => headers.find(([each]) => each === name)?.[1] ?? null },
      body: exchange,
    }
  }

  /** Requests a snapshot. Undefined if the share has none. */
  async open(signal: AbortSignal, alive?: () => void): Promise<OpenedSnapshot | undefined> {
    return (await this.#begin(signal, (id) => ({ type: 'open', id }), alive).answer).snapshot
  }

  #begin(
    signal: AbortSignal | undefined,
    requestOf: (id: number) => FollowerMessage,
    alive: () => void = () => {},
  ): Exchange {
    signal?.throwIfAborted() // It has no later event for that.
    this.#port.ref()
    // A port that was closed before has no event for it, and cannot be referenced.
    if (!this.#port.hasRef()) throw closedPort()
    const id = ++this.#lastId
    const ended = (): void => {
      this.#exchanges.delete(id)
      unlink()
      // A port without requests does not keep the process alive.
      if (this.#exchanges.size === 0) this.#port.unref()
    }
    const exchange = new Exchange(id, (message) => this.#port.postMessage(message), alive, ended)
    this.#exchanges.set(id, exchange)
    const unlink = onAbort(signal, () => {
      this.#port.postMessage({ type: 'abort', id } satisfies FollowerMessage)
      exchange.fail(signal?.reason)
    })
    this.#port.postMessage(requestOf(id))
    return exchange
  }

  #receive(received: unknown): void {
    const message = shareMessage(received)
    if (message === undefined) {
      const hint =
        'it received an unknown message: the port is not one of share.port(), or its thread has another version of ' +
        'listwatch, which must be the same'
      this.#endAll(new SourceError(hint, { code: 'PROTOCOL' }))
      return
    }
    this.#exchanges.get(message.id)?.receive(message) // Undefined if it was aborted.
  }

  #endAll(error: SourceError): void {
    for (const exchange of [...this.#exchanges.values()]) exchange.fail(error)
  }
}

type ReadResult = Awaited<ReturnType<BodyReader['read']>>

/** The first message of a response. */
type Answer = Partial<Pick<ResponseMessage, 'status' | 'headers'> & Pick<OpenedMessage, 'snapshot'>>

/** A request whose response has not arrived completely. It is the body of the response, which has one reader. */
class Exchange implements ReceivedBody, BodyReader {
  readonly #id: number
  readonly #send: (message: FollowerMessage) => void
  readonly #alive: () => void
  /** Called when nothing more of the response is expected. */
  readonly #ended: () => void
  readonly #answered = Promise.withResolvers<Answer>()
  readonly answer: Promise<Answer> = this.#answered.promise
  #frames: Uint8Array[] = []
  #next = 0
  /** The bytes of taken frames that were not reported. */
  #takenBytes = 0
  /** The read that waits for a frame. */
  #waiting: PromiseWithResolvers<ReadResult> | undefined
  #end: { readonly error?: unknown } | undefined

  constructor(id: number, send: (message: FollowerMessage) => void, alive: () => void, ended: () => void) {
    this.#id = id
    this.#send = send
    this.#alive = alive
    this.#ended = ended
  }

  receive(message: ShareMessage): void {
    if (message.type === 'alive') this.#alive()
    else if (message.type === 'frame') this.#push(message.bytes)
    else {
      if (message.type !== 'end') this.#answered.resolve(message)
      if (message.type === 'response' && message.body === undefined) return
      if (message.type === 'response' && message.body !== undefined) this.#push(message.body)
      this.#finish()
    }
  }

  /** Drops the frames that were not read. Reads reject from now on. */
  fail(error: unknown): void {
    this.#ended()
    this.#answered.reject(error) // Without effect after the response.
    if (this.#end !== undefined) return
    this.#end = { error }
    this.#drop()
    this.#waiting?.reject(error)
    this.#waiting = undefined
  }

  getReader(): BodyReader {
    return this
  }

  async read(): Promise<ReadResult> {
    const frame = this.#frames[this.#next]
    if (frame !== undefined) {
      this.#next++
      if (this.#next === this.#frames.length) this.#drop()
      return { done: false, value: this.#taken(frame) }
    }
    if (this.#end !== undefined && 'error' in this.#end) throw this.#end.error
    if (this.#end !== undefined) return { done: true }
    this.#waiting = Promise.withResolvers()
    return await this.#waiting.promise
  }

  async cancel(): Promise<void> {
    this.#drop()
    if (this.#end !== undefined) return
    this.#send({ type: 'abort', id: this.#id })
    this.#finish()
  }

  #push(frame: Uint8Array): void {
    if (this.#end !== undefined) return
    if (this.#waiting === undefined) this.#frames.push(frame)
    else {
      this.#waiting.resolve({ done: false, value: this.#taken(frame) })
      this.#waiting = undefined
    }
  }

  #finish(): void {
    this.#ended()
    this.#end ??= {}
    this.#waiting?.resolve({ done: true })
    this.#waiting = undefined
  }

  #drop(): void {
    this.#frames = []
    this.#next = 0
  }

  #taken(frame: Uint8Array): Uint8Array {
    this.#takenBytes += frame.length
    if (this.#takenBytes >= REPORT_BYTES) {
      this.#send({ type: 'read', id: this.#id, bytes: this.#takenBytes })
      this.#takenBytes = 0
    }
    // The decoder does not take bytes in shared memory: a copy has memory of its own.
    return frame.buffer instanceof ArrayBuffer ? frame : frame.slice()
  }
}

function closedPort(): SourceError {
  const message =
    'the port is closed: the other thread has ended, or has closed its share. A port cannot connect again: ' +
    'create an informer with another port'
  return new SourceError(message, { code: 'NOT_FOUND' })
}
