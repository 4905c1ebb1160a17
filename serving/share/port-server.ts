import type { MessagePort } from 'node:worker_threads'
import { messageOf } from '../../src/contract/errors.js'
import { emitWarning } from '../../src/contract/node-or-browser.js'
import { directBodyOf } from '../http/direct-body.js'
import type { Follower } from '../http/follower.js'
import { BASE_URL, followerMessage, type ShareMessage, WINDOW_BYTES } from './port-messages.js'
import type { OpenedSnapshot } from './shared-snapshot.js'
import type { OpenContext } from './shared-snapshots.js'

export interface PortHandler {
  answer(request: Request): Promise<Response>
  open(context: OpenContext): Promise<OpenedSnapshot | undefined>
}

/** The end of the other thread closes the port, which aborts its requests. It does not keep the process alive. */
export function servePort(port: MessagePort, handler: PortHandler, closed: () => void): void {
  const exchanges = new Map<number, PortExchange>()
  port.on('message', (received: unknown) => {
    const message = followerMessage(received)
    if (message === undefined) return
    const { id } = message
    if (message.type === 'read') exchanges.get(id)?.read(message.bytes)
    else if (message.type === 'abort') exchanges.get(id)?.abort()
    else {
      const exchange = new PortExchange(port, id, () => exchanges.delete(id))
      exchanges.set(id, exchange)
      const failed = (error: unknown): void => {
        emitWarning(`serveShared: a request failed: ${messageOf(error)}`)
        exchange.fail(message.type)
      }
      if (message.type === 'open') exchange.open(handler).catch(failed)
      else exchange.answer(handler, message.path).catch(failed)
    }
  })
  port.once('close', () => {
    for (const exchange of [...exchanges.values()]) exchange.abort()
    closed()
  })
  port.unref()
}

class PortExchange {
  readonly #port: MessagePort
  readonly #id: number
  readonly #ended: () => void
  readonly #closing = new AbortController()
  #follower: Follower | undefined
  /** The bytes of frames that the reader has not taken yet. */
  #unreadBytes = 0

  constructor(port: MessagePort, id: number, ended: () => void) {
    this.#port = port
    this.#id = id
    this.#ended = ended
  }

  async open(handler: PortHandler): Promise<void> {
    const alive = (): void => this.#send({ type: 'alive', id: this.#id })
    const snapshot = await handler.open({ signal: this.#closing.signal, alive })
    this.#end({ type: 'opened', id: this.#id, snapshot })
  }

  async answer(handler: PortHandler, path: string): Promise<void> {
    const response = await handler.answer(new Request(BASE_URL + path, { signal: this.#closing.signal }))
    const direct = directBodyOf(response)
    const head = { type: 'response', id: this.#id, status: response.status, headers: [...response.headers] } as const
    if (direct === undefined) {
      this.#end({ ...head, body: new Uint8Array(await response.arrayBuffer()) })
      return
    }
    this.#send(head)
    this.#follower = direct
    direct.attach({
      write: (bytes) => {
        this.#send({ type: 'frame', id: this.#id, bytes })
        this.#unreadBytes += bytes.length
        return this.#unreadBytes < WINDOW_BYTES
      },
      end: () => this.#end({ type: 'end', id: this.#id }),
    })
  }

  read(bytes: number): void {
    const isWaiting = this.#unreadBytes >= WINDOW_BYTES
    this.#unreadBytes -= bytes
    if (isWaiting && this.#unreadBytes < WINDOW_BYTES) this.#follower?.resume()
  }

  abort(): void {
    this.#closing.abort()
    this.#ended()
  }

  fail(request: 'request' | 'open'): void {
    if (request === 'open') this.#end({ type: 'opened', id: this.#id })
    else this.#end({ type: 'response', id: this.#id, status: 500, headers: [], body: new Uint8Array() })
  }

  #end(message: ShareMessage): void {
    this.#send(message)
    this.#ended()
  }

  #send(message: ShareMessage): void {
    if (!this.#closing.signal.aborted) this.#port.postMessage(message)
  }
}
