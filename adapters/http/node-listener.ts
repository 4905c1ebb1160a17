import { messageOf } from '../../src/contract/errors.js'
import { emitWarning } from '../../src/contract/node-or-browser.js'

/** The part of `http.IncomingMessage` that is used. */
export interface NodeRequest {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** The part of `http.ServerResponse` that is used. */
export interface NodeResponse {
  readonly writableNeedDrain: boolean
  readonly destroyed: boolean
  readonly headersSent: boolean
  writeHead(status: number, headers: Record<string, string>): unknown
  flushHeaders(): void
  write(chunk: Uint8Array): boolean
  end(): unknown
  destroy(): unknown
  once(event: 'close' | 'drain', listener: () => void): unknown
  off(event: 'close' | 'drain', listener: () => void): unknown
}

/**
 * Returns a listener for `http.createServer` and Express, which passes requests to a handler of `Request` and `Response`.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 *
 * createServer(nodeListener(serveMirror(orders))).listen(8080)
 * ```
 */
export function nodeListener(
  handler: (request: Request) => Promise<Response>,
): (request: NodeRequest, response: NodeResponse) => void {
  return (request, response) => {
    answer(handler, request, response).catch((error: unknown) => {
      if (response.destroyed) return
      emitWarning(`nodeListener: a request failed: ${messageOf(error)}`)
      if (!response.headersSent) response.writeHead(500, {})
      response.destroy()
    })
  }
}

async function answer(
  handler: (request: Request) => Promise<Response>,
  incoming: NodeRequest,
  outgoing: NodeResponse,
): Promise<void> {
  const closing = new AbortController()
  outgoing.once('close', () => closing.abort())
  const headers = new Headers()
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (value !== undefined) headers.set(name, typeof value === 'string' ? value : value.join(', '))
  }
  const { method = 'GET', url = '/' } = incoming
  const host = headers.get('host') ?? 'localhost'
  const address = URL.canParse(url, `http://${host}`) ? new URL(url, `http://${host}`) : new URL('http://localhost/')
  const response = await handler(new Request(address, { method, headers, signal: closing.signal }))
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) {
    outgoing.end()
    return
  }
  outgoing.flushHeaders()
  const reader = response.body.getReader()
  const cancel = (): void => void reader.cancel().catch(() => {})
  if (outgoing.destroyed) return cancel()
  outgoing.once('close', cancel)
  for (;;) {
    const { value, done } = await reader.read()
    if (outgoing.destroyed) return
    if (done) {
      outgoing.end()
      return
    }
    if (!outgoing.write(value)) await drained(outgoing)
  }
}

function drained(response: NodeResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      response.off('drain', settle)
      response.off('close', settle)
      resolve()
    }
    response.once('drain', settle)
    response.once('close', settle)
  })
}
