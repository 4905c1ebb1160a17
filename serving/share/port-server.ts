import type { MessagePort } from 'node:worker_threads'
import { messageOf } from '../../src/contract/errors.js'
import { emitWarning } from '../../src/contract/node-or-browser.js'
import { directBodyOf, type Follower } from '../http/follower.js'
import { BASE_URL, type FollowerMessage, followerMessage, type ShareMessage, WINDOW_BYTES } from './port-messages.js'
import type { OpenedSnapshot } from './shared-snapshot.js'
import type { OpenContext } from './shared-snapshots.js'

export interface PortHandler {
  answer(request: Request): Promise<Response>
  open(context: OpenContext): Promise<OpenedSnapshot | undefined>
}

type Exchange = ReturnType<typeof beginExchange>

/** The end of the other thread closes the port, which aborts its requests. It does not keep the process alive. */
export function servePort(port: MessagePort, handler: PortHandler, closed: () => void): void {
  const exchanges = new Map<number, Exchange>()
  port.on('message', (received: unknown) => {
    const message = followerMessage(received)
    if (message === undefined) return
    const { id } = message
    if (message.type === 'read') exchanges.get(id)?.read(message.bytes)
    else if (message.type === 'abort') exchanges.get(id)?.abort()
    else
      exchanges.set(
        id,
        beginExchange(port, handler, message, () => exchanges.delete(id)),
      )
  })
  port.once('close', () => {
    for (const exchange of [...exchanges.values()]) exchange.abort()
    closed()
  })
  port.unref()
}

function beginExchange(
  port: MessagePort,
  handler: PortHandler,
  asked: Extract<FollowerMessage, { type: 'request' | 'open' }>,
  ended: () => void,
) {
  const { id } = asked
  const closing = new AbortController()
  const { signal } = closing
  let follower: Follower | undefined
  /** The bytes of frames that the reader has not taken yet. */
  let unreadBytes = 0
  const send = (message: ShareMessage): void => {
    if (!signal.aborted) port.postMessage(message)
  }
  const end = (message: ShareMessage): void => {
    send(message)
    ended()
  }
  const open = async (): Promise<void> => {
    const alive = (): void => send({ type: 'alive', id })
    end({ type: 'opened', id, snapshot: await handler.open({ signal, alive }) })
  }
  const answer = async (path: string): Promise<void> => {
    const response = await handler.answer(new Request(BASE_URL + path, { signal }))
    const head = { type: 'response', id, status: response.status, headers: [...response.headers] } as const
    follower = directBodyOf(response)
    if (follower === undefined) return end({ ...head, body: new Uint8Array(await response.arrayBuffer()) })
    send(head)
    follower.attach({
      write(bytes) {
        send({ type: 'frame', id, bytes })
        unreadBytes += bytes.length
        return unreadBytes < WINDOW_BYTES
      },
      end: () => end({ type: 'end', id }),
    })
  }
  const work = asked.type === 'open' ? open() : answer(asked.path)
  work.catch((error: unknown) => {
    emitWarning(`serveShared: a request failed: ${messageOf(error)}`)
    if (asked.type === 'open') end({ type: 'opened', id })
    else end({ type: 'response', id, status: 500, headers: [], body: new Uint8Array() })
  })
  return {
    read(bytes: number): void {
      const isWaiting = unreadBytes >= WINDOW_BYTES
      unreadBytes -= bytes
      if (isWaiting && unreadBytes < WINDOW_BYTES) follower?.resume()
    },
    abort(): void {
      closing.abort()
      ended()
    },
  }
}
