import { parseJson } from '../../adapters/common/json-depth.js'
import { type Properties, propertiesOf } from '../../adapters/common/properties.js'
import { MAX_RETRY_AFTER_MS, retryAfterMsOf } from '../../adapters/common/retry-after.js'
import { systemClock, wallNowOf } from '../../src/contract/clock.js'
import { messageWithCause, OptionError, SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import { unlessAborted } from '../../src/util/abort-listeners.js'
import { serverSentEvents } from './event-stream.js'
import type { HttpSourceOptions, RequestHeaders } from './http-options.js'
import { notServed, UNKNOWN_FEED } from './http-version.js'
import { randomId } from './random-id.js'
import { type ReceivedResponse, type SendRequest, textOf } from './received-response.js'

/** A balancer may pass a request to other servers. It is repeated up to this often for each server that has answered. */
const TRIES_FOR_EACH_SERVER = 8
/** The most bytes of a response that are read at once. A version has at most 64 KiB, and JSON may double it. */
const MAX_BODY_BYTES = 256 * 1024
/** The most characters of a text that refuses a request in an error. */
const MAX_REASON_LENGTH = 200

export class MirrorRequests {
  readonly #base: string
  readonly #query: string
  readonly #headers: HttpSourceOptions['headers']
  readonly #send: SendRequest
  readonly #codeOfOtherFeed: SourceErrorCode

  constructor(url: URL, headers: HttpSourceOptions['headers'], send: SendRequest, codeOfOtherFeed: SourceErrorCode) {
    this.#base = url.origin + url.pathname.replace(/\/$/, '')
    this.#query = url.search.slice(1)
    this.#headers = headers
    this.#send = send
    this.#codeOfOtherFeed = codeOfOtherFeed
  }

  /** Repeats a request until the server of its feed answers, because a balancer selects a server for each request. */
  async ofFeed<R>(request: () => Promise<R>): Promise<R> {
    const others = new Set<unknown>()
    for (let tries = 1; ; tries++) {
      try {
        return await request()
      } catch (error) {
        if (!(error instanceof OtherFeed)) throw error
        others.add(error.feed)
        if (tries >= TRIES_FOR_EACH_SERVER * others.size) throw error
      }
    }
  }

  /** Yields the events of a response, of which `begin` is the first one, or undefined for a piece of one. */
  async *events(
    address: string,
    signal: AbortSignal,
  ): AsyncGenerator<{ readonly type: string; readonly fields: Properties } | undefined> {
    const id = randomId()
    const response = await this.ofFeed(() => this.#request(address, id, 'text/event-stream', signal))
    if (response.body === null) throw notServed('an event stream')
    let hasBegun = false
    try {
      for await (const received of serverSentEvents(response.body)) {
        if (received === undefined) {
          yield undefined
          continue
        }
        const { type } = received
        const fields = propertiesOf(parseJson(received.data))
        if (!hasBegun && type !== 'error') {
          if (type !== 'begin') throw notServed('an event stream')
          assertAnswerTo(id, fields, address)
          hasBegun = true
        }
        yield { type, fields }
      }
    } catch (thrown) {
      throw this.#failed(thrown, signal)
    }
  }

  async json(address: string, signal: AbortSignal): Promise<Properties> {
    const id = randomId()
    const response = await this.#request(address, id, 'application/json', signal)
    try {
      const { text, isWhole } = await textOf(response, MAX_BODY_BYTES)
      if (!isWhole) {
        const message = `GET ${pathOf(address)} was answered with more than ${MAX_BODY_BYTES} bytes, which is the limit`
        throw new SourceError(message, { code: 'PROTOCOL' })
      }
      const fields = propertiesOf(parseJson(text))
      assertAnswerTo(id, fields, address)
      return fields
    } catch (thrown) {
      throw this.#failed(thrown, signal)
    }
  }

  /** Each request has an address of its own, so that no cache answers it. */
  async #request(address: string, id: string, type: string, signal: AbortSignal): Promise<ReceivedResponse> {
    signal.throwIfAborted()
    const given = this.#headers
    // A function of the user may never end.
    const own = typeof given === 'function' ? await unlessAborted(signal, given) : given
    const headers = own === undefined ? { accept: type } : withHeader(own, 'accept', type)
    const query = `${address.includes('?') ? '&' : '?'}request=${id}${this.#query === '' ? '' : `&${this.#query}`}`
    let response: ReceivedResponse
    try {
      response = await this.#send(this.#base + address + query, { headers, signal, cache: 'no-store' })
    } catch (thrown) {
      throw this.#failed(thrown, signal)
    }
    if (!response.ok) throw await this.#refusal(response, address)
    const received = response.headers.get('content-type') ?? ''
    if (received.startsWith(type)) return response
    void response.body?.cancel().catch(() => {})
    const message = `the response has the content type "${received}" instead of "${type}"; is serveHttp at ${this.#base}?`
    throw new SourceError(message, { code: 'PROTOCOL' })
  }

  async #refusal(response: ReceivedResponse, address: string): Promise<SourceError> {
    const { status } = response
    const { error, code: codeOfServer, feed } = await refusalIn(response)
    const code = this.#codeOf(status, codeOfServer)
    const text = typeof error === 'string' && error !== '' ? `: ${error}` : ''
    const now = Date.parse(response.headers.get('date') ?? '') || wallNowOf(systemClock)
    const retryAfterMs = Math.min(retryAfterMsOf(response.headers.get('retry-after'), now) ?? 0, MAX_RETRY_AFTER_MS)
    const hint = this.#hintFor(code)
    const message = `GET ${pathOf(address)} was answered with status ${status}${text}${hint}`
    if (codeOfServer === UNKNOWN_FEED) return new OtherFeed(message, code, feed)
    return new SourceError(message, { code, retryAfterMs })
  }

  #hintFor(code: SourceErrorCode): string {
    if (code === 'UNAUTHORIZED') return ' (check the option headers, and "scope" of the server)'
    return code === 'NOT_FOUND' ? `; is serveHttp at ${this.#base}?` : ''
  }

  #codeOf(status: number, code: unknown): SourceErrorCode {
    if (status === 401 || status === 403) return 'UNAUTHORIZED'
    if (status === 404) return 'NOT_FOUND'
    if (status === 410 && code === UNKNOWN_FEED) return this.#codeOfOtherFeed
    if (status === 410 && (code === 'VERSION_EXPIRED' || code === 'EPOCH_CHANGED')) return code
    return status >= 500 || status === 408 || status === 410 || status === 425 || status === 429
      ? 'UNAVAILABLE'
      : 'PROTOCOL'
  }

  #failed(thrown: unknown, signal: AbortSignal): unknown {
    if (thrown instanceof SourceError || thrown instanceof OptionError || signal.aborted) return thrown
    return new SourceError(`the request to ${this.#base} failed: ${messageWithCause(thrown)}`, {
      code: 'UNAVAILABLE',
      cause: thrown,
    })
  }
}

