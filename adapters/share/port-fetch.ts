import type { MessagePort } from 'node:worker_threads'
import { SourceError } from '../../src/contract/errors.js'
import { onAbort } from '../shared/on-abort.js'
import { BASE_URL, type FollowerMessage, type ResponseMessage, shareMessage, WINDOW_BYTES } from './port-messages.js'

/** The reader reports the bytes of frames that it has taken after this many. */
const REPORT_BYTES = WINDOW_BYTES / 4

/** Sends a request, as the global `fetch` does. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** All sources of a port use the same client. */
const clients = new WeakMap<MessagePort, PortClient>()

/** Returns a `fetch` whose requests are answered by the share at the other end of the port. */
export function portFetch(port: MessagePort): Fetch {
  let client = clients.get(port)
  if (client === undefined) {
    client = new PortClient(port)
    clients.set(port, client)
  }
  const own = client
  return (url, { signal }) => own.request(url.slice(BASE_URL.length), signal ?? undefined)
}

class PortClient {
  readonly #port: MessagePort
  readonly #exchanges = new Map<number, PortExchange>()
  #lastId = 0

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (received: unknown) => this.#receive(received))
    port.on('close', () => this.#endAll(closedPort()))
    port.unref()
  }

  request(path: string, signal: AbortSignal | undefined): Promise<Response> {
    return new Promise((resolve, reject) => {
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
      const exchange = new PortExchange(id, (message) => this.#port.postMessage(message), { resolve, reject, end })
      this.#exchanges.set(id, exchange)
      const unlink = signal && onAbort(signal, () => exchange.abort(signal.reason))
      this.#port.postMessage({ type: 'request', id, path } satisfies FollowerMessage)
    })
  }

  #receive(received: unknown): void {
    const message = shareMessage(received)
    if (message === undefined) {
      const hint = 'the port is not one of share.port(): it received a message of another program'
      this.#endAll(new SourceError(hint, { code: 'PROTOCOL' }))
      return
    }
    const exchange = this.#exchanges.get(message.id) // Undefined if it was aborted.
    if (message.type === 'response') exchange?.respond(message)
    else if (message.type === 'frame') exchange?.frame(message.bytes)
    else exchange?.finish()
  }

  #endAll(error: SourceError): void {
    for (const exchange of [...this.#exchanges.values()]) exchange.fail(error)
  }
}

interface Outcome {
  resolve(response: Response): void
  reject(error: unknown): void
  /** Called once, when nothing more of the response is expected. */
  end(): void
}

/** One request, until its response has arrived. */
class PortExchange {
  readonly #id: number
  readonly #send: (message: FollowerMessage) => void
  readonly #outcome: Outcome
  #frames: ReadableStreamDefaultController<Uint8Array> | undefined
  /** The bytes of frames that were not reported as read. */
  #unreportedBytes = 0

  constructor(id: number, send: (message: FollowerMessage) => void, outcome: Outcome) {
    this.#id = id
    this.#send = send
    this.#outcome = outcome
  }

  respond({ status, headers, body }: ResponseMessage): void {
    const init = { status, headers: headers.map(([name, value]): [string, string] => [name, value]) }
    this.#outcome.resolve(new Response(body === undefined ? this.#streamOfFrames() : streamOf(body), init))
    if (body !== undefined) this.#outcome.end()
  }

  frame(bytes: Uint8Array): void {
    this.#unreportedBytes += bytes.length
    this.#frames?.enqueue(bytes)
  }

  finish(): void {
    this.#outcome.end()
    this.#frames?.close()
  }

  fail(error: unknown): void {
    this.#outcome.end()
    this.#outcome.reject(error) // Without effect after the response.
    this.#frames?.error(error)
  }

  abort(reason: unknown): void {
    this.#send({ type: 'abort', id: this.#id })
    this.fail(reason)
  }

  #streamOfFrames(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#frames = controller
        },
        // It is called when the reader has taken all but a few frames.
        pull: () => {
          if (this.#unreportedBytes < REPORT_BYTES) return
          this.#send({ type: 'read', id: this.#id, bytes: this.#unreportedBytes })
          this.#unreportedBytes = 0
        },
        cancel: () => {
          this.#frames = undefined
          this.abort(undefined)
        },
      },
      { highWaterMark: REPORT_BYTES, size: ({ length }) => length },
    )
  }
}

/** `Response` does not take bytes in shared memory. */
function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.enqueue(bytes)
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

function closedPort(): SourceError {
  const message =
    'the port is closed: the other thread has ended, or has closed its share. A port cannot connect again: ' +
    'create an informer with another port'
  return new SourceError(message, { code: 'NOT_FOUND' })
}
