import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { type Clock, wallNowOf } from '../../../src/contract/clock.js'
import { ABORTED, SourceError } from '../../../src/contract/errors.js'
import { DeadlineScope } from '../../common/deadline-scope.js'
import { parseJson } from '../../common/json-depth.js'
import { retryAfterMsOf } from '../../common/retry-after.js'
import { refused, unavailable } from '../../common/source-errors.js'
import { apiError, apiStatusIn, connectionError, type RequestTarget, statusOf } from './api-error.js'
import { certificateFlaw } from './client-certificate.js'
import type { Access, Credentials } from './credentials.js'
import { IDLE, ResponseBody } from './response-body.js'
import type { RetryAfterGate } from './retry-after-gate.js'

export interface ApiSessionOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  /** A request without an answer for this number of milliseconds fails. */
  readonly timeoutMs: number
  /** Observes the errors of the server, and stops new requests; a list or watch in progress continues. */
  readonly retryAfter?: RetryAfterGate
  /** Most connections at once. Default: 4. */
  readonly maxSockets?: number
}

export interface ApiRequest extends RequestTarget {
  readonly path: string
  readonly accept?: string
  /** The object to send, as JSON. */
  readonly body?: object
  /** The type of the body. Default: `application/json`. */
  readonly contentType?: string
  /** Closes the connection when it aborts. */
  readonly signal?: AbortSignal
}

const METHODS = {
  list: 'GET',
  watch: 'GET',
  get: 'GET',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
} as const

/** Most bytes of an error's body that are read: a conflict and an invalid object name each field. */
const MAX_STATUS_BYTES = 4 * 1024 * 1024
/** Most bytes of a response that is read as a whole. */
const MAX_JSON_BYTES = 32 * 1024 * 1024
/** The longest wait for credentials, in milliseconds: a user may have to log in. */
const CREDENTIALS_MS = 60_000
/** A TCP connection without data is probed after this number of milliseconds. */
const KEEP_ALIVE_MS = 15_000

/** The connections of one list or watch, with a deadline on each step. Methods reject with a SourceError. */
export class ApiSession {
  readonly #credentials: Credentials
  readonly #options: ApiSessionOptions
  readonly #agents: { readonly http: HttpAgent; readonly https: HttpsAgent }
  readonly #scope: DeadlineScope
  /** The cluster of the last successful response. The credentials may point to another cluster by now. */
  clusterId: string | undefined

  constructor(credentials: Credentials, options: ApiSessionOptions) {
    options.signal.throwIfAborted()
    this.#credentials = credentials
    this.#options = options
    const { maxSockets = 4 } = options
    this.#agents = { http: newAgent(HttpAgent, maxSockets), https: newAgent(HttpsAgent, maxSockets) }
    this.#scope = new DeadlineScope(options)
  }

  get clock(): Clock {
    return this.#options.clock
  }

  assertOpen(): void {
    this.#options.retryAfter?.assertOpen(this.clock.now())
  }

  /** Returns the body of a successful response. If the credentials are rejected (401), retries once with new ones. */
  async open(request: ApiRequest): Promise<ResponseBody> {
    const access = await this.#access()
    try {
      return await this.#trySend(access, request)
    } catch (error) {
      if (apiStatusIn(error)?.code !== 401) throw error
      this.#credentials.renew(access)
      return await this.#trySend(await this.#access(), request)
    }
  }

  /**
   * Sends a request. If the connection fails or the user is forbidden, the next request reads the credentials again. If
   * the client certificate is refused or has expired, the next request uses new credentials.
   */
  async #trySend(access: Access, request: ApiRequest): Promise<ResponseBody> {
    try {
      return await this.#send(access, request)
    } catch (error) {
      const code = apiStatusIn(error)?.code
      const isClosed = this.#scope.ending !== undefined || request.signal?.aborted === true
      if (!isClosed && code !== 401) {
        const isRefused = code === undefined && error instanceof SourceError && error.code === 'UNAUTHORIZED'
        if (isRefused || this.#flawOf(access) !== undefined) this.#credentials.renew(access)
        else if (code === undefined || code === 403) this.#credentials.reload(access)
      }
      throw error
    }
  }

