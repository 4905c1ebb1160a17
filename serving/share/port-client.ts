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

export interface PortClient {
  readonly fetch: SendRequest
  /** Requests a snapshot. Undefined if the share has none. */
  open(signal: AbortSignal, alive?: () => void): Promise<OpenedSnapshot | undefined>
}

/** All sources of a port use the same client. */
const clients = new WeakMap<MessagePort, PortClient>()

export function portClient(port: MessagePort): PortClient {
  const client = clients.get(port) ?? newClient(port)
  clients.set(port, client)
  return client
}

function newClient(port: MessagePort): PortClient {
  const exchanges = new Map<number, Exchange>()
  let lastId = 0
  const begin = (
    signal: AbortSignal | undefined,
    requestOf: (id: number) => FollowerMessage,
    alive: () => void = () => {},
  ): Exchange => {
    signal?.throwIfAborted() // It has no later event for that.
    port.ref()
    // A port that was closed before has no event for it, and cannot be referenced.
    if (!port.hasRef()) throw closedPort()
    const id = ++lastId
    const ended = (): void => {
      exchanges.delete(id)
      unlink()
      // A port without requests does not keep the process alive.
      if (exchanges.size === 0) port.unref()
    }
    const exchange = newExchange(id, (message) => port.postMessage(message), alive, ended)
    exchanges.set(id, exchange)
    const unlink = onAbort(signal, () => {
      port.postMessage({ type: 'abort', id } satisfies FollowerMessage)
      exchange.fail(signal?.reason)
    })
    port.postMessage(requestOf(id))
    return exchange
  }
  const endAll = (error: SourceError): void => {
    for (const exchange of [...exchanges.values()]) exchange.fail(error)
  }
  port.on('message', (received: unknown) => {
    const message = shareMessage(received)
    if (message !== undefined) return exchanges.get(message.id)?.receive(message) // Undefined if it was aborted.
    const hint =
      'it received an unknown message: the port is not one of share.port(), or its thread has another version of ' +
      'listwatch, which must be the same'
    endAll(new SourceError(hint, { code: 'PROTOCOL' }))
  })
  port.on('close', () => endAll(closedPort()))
  port.unref()
  return {
    async fetch(url, { signal }) {
      const path = url.slice(BASE_URL.length)
      const { answer, body } = begin(signal ?? undefined, (id) => ({ type: 'request', id, path }))
      const { status = 500, headers = [] } = await answer
      return {
        ok: status >= 200 && status < 300,
        status,
        headers: { get: (name) => headers.find(([each]) => each === name)?.[1] ?? null },
        body,
      }
    },
    open: async (signal, alive) => (await begin(signal, (id) => ({ type: 'open', id }), alive).answer).snapshot,
  }
}

type ReadResult = Awaited<ReturnType<BodyReader['read']>>

/** The first message of a response. */
type Answer = Partial<Pick<ResponseMessage, 'status' | 'headers'> & Pick<OpenedMessage, 'snapshot'>>

type Exchange = ReturnType<typeof newExchange>

/** A request whose response has not arrived completely. `ended` is called when nothing more of it is expected. */
function newExchange(id: number, send: (message: FollowerMessage) => void, alive: () => void, ended: () => void) {
  const answered = Promise.withResolvers<Answer>()
  const frames: Uint8Array[] = []
  /** The bytes of taken frames that were not reported. */
  let takenBytes = 0
  /** The read that waits for a frame. */
  let waiting: PromiseWithResolvers<ReadResult> | undefined
  let end: { readonly error?: unknown } | undefined
  const taken = (frame: Uint8Array): ReadResult => {
    takenBytes += frame.length
    if (takenBytes >= REPORT_BYTES) {
      send({ type: 'read', id, bytes: takenBytes })
      takenBytes = 0
    }
    // The decoder does not take bytes in shared memory: a copy has memory of its own.
    return { done: false, value: frame.buffer instanceof ArrayBuffer ? frame : frame.slice() }
  }
  const push = (frame: Uint8Array): void => {
    if (end !== undefined) return
    if (waiting === undefined) frames.push(frame)
    else waiting.resolve(taken(frame))
    waiting = undefined
  }
  const finish = (): void => {
    ended()
    end ??= {}
    waiting?.resolve({ done: true })
    waiting = undefined
  }
  const cancel = async (): Promise<void> => {
    frames.length = 0
    if (end !== undefined) return
    send({ type: 'abort', id })
    finish()
  }
  const read = async (): Promise<ReadResult> => {
    const frame = frames.shift()
    if (frame !== undefined) return taken(frame)
    if (end !== undefined && 'error' in end) throw end.error
    if (end !== undefined) return { done: true }
    waiting = Promise.withResolvers()
    return await waiting.promise
  }
  const body: ReceivedBody = { getReader: () => ({ read, cancel }), cancel }
  return {
    answer: answered.promise,
    body,
    receive(message: ShareMessage): void {
      if (message.type === 'alive') alive()
      else if (message.type === 'frame') push(message.bytes)
      else {
        if (message.type !== 'end') answered.resolve(message)
        if (message.type === 'response' && message.body === undefined) return
        if (message.type === 'response' && message.body !== undefined) push(message.body)
        finish()
      }
    },
    /** Drops the frames that were not read. Reads reject from now on. */
    fail(error: unknown): void {
      ended()
      answered.reject(error) // Without effect after the response.
      if (end !== undefined) return
      end = { error }
      frames.length = 0
      waiting?.reject(error)
      waiting = undefined
    },
  }
}

function closedPort(): SourceError {
  const message =
    'the port is closed: the other thread has ended, or has closed its share. A port cannot connect again: ' +
    'create an informer with another port'
  return new SourceError(message, { code: 'NOT_FOUND' })
}
