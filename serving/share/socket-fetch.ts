import type { IncomingMessage } from 'node:http'
import { messageOf, SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import type { ReceivedResponse, SendRequest } from '../http/received-response.js'

/** Sends requests over a Unix socket, each over a connection of its own. */
export function socketFetch(socketPath: string): SendRequest {
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

/** The statuses of responses without a body. */
const BODILESS: readonly number[] = [204, 205, 304]

/** Whether a mirror may have sent it. */
function isOfMirror({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode <= 599 && !BODILESS.includes(statusCode)
}

function otherProgram(socketPath: string, { statusCode }: IncomingMessage): SourceError {
  const message = `${socketPath}: it answered with status ${statusCode}: another program listens there`
  return new SourceError(message, { code: 'PROTOCOL' })
}

function responseOf(incoming: IncomingMessage, socketPath: string): ReceivedResponse {
  const { statusCode: status = 500, headers } = incoming
  const chunks: AsyncIterator<Uint8Array, undefined> = incoming[Symbol.asyncIterator]()
  const cancel = async (): Promise<void> => void incoming.destroy()
  const read = async () => {
    try {
      const { value, done = false } = await chunks.next()
      return { value, done }
    } catch (error) {
      throw refused(socketPath, error)
    }
  }
  return {
    ok: status < 300,
    status,
    headers: { get: (name) => headers[name]?.toString() ?? null },
    body: { getReader: () => ({ read, cancel }), cancel },
  }
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
