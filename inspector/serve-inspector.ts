import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { networkInterfaces } from 'node:os'
import type { Informer } from '../src/informer/informer-types.js'
import { checkOptions, isBoolean, isName, type OptionCheck } from '../src/util/validate-options.js'
import { ApiError, InspectorApi } from './inspector-api.js'
import { RequestGuard, setSecurityHeaders } from './request-guard.js'

/**
 * The options of `serveInspector`.
 *
 * @example
 * ```ts
 * import { serveInspector } from 'listwatch/inspector'
 *
 * const token = process.env['INSPECTOR_TOKEN'] // At least 16 characters. Default: a random one.
 * await serveInspector([orders, pods], { host: '0.0.0.0', port: 7_070, token }) // Default: a free port of 127.0.0.1.
 * ```
 */
export interface InspectorOptions {
  /** The TCP port. Default 0: a free one. */
  readonly port?: number | undefined
  /** The address to listen at. Default `127.0.0.1`: only programs of this machine can connect. */
  readonly host?: string | undefined
  /**
   * More values of the header `Host` with which requests may come, such as `admin.example` or `localhost:9000`: the
   * address of a proxy or of a forwarded port. Default: none. The addresses of this machine are allowed.
   */
  readonly hosts?: readonly string[] | undefined
  /** The token that requests must have. Default: a random one for each start. At least 16 characters. */
  readonly token?: string | undefined
  /** Whether the values of Kubernetes Secrets are shown. Default false. */
  readonly showSecrets?: boolean | undefined
}

/**
 * A running inspector.
 *
 * @example
 * ```ts
 * import { serveInspector } from 'listwatch/inspector'
 *
 * await using inspector = await serveInspector([orders])
 * const headers = { authorization: `Bearer ${inspector.token}` }
 * const response = await fetch(`${inspector.origin}/api/informers`, { headers })
 * console.log(await response.json())
 * ```
 */
export interface Inspector extends AsyncDisposable {
  /** The address of the page. It contains the token. */
  readonly url: string
  /** The address without the token, for programs that send it as `Authorization: Bearer`. */
  readonly origin: string
  /** The token of this start. */
  readonly token: string
  /** Closes the server and its connections. The informers continue. */
  close(): Promise<void>
}

/**
 * Serves a page that shows informers: objects, changes, state, subscriptions and controllers. It is read-only. It works
 * during the first list. The option `name` of `createInformer` is what the page calls an informer.
 *
 * @returns The inspector, which listens at its `url`.
 * @throws OptionError for a wrong option.
 * @throws TypeError if a member is not an informer that `createInformer` returned.
 * @throws SourceError STOPPED if an informer was stopped.
 * @throws Error if the port is in use.
 *
 * @example
 * ```ts
 * import { serveInspector } from 'listwatch/inspector'
 *
 * const inspector = await serveInspector([orders, pods])
 * console.log(inspector.url)
 * ```
 */
export async function serveInspector(
  informers: Iterable<Informer<unknown, object>>,
  options: InspectorOptions = {},
): Promise<Inspector> {
  if (typeof informers?.[Symbol.iterator] !== 'function')
    throw new TypeError('serveInspector: the first argument must be an array of informers')
  checkOptions('serveInspector', options, {
    port: isPort,
    host: isName,
    hosts: isHosts,
    token: isToken,
    showSecrets: isBoolean,
  })
  const { port: wanted = 0, host = '127.0.0.1', token = randomBytes(16).toString('hex'), showSecrets = false } = options
  const api = new InspectorApi(informers, showSecrets)
  const server = createServer()
  await listening(server, wanted, host).catch(async (error: unknown) => {
    await api.close()
    throw error
  })
  server.on('error', () => {}) // A connection could not be accepted, for example because too many files are open.
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : wanted
  const shown = host.includes(':') ? `[${host}]` : host
  const urlOf = (name: string): URL => new URL(`http://${name}:${port}`)
  const { origin } = urlOf(shown)
  // A server at all addresses is reached at each of them. A browser sends no address of this kind for the page of another.
  const addresses = ['0.0.0.0', '::'].includes(host) ? Object.values(networkInterfaces()).flat() : []
  const own = addresses.map((each) => (each?.family === 'IPv6' ? `[${each.address}]` : String(each?.address)))
  const names = ['127.0.0.1', 'localhost', '[::1]', shown, ...own]
  const guard = new RequestGuard(
    token,
    [...names.map((name) => urlOf(name).host), ...(options.hosts ?? []).map((each) => each.toLowerCase())],
    port,
  )
  server.on('request', (request, response) => void answer(request, response, guard, api))
  const close = async (): Promise<void> => {
    await api.close()
    const closed = new Promise((resolve) => server.close(resolve))
    server.closeAllConnections()
    await closed
  }
  return { url: `${origin}/#token=${token}`, origin, token, close, [Symbol.asyncDispose]: close }
}

const isPort: OptionCheck = (value) =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 65_535
    ? undefined
    : 'must be a whole number from 0 to 65535'

const isHosts: OptionCheck = (value) =>
  Array.isArray(value) && value.every((each) => typeof each === 'string' && URL.canParse(`http://${each}`))
    ? undefined
    : 'must be an array of hosts, such as "admin.example" or "localhost:9000"'

const isToken: OptionCheck = (value) =>
  typeof value === 'string' && /^[\w.~-]{16,}$/.test(value)
    ? undefined
    : 'must be a string of at least 16 letters, digits, "_", ".", "~" or "-"'

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  guard: RequestGuard,
  api: InspectorApi,
): Promise<void> {
  setSecurityHeaders(response)
  const refusal = guard.refusal(request)
  if (refusal !== undefined) return sendError(response, refusal.status, refusal.message)
  const address = request.url ?? '/'
  if (!URL.canParse(address, 'http://inspector')) return sendError(response, 400, 'the path is not valid')
  const url = new URL(address, 'http://inspector')
  try {
    const file = await staticFile(url.pathname)
    if (file !== undefined) {
      response.setHeader('Content-Type', file.type)
      response.end(file.body)
    } else if (!guard.isAuthorized(request))
      sendError(response, 401, 'the request has no valid token; open the page by the printed address')
    else if (url.pathname === '/api/session') {
      response.setHeader('Set-Cookie', guard.cookie)
      response.writeHead(204).end()
    } else await api.answer(url, request, response)
  } catch (error) {
    if (response.headersSent || response.destroyed) response.destroy()
    else if (error instanceof ApiError) sendError(response, error.status, error.message)
    else if (error instanceof TypeError) sendError(response, 400, error.message)
    else sendError(response, 500, 'the request failed')
  }
}

function sendError(response: ServerResponse, status: number, message: string): void {
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.writeHead(status).end(`${JSON.stringify({ error: message })}\n`)
}

/** The files of the page, by path. The build puts them beside this module. */
const FILES: ReadonlyMap<string, readonly [name: string, type: string]> = new Map([
  ['/', ['index.html', 'text/html; charset=utf-8']],
  ['/page.js', ['page.js', 'text/javascript; charset=utf-8']],
  ['/page.css', ['page.css', 'text/css; charset=utf-8']],
  ['/icon.svg', ['icon.svg', 'image/svg+xml']],
])

/** Returns a file of the page; undefined if the path is not one of them. */
async function staticFile(path: string): Promise<{ readonly type: string; readonly body: Buffer } | undefined> {
  const file = FILES.get(path)
  if (file === undefined) return undefined
  const [name, type] = file
  return { type, body: await readFile(new URL(`page/${name}`, import.meta.url)) }
}
