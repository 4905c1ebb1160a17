import type { MessagePort } from 'node:worker_threads'
import { SourceError } from '../../src/contract/errors.js'
import { onAbort } from '../../src/util/abort-listeners.js'
import type { ReceivedResponse, SendRequest } from '../http/received-response.js'
import { FrameBody } from './frame-body.js'
import {
  BASE_URL,
  type FollowerMessage,
  type ResponseMessage,
  type ShareMessage,
  shareMessage,
} from './port-messages.js'
import type { OpenedSnapshot } from './shared-snapshot.js'

/** All sources of a port use the same client. */
const clients = new WeakMap<MessagePort, PortClient>()

/** Returns the client that sends requests to the share at the other end of the port. */
export function portClient(port: MessagePort): PortClient {
  let client = clients.get(port)
  if (client === undefined) {
    client = new PortClient(port)
    clients.set(port, client)
  }
  return client
}

/** Sends requests over a port, and receives the responses. */
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

  readonly fetch: SendRequest = (url, { signal }) =>
    this.#send<ReceivedResponse>(signal ?? undefined, (id, outcome) => {
      const path = url.slice(BASE_URL.length)
      return [
        { type: 'request', id, path },
        new PortExchange(id, (message) => this.#port.postMessage(message), outcome),
      ]
    })

  /** Requests a snapshot. Undefined if the share has none. */
  open(signal: AbortSignal, alive: () => void = () => {}): Promise<OpenedSnapshot | undefined> {
    return this.#send<OpenedSnapshot | undefined>(signal, (id, outcome) => {
      return [{ type: 'open', id }, new OpenExchange(outcome, alive)]
    })
  }

  #send<R>(
    signal: AbortSignal | undefined,
    begin: (id: number, outcome: Outcome<R>) => readonly [FollowerMessage, Exchange],
  ): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      signal?.throwIfAborted() // It has no later event for that.
      this.#port.ref()
      // A port that was closed before has no event for it, and cannot be referenced.
      if (!this.#port.hasRef()) return reject(closedPort())
      const id = ++this.#lastId
      const end = (): void => {
        this.#exchanges.delete(id)
        unlink?.()
        // A port without requests does not keep the process alive.
        if (this.#exchanges.size === 0) this.#port.unref()
      }
      const [message, exchange] = begin(id, { resolve, reject, end })
      this.#exchanges.set(id, exchange)
      const abort = (reason: unknown): void => {
        this.#port.postMessage({ type: 'abort', id } satisfies FollowerMessage)
        exchange.fail(reason)
      }
      const unlink = signal && onAbort(signal, () => abort(signal.reason))
      this.#port.postMessage(message)
    })
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

/** A request whose response has not arrived completely. */
interface Exchange {
  receive(message: ShareMessage): void
  fail(error: unknown): void
}

interface Outcome<R> {
  resolve(response: R): void
  reject(error: unknown): void
  /** Called once, when nothing more of the response is expected. */
  end(): void
}

/** The request for a snapshot. */
class OpenExchange implements Exchange {
  readonly #outcome: Outcome<OpenedSnapshot | undefined>
  readonly #alive: () => void

  constructor(outcome: Outcome<OpenedSnapshot | undefined>, alive: () => void) {
    this.#outcome = outcome
    this.#alive = alive
  }

  receive(message: ShareMessage): void {
    if (message.type === 'alive') this.#alive()
    if (message.type !== 'opened') return
    this.#outcome.end()
    this.#outcome.resolve(message.snapshot)
  }

  fail(error: unknown): void {
    this.#outcome.end()
    this.#outcome.reject(error)
  }
}

/** One request with a response of HTTP. */
class PortExchange implements Exchange {
  readonly #id: number
  readonly #send: (message: FollowerMessage) => void
  readonly #outcome: Outcome<ReceivedResponse>
  #frames: FrameBody | undefined

  constructor(id: number, send: (message: FollowerMessage) => void, outcome: Outcome<ReceivedResponse>) {
    this.#id = id
    this.#send = send
    this.#outcome = outcome
  }

  receive(message: ShareMessage): void {
    if (message.type === 'response') this.#respond(message)
    else if (message.type === 'frame') this.#frames?.push(message.bytes)
    else if (message.type === 'end') this.#finish()
  }

  #respond({ status, headers, body }: ResponseMessage): void {
    this.#frames = this.#newBody()
    this.#outcome.resolve({
      ok: status >= 200 && status < 300,
      status,
      headers: { get: (name) => headers.find(([each]) => each === name)?.[1] ?? null },
      body: this.#frames,
    })
    if (body === undefined) return
    this.#frames.push(body)
    this.#finish()
  }

  #newBody(): FrameBody {
    return new FrameBody({
      taken: (bytes) => this.#send({ type: 'read', id: this.#id, bytes }),
      cancelled: () => {
        this.#send({ type: 'abort', id: this.#id })
        this.#outcome.end()
      },
    })
  }

  #finish(): void {
    this.#outcome.end()
    this.#frames?.end()
  }

  fail(error: unknown): void {
    this.#outcome.end()
    this.#outcome.reject(error) // Without effect after the response.
    this.#frames?.fail(error)
  }
}

function closedPort(): SourceError {
  const message =
    'the port is closed: the other thread has ended, or has closed its share. A port cannot connect again: ' +
    'create an informer with another port'
  return new SourceError(message, { code: 'NOT_FOUND' })
}
