import type { IncomingMessage } from 'node:http'
import { messageOf, SourceError, type SourceErrorCode } from '../../src/contract/errors.js'

/** Returns a `fetch` that sends its requests over a Unix socket, each over a connection of its own. */
export function socketFetch(socketPath: string): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, { headers, signal }) => {
    // Followers over a port do not use it.
    const { request } = await import('node:http')
    return await new Promise((resolve, reject) => {
      const { pathname, search } = new URL(url)
      const sent = request({
        socketPath,
        path: pathname + search,
        agent: false,
        headers: Object.fromEntries(new Headers(headers)),
        ...(signal && { signal }),
      })
      sent.on('error', (error) => reject(signal?.aborted === true ? error : refused(socketPath, error)))
      const other = (incoming: IncomingMessage): void => {
        incoming.destroy()
        reject(otherProgram(socketPath, incoming))
      }
      sent.on('response', (incoming) => {
        if (isOfMirror(incoming)) resolve(responseOf(incoming, socketPath))
        else other(incoming)
      })
      sent.on('upgrade', (incoming, socket) => {
        socket.destroy()
        other(incoming)
      })
      sent.end()
    })
  }
}

/** The statuses of responses without a body. A `Response` with a body refuses them. */
const BODILESS: readonly number[] = [204, 205, 304]

/** Whether a mirror may have sent it. `Response` throws for other statuses: within an event, that ends the process. */
function isOfMirror({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode <= 599 && !BODILESS.includes(statusCode)
}

function otherProgram(socketPath: string, { statusCode }: IncomingMessage): SourceError {
  const message = `${socketPath}: it answered with status ${statusCode}: another program listens there`
  return new SourceError(message, { code: 'PROTOCOL' })
}

function responseOf(incoming: IncomingMessage, socketPath: string): Response {
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, [value ?? []].flat().join(', '))
  const chunks = incoming[Symbol.asyncIterator]()
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await chunks.next()
          if (done === true) controller.close()
          else controller.enqueue(value as Uint8Array)
        } catch (error) {
          controller.error(refused(socketPath, error))
        }
      },
      cancel: () => void incoming.destroy(),
    },
    { highWaterMark: 0 },
  )
  return new Response(body, { status: incoming.statusCode ?? 500, headers })
}

const reasons: Readonly<Record<string, readonly [code: SourceErrorCode, reason: string]>> = {
  ENOENT: ['UNAVAILABLE', 'there is no such socket: no process shares its informer there'],
  ECONNREFUSED: ['UNAVAILABLE', 'no process listens there'],
  EACCES: ['UNAUTHORIZED', 'this user may not connect: the socket belongs to the user of the other process'],
  ECONNRESET: ['UNAVAILABLE', 'the other process closed the connection'],
}

function refused(socketPath: string, cause: unknown): SourceError {
  const [code, reason] = reasons[String(Object(cause).code)] ?? ['UNAVAILABLE', messageOf(cause)]
  return new SourceError(`${socketPath}: ${reason}`, { code, cause })
}