function withHeader(own: RequestHeaders, name: string, value: string): Headers {
  const headers = new Headers(own)
  headers.set(name, value)
  return headers
}

export class OtherFeed extends SourceError {
  readonly feed: unknown

  constructor(message: string, code: SourceErrorCode, feed: unknown) {
    super(message, { code })
    this.feed = feed
  }
}

/** Throws if the answer is not one to this request. A follower that took an earlier list would go back. */
function assertAnswerTo(id: string, { request }: Properties, address: string): void {
  if (request === id) return
  if (request === undefined) throw notServed('an answer to this request')
  const message =
    `GET ${pathOf(address)} received the answer to another request: a proxy or a \`fetch\` repeats answers that have ` +
    '"cache-control: no-store"; switch its cache off for this address'
  throw new SourceError(message, { code: 'PROTOCOL' })
}

function pathOf(address: string): string {
  return address.replace(/\?.*/, '')
}

/** Returns the reason of a refusal: that of `serveHttp` is JSON, one of a gateway or of `scope` may be plain text. */
async function refusalIn(response: ReceivedResponse): Promise<Readonly<Record<string, unknown>>> {
  try {
    const { text } = await textOf(response, MAX_BODY_BYTES)
    if (response.headers.get('content-type')?.startsWith('text/plain') !== true) return Object(JSON.parse(text))
    return { error: text.trim().slice(0, MAX_REASON_LENGTH) }
  } catch {
    return {} // Its body is something else, is too long, or has broken off.
  }
}
