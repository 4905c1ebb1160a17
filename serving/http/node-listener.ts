import { messageOf, OptionError } from '../../src/contract/errors.js'
import { emitWarning } from '../../src/contract/node-or-browser.js'
import { directBodyOf, type Follower } from './follower.js'

/**
 * The part of `http.IncomingMessage` that is used.
 *
 * @example
 * ```ts
 * import { nodeListener, serveHttp } from 'listwatch/http'
 *
 * const listener = nodeListener(serveHttp(orders))
 * app.use('/mirror/orders', (request, response) => listener(request, response)) // A request of Express fits too.
 * ```
 */
export interface NodeRequest {
  /** The method. */
  readonly method?: string | undefined
  /** The path and the query. */
  readonly url?: string | undefined
  /** The headers, by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/**
 * The part of `http.ServerResponse` that is used.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { nodeListener, serveHttp } from 'listwatch/http'
 *
 * const listener = nodeListener(serveHttp(orders))
 * createServer((request, response) => {
 *   if (request.url?.startsWith('/mirror/orders/')) listener(request, response)
 *   else response.writeHead(404).end()
 * }).listen(8080)
 * ```
 */
export interface NodeResponse {
  /** Whether the connection was closed. */
  readonly destroyed: boolean
  /** Whether `writeHead` was called. */
  readonly headersSent: boolean
  /** Sends the status and the headers. */
  writeHead(status: number, headers: Record<string, string | string[]>): unknown
  /** Sends the headers before the first chunk. */
  flushHeaders?(): void
  /** Sends a chunk. Returns false if the caller should wait for `drain`. */
  write(chunk: Uint8Array): boolean
  /** Ends the response. */
  end(): unknown
  /** Closes the connection. */
  destroy(): unknown
  /** Adds a listener that is called once. */
  once(event: 'close' | 'drain', listener: () => void): unknown
  /** Removes a listener. */
  off(event: 'close' | 'drain', listener: () => void): unknown
}

/**
 * Returns a listener for `createServer` of node:http and node:http2 and for Express, which passes requests to a handler
 * of `Request` and `Response`.
 *
 * @returns The listener. It answers each request with the response of the handler.
 * @throws OptionError if the handler is not a function.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { nodeListener, serveHttp } from 'listwatch/http'
 *
 * createServer(nodeListener(serveHttp(orders))).listen(8080)
 * ```
 */
export function nodeListener(
  handler: (request: Request) => Promise<Response>,
): (request: NodeRequest, response: NodeResponse) => void {
  if (typeof handler !== 'function')
    throw new OptionError('nodeListener: the first argument must be a handler, such as serveHttp(informer)', {
      option: 'handler',
    })
  return (request, response) => {
    answer(handler, request, response).catch((error: unknown) => {
      if (response.destroyed) return
      emitWarning(`nodeListener: a request failed: ${messageOf(error)}`)
      if (response.headersSent) response.destroy()
      else {
        response.writeHead(500, {})
        response.end()
      }
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
  const request = requestOf(incoming, closing.signal)
  const response = await (request === undefined
    ? new Response('the request is not valid', { status: 400 })
    : handler(request))
  const cookies = response.headers.getSetCookie()
  outgoing.writeHead(response.status, {
    ...Object.fromEntries(response.headers),
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
  })
  if (response.body === null) {
    outgoing.end()
    return
  }
  outgoing.flushHeaders?.()
  const direct = directBodyOf(response)
  if (direct !== undefined) return sendDirectly(direct, outgoing)
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

function sendDirectly(body: Follower, outgoing: NodeResponse): void {
  const resume = (): void => body.resume()
  // If the connection closes, the signal of the request ends the follower.
  body.attach({
    write(frame) {
      if (outgoing.write(frame)) return true
      outgoing.once('drain', resume)
      return false
    },
    end: () => outgoing.end(),
  })
}

/** Returns undefined if the request has a method, a header or a path that `Request` does not allow. */
function requestOf({ headers, method = 'GET', url = '/' }: NodeRequest, signal: AbortSignal): Request | undefined {
  // HTTP/2 has fields that begin with a colon, which `Headers` refuses.
  const named = Object.entries(headers)
    .filter(([name]) => !name.startsWith(':'))
    .map(([name, value]): [string, string] => [name, [value ?? []].flat().join(', ')])
  try {
    const own = new Headers(named)
    const root = new URL('/', `http://${own.get('host') ?? headers[':authority'] ?? 'localhost'}`)
    // A path that begins with "//" would name another host.
    return new Request(new URL(url.startsWith('/') ? `.${url}` : url, root), { method, headers: own, signal })
  } catch {
    return undefined
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