  async json(request: ApiRequest): Promise<unknown> {
    const body = await this.open(request)
    const text = await this.#readText(body, MAX_JSON_BYTES)
    try {
      return parseJson(text)
    } catch (error) {
      throw refused('the answer is not JSON: is this the API server of a Kubernetes cluster?', error)
    }
  }

  /** Returns the data that has arrived, undefined at the end of the body, or `IDLE` after `ms` without data. */
  async take(
    body: ResponseBody,
    ms: number = this.#options.timeoutMs,
  ): Promise<readonly Buffer[] | undefined | typeof IDLE> {
    try {
      if (this.#scope.ending !== undefined) throw this.#scope.ending
      return await body.take(ms)
    } catch (error) {
      throw connectionError(error, 'the server')
    }
  }

  /** Resolves after `ms`. Rejects if the session is closed. */
  sleep(ms: number): Promise<void> {
    return this.#scope.race(new Promise<void>(() => {}), { ms, late: () => {} })
  }

  /** Waits for credentials, which has a longer deadline than the server's answers. */
  #access(): Promise<Access> {
    const access = this.#credentials.access(this.clock.now())
    return this.#scope.race(access, {
      ms: CREDENTIALS_MS,
      late: () => {
        this.#credentials.abandon(access)
        const why = "the exec plugin of the current context's user, or the kubeConfig function, is still at work"
        throw new SourceError(`no credentials for ${CREDENTIALS_MS / 1_000} s: ${why}`, { code: 'UNAUTHORIZED' })
      },
    })
  }

  #flawOf({ options }: Access, now: number = wallNowOf(this.clock)): string | undefined {
    return certificateFlaw(options.cert, now)
  }

  #stallError(): SourceError {
    return unavailable(`no answer for ${Math.round(this.#options.timeoutMs)} ms`)
  }

  close(): void {
    this.#scope.end(ABORTED)
    this.#agents.http.destroy()
    this.#agents.https.destroy()
  }

  async #send(access: Access, request: ApiRequest): Promise<ResponseBody> {
    const { clock, retryAfter } = this.#options
    const response = await this.#exchange(access, request)
    const body = new ResponseBody(response, clock)
    response.once(
      'close',
      this.#scope.onEnd((error) => body.destroy(error)),
    )
    // The session was closed while the response arrived.
    if (this.#scope.ending !== undefined) body.destroy(this.#scope.ending)
    const code = response.statusCode ?? 0
    const { 'content-encoding': encoding = 'identity', location, date } = response.headers
    const isCompressed = encoding !== 'identity'
    const isSuccess = code === 200 || (code === 201 && (request.verb === 'create' || request.verb === 'patch'))
    if (isSuccess && isCompressed) {
      body.destroy(ABORTED)
      const message = `the answer is compressed (${encoding.slice(0, 40)}), although it was requested uncompressed: a proxy before the server must not compress`
      throw refused(message)
    }
    if (isSuccess) {
      this.clusterId = access.clusterId
      return body
    }
    const bytes = await this.#readText(body, MAX_STATUS_BYTES)
    const text = isCompressed ? '' : bytes
    const status = statusOf(parsed(text), code)
    const serverNow = Date.parse(date ?? '') || wallNowOf(clock)
    const retryAfterMs = retryAfterMsOf(response.headers['retry-after'], serverNow) ?? status.retryAfterMs
    const isPlain = status.message === '' && text !== ''
    const plain = isPlain ? `HTTP status ${code}: ${text.slice(0, 200).trim()}` : status.message
    const message =
      location === undefined
        ? plain
        : `HTTP status ${code}: a redirect to ${location.slice(0, 200)}, which is not followed`
    // A reverse proxy that requires client certificates answers 400 if one has expired.
    const flaw = code === 401 || code === 400 ? this.#flawOf(access, serverNow) : undefined
    const error = apiError({ ...status, code, message, retryAfterMs }, request, flaw)
    retryAfter?.observe(error, clock.now())
    throw error
  }

  async #exchange(
    access: Access,
    { path, accept, verb, body, contentType = 'application/json', signal }: ApiRequest,
  ): Promise<IncomingMessage> {
    const { server, options, proxy, proxyUrl } = access
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const content = body === undefined ? undefined : JSON.stringify(body)
    const isSecure = server.protocol === 'https:'
    const host = server.hostname.replace(/^\[|\]$/g, '')
    const base = server.pathname.replace(/\/+$/, '')
    const request = (isSecure ? httpsRequest : httpRequest)({
      ...options,
      host,
      port: server.port === '' ? (isSecure ? 443 : 80) : server.port,
      path: base + path,
      method: METHODS[verb],
      ...(signal === undefined ? {} : { signal }),
      agent: withTimeout(proxy, this.#options.timeoutMs) ?? (isSecure ? this.#agents.https : this.#agents.http),
      // Only the proxy's agent can close the connection it opens. It does so after this time without an answer.
      ...(proxy === undefined ? {} : { timeout: this.#options.timeoutMs }),
      // An agent for SOCKS does not pass the host to TLS, and an address is not a TLS server name. Node would compare
      // the certificate with "localhost".
      ...(proxy === undefined || isIP(host) === 0 || options.servername !== undefined
        ? {}
        : {
            checkServerIdentity: (_name: string, certificate: PeerCertificate) =>
              checkServerIdentity(host, certificate),
          }),
      headers: {
        ...options.headers,
        accept: accept ?? 'application/json',
        'accept-encoding': 'identity',
        'user-agent': 'listwatch',
        // Node sets no length for the body of a DELETE.
        ...(content === undefined ? {} : { 'content-type': contentType, 'content-length': Buffer.byteLength(content) }),
      },
    })
    request.once('response', resolve)
    // An agent for SOCKS would also end a connection that is silent later: it listens for that after this event.
    request.once('proxy', ({ socket }: { readonly socket: Socket }) => {
      void Promise.resolve().then(() => socket.removeAllListeners('timeout'))
    })
    // Later errors of the connection also reach the body.
    request.on('error', (error) => reject(connectionError(error, server.host, proxyUrl, this.#flawOf(access))))
    request.once('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS))
    request.end(content)
    try {
      return await this.#scope.race(promise, {
        ms: this.#options.timeoutMs,
        late: () => {
          throw this.#stallError()
        },
      })
    } catch (error) {
      request.destroy()
      throw error
    }
  }

  /** Reads a whole body within `timeoutMs`, however slowly its parts arrive. */
  async #readText(body: ResponseBody, maxBytes: number): Promise<string> {
    const { clock, timeoutMs } = this.#options
    const due = clock.now() + timeoutMs
    const chunks: Buffer[] = []
    let bytes = 0
    for (;;) {
      const taken = await this.take(body, Math.max(0, due - clock.now()))
      if (taken === undefined) break
      if (taken === IDLE) {
        body.destroy(ABORTED)
        throw this.#stallError()
      }
      chunks.push(...taken)
      bytes += taken.reduce((sum, { length }) => sum + length, 0)
      if (bytes > maxBytes) {
        body.destroy(ABORTED)
        break
      }
    }
    return Buffer.concat(chunks).toString()
  }
}

/** The agent of a proxy. One for SOCKS has no other limit for the answer of the proxy, and may be the user's own. */
function withTimeout(proxy: HttpAgent | undefined, ms: number): HttpAgent | undefined {
  return proxy !== undefined && 'shouldLookup' in proxy ? Object.create(proxy, { timeout: { value: ms } }) : proxy
}

function newAgent<A extends HttpAgent>(Agent: new (options: object) => A, maxSockets: number): A {
  return new Agent({ keepAlive: true, maxSockets })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
