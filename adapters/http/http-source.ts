import { systemClock, wallNowOf } from '../../src/contract/clock.js'
import { messageWithCause, OptionError, SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import {
  DEFAULT_HEARTBEAT_MS,
  type ListContext,
  type ListEvent,
  type ListPage,
  type SourceContext,
  type WatchBatch,
  type WatchContext,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import {
  checkOptions,
  isFunction,
  isName,
  isObject,
  isPositive,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import { OwnSignal, withOwnSignal } from '../shared/own-signal.js'
import { propertiesOf } from '../shared/properties.js'
import { MAX_RETRY_AFTER_MS, retryAfterMsOf } from '../shared/retry-after.js'
import { isUpstream, type UpstreamVersions } from '../shared/upstream-versions.js'
import { EndedEpochs } from './ended-epoch.js'
import { eventsIn } from './event-json.js'
import { serverSentEvents } from './event-stream.js'
import type { HttpSource, HttpSourceOptions, RequestHeaders } from './http-options.js'
import {
  type HttpVersion,
  hasReached,
  isLaterEpoch,
  notServed,
  parseVersion,
  receivedVersion,
  resumePoint,
  UNKNOWN_FEED,
} from './http-version.js'
import type { ReceivedResponse, SendRequest } from './received-response.js'

/** How many chunks of a list are requested at a time. */
const CHUNK_REQUESTS = 4
/** The most characters of a text that refuses a request in an error. */
const MAX_REASON_LENGTH = 200

/**
 * Returns a source that follows an informer of another process, which `serveMirror` serves. It runs in Node and in
 * browsers.
 *
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError for a wrong option.
 *
 * @example
 * ```ts
 * import { httpSource } from 'listwatch/http'
 *
 * const orders = createInformer({ source: httpSource<Order>({ url: 'https://api.example/mirror/orders' }) })
 * await orders.start().synced()
 * ```
 */
export function httpSource<T>(options: HttpSourceOptions): HttpSource<T> {
  checkOptions('httpSource', options, {
    url: isUrl,
    name: isName,
    headers: (value) => (typeof value === 'function' ? undefined : isObject(value)),
    fetch: isFunction,
    heartbeatMs: isPositive,
    upstream: isUpstream,
  })
  if (options?.url === undefined) throw new OptionError('httpSource: option "url" is missing', { option: 'url' })
  const send = options.fetch ?? ((address: string, init: RequestInit) => globalThis.fetch(address, init))
  return new Http<T>(options, send)
}

/** @internal Returns a source over another transport than HTTP. The options were checked. */
export function sourceOver<T>(send: SendRequest, options: Omit<HttpSourceOptions, 'fetch'>): HttpSource<T> {
  return new Http<T>(options, send)
}

const isUrl: OptionCheck = (value) => {
  const url = typeof value === 'string' || value instanceof URL ? String(value) : ''
  return URL.canParse(url) && /^https?:/.test(url) ? undefined : 'must be an address with http: or https:'
}

class Http<T> implements HttpSource<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly #base: string
  readonly #query: string
  readonly #headers: HttpSourceOptions['headers']
  readonly #send: SendRequest
  readonly #upstream: UpstreamVersions | undefined
  readonly #endedEpochs: EndedEpochs

  constructor(
    { url, name, headers, heartbeatMs = DEFAULT_HEARTBEAT_MS, upstream }: Omit<HttpSourceOptions, 'fetch'>,
    send: SendRequest,
  ) {
    const { origin, pathname, host, search } = new URL(url)
    const path = pathname.replace(/\/$/, '')
    this.#base = origin + path
    this.#query = search.slice(1)
    this.name = name ?? `http:${host}${path}`
    this.heartbeatMs = heartbeatMs
    this.#headers = headers
    this.#send = send
    this.#upstream = upstream
    this.#endedEpochs = new EndedEpochs(upstream)
  }

  list(context: ListContext): AsyncIterable<ListPage<T>> {
    return withOwnSignal(context.signal, (own) => this.#list(context, own.signal))
  }

  watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    return withOwnSignal(context.signal, (own) => this.#watch(context, own.signal))
  }

  async head({ signal }: SourceContext): Promise<Version> {
    const own = new OwnSignal(signal)
    try {
      return await this.#version(own.signal)
    } finally {
      own.end()
    }
  }

  hasReached(at: Version, mark: Version): boolean {
    return hasReached(at, mark, this.#upstream)
  }

  isLaterEpoch(at: Version, mark: Version): boolean {
    return isLaterEpoch(at, mark, this.#upstream)
  }

  async *#list(context: ListContext, signal: AbortSignal): AsyncGenerator<ListPage<T>> {
    const description = await this.#json(`/list${this.#endedEpochs.queryFor(context)}`, signal)
    const { version, chunks, changes, hasEnded } = description
    const listed = receivedVersion(version, 'a list')
    this.#endedEpochs.assertSameEpoch(String(version), context)
    if (hasEnded !== true) this.#endedEpochs.assertNotBehind(listed, context)
    const { after, until } = propertiesOf(changes)
    const from = receivedVersion(after, 'a list')
    if (!Array.isArray(chunks) || typeof until !== 'number') throw notServed('a list')
    const pages: Promise<readonly ListEvent<T>[]>[] = []
    for (let at = 0; at < chunks.length; at++) {
      for (let next = pages.length; next < Math.min(at + CHUNK_REQUESTS, chunks.length); next++) {
        const page = this.#chunk(String(chunks[next]), signal)
        page.catch(() => {}) // It is awaited below, or the list has failed.
        pages.push(page)
      }
      yield { events: (await pages[at]) ?? [] }
      pages[at] = Promise.resolve([])
    }
    if (from.sequence !== until) {
      let reached = String(after)
      try {
        for await (const batch of this.#batches(from, signal, { until })) {
          yield { events: batch.events }
          reached = batch.version
        }
      } catch (error) {
        throw this.#endedEpochs.ended(error, context, from.feed, context.floor)
      }
      // A body that ends early is not an error of every connection.
      if (parseVersion(reached)?.sequence !== until)
        throw new SourceError('the changes of a list ended early', { code: 'UNAVAILABLE' })
    }
    yield { events: [], version: String(version) }
  }

  async *#watch(context: WatchContext, signal: AbortSignal): AsyncGenerator<WatchBatch<T>> {
    const position = parseVersion(context.after)
    if (position === undefined) throw new SourceError('the version is not one of an HTTP source', { code: 'PROTOCOL' })
    this.#endedEpochs.watching(context)
    let at = context.after
    try {
      for await (const batch of this.#followed(context, position, signal)) {
        at = batch.version
        yield batch
      }
    } catch (error) {
      throw this.#endedEpochs.ended(error, context, position.feed, at)
    }
  }

  async *#followed(context: WatchContext, position: HttpVersion, signal: AbortSignal): AsyncGenerator<WatchBatch<T>> {
    let at = context.after
    // A snapshot is followed by the changes since it was packed, as one batch.
    const until = context.isUnconfirmed === true ? Number(context.resumeState ?? 0) : 0
    const isAtSnapshot = until > position.sequence
    const batches = this.#batches(position, signal, isAtSnapshot ? {} : { resumed: at })
    if (isAtSnapshot) {
      const caughtUp = await mergedUntil(batches, until)
      if (caughtUp === undefined) return
      at = caughtUp.version
      yield caughtUp
    }
    let next: ReturnType<typeof batches.next> | undefined
    let answer: (mirror: { readonly version: Version | undefined }) => void = () => {}
    context.onProgressRequest(() => {
      this.#version(signal).then(
        (version) => answer({ version }),
        () => answer({ version: undefined }), // The reader continues to wait.
      )
    })
    for (;;) {
      next ??= batches.next()
      const answered = new Promise<{ readonly version: Version | undefined }>((resolve) => {
        answer = resolve
      })
      const first = await Promise.race([next, answered])
      if ('version' in first) {
        // If the watch has reached the version of the mirror, no batch will report it.
        if (first.version !== undefined && this.hasReached(at, first.version)) yield { events: [], version: at }
        continue
      }
      next = undefined
      if (first.done === true) return
      at = first.value.version
      yield first.value
    }
  }

  async #version(signal: AbortSignal): Promise<Version> {
    const { version } = await this.#json('/version?fresh', signal)
    receivedVersion(version, 'a version')
    return String(version)
  }

  /**
   * Yields the batches after a version, up to the sequence `until`. If the server accepts it, the first one is a
   * bookmark at `resumed`. While a batch arrives, each of its pieces is a bookmark, so that the watch is not silent.
   */
  async *#batches(
    after: HttpVersion,
    signal: AbortSignal,
    { until, resumed }: { readonly until?: number; readonly resumed?: Version },
  ): AsyncGenerator<{ events: ListEvent<T>[]; version: Version }> {
    const end = until === undefined ? '' : `&until=${until}`
    const address = `/watch?after=${encodeURIComponent(resumePoint(after))}${end}`
    const response = await this.#request(address, 'text/event-stream', signal)
    if (response.body === null) throw notServed('an event stream')
    if (resumed !== undefined) yield { events: [], version: resumed }
    /** The events of a batch that arrives in parts. */
    let parts: ListEvent<T>[] = []
    let { sequence } = after
    let at = resumed ?? resumePoint(after)
    try {
      for await (const received of serverSentEvents(response.body)) {
        if (received === undefined) {
          yield { events: [], version: at }
          continue
        }
        const { type, data } = received
        const { version, events, code, message } = parsedJson(data)
        if (type === 'error') throw endOf(code, message)
        if (type !== 'part' && type !== 'batch') continue
        if (receivedVersion(version, 'a batch').sequence !== ++sequence) throw incomplete(sequence)
        const batch = eventsIn(events) as ListEvent<T>[]
        for (const event of batch) parts.push(event)
        if (type === 'batch') {
          at = String(version)
          yield { events: parts, version: at }
          parts = []
        } else yield { events: [], version: at }
      }
    } catch (thrown) {
      throw this.#failed(thrown, signal)
    }
  }

  async #chunk(name: string, signal: AbortSignal): Promise<readonly ListEvent<T>[]> {
    const response = await this.#request(`/list/${encodeURIComponent(name)}`, 'application/json', signal)
    return eventsIn(await this.#body(response, signal)) as ListEvent<T>[]
  }

  async #json(address: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    return Object(await this.#body(await this.#request(address, 'application/json', signal), signal))
  }

  async #body(response: ReceivedResponse, signal: AbortSignal): Promise<unknown> {
    try {
      return await response.json()
    } catch (thrown) {
      throw this.#failed(thrown, signal)
    }
  }

  async #request(address: string, type: string, signal: AbortSignal): Promise<ReceivedResponse> {
    signal.throwIfAborted()
    const own = typeof this.#headers === 'function' ? await this.#headers() : this.#headers
    const headers = own === undefined ? { accept: type } : withHeader(own, 'accept', type)
    const query = this.#query === '' ? '' : `${address.includes('?') ? '&' : '?'}${this.#query}`
    let response: ReceivedResponse
    try {
      response = await this.#send(this.#base + address + query, { headers, signal })
    } catch (thrown) {
      throw this.#failed(thrown, signal)
    }
    if (!response.ok) throw await this.#refusal(response, address)
    const received = response.headers.get('content-type') ?? ''
    if (received.startsWith(type)) return response
    void response.body?.cancel().catch(() => {})
    const message = `the response has the content type "${received}" instead of "${type}"; is serveMirror at ${this.#base}?`
    throw new SourceError(message, { code: 'PROTOCOL' })
  }

  /** Returns the error of a response with an error status. */
  async #refusal(response: ReceivedResponse, address: string): Promise<SourceError> {
    const { status } = response
    const { error, code: codeOfServer } = await refusalIn(response)
    const code = this.#codeOf(status, codeOfServer)
    const text = typeof error === 'string' && error !== '' ? `: ${error}` : ''
    const now = Date.parse(response.headers.get('date') ?? '') || wallNowOf(systemClock)
    const retryAfterMs = Math.min(retryAfterMsOf(response.headers.get('retry-after'), now) ?? 0, MAX_RETRY_AFTER_MS)
    const hint = this.#hintFor(code)
    return new SourceError(`GET ${address.replace(/\?.*/, '')} was answered with status ${status}${text}${hint}`, {
      code,
      retryAfterMs,
    })
  }

  #hintFor(code: SourceErrorCode): string {
    if (code === 'UNAUTHORIZED') return ' (check the option headers, and "scope" of the server)'
    return code === 'NOT_FOUND' ? `; is serveMirror at ${this.#base}?` : ''
  }

  #codeOf(status: number, code: unknown): SourceErrorCode {
    if (status === 401 || status === 403) return 'UNAUTHORIZED'
    if (status === 404) return 'NOT_FOUND'
    // With a comparison of upstream versions, another server is known to be behind or not.
    if (status === 410 && code === UNKNOWN_FEED)
      return this.#upstream === undefined ? 'EPOCH_CHANGED' : 'VERSION_EXPIRED'
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

/** Returns all batches until a sequence of the feed as one; undefined if the watch has ended before. */
async function mergedUntil<T>(
  batches: AsyncIterator<{ readonly events: readonly ListEvent<T>[]; readonly version: Version }>,
  until: number,
): Promise<WatchBatch<T> | undefined> {
  const events: ListEvent<T>[] = []
  for (;;) {
    const { done, value } = await batches.next()
    if (done === true) return undefined
    for (const event of value.events) events.push(event)
    const sequence = parseVersion(value.version)?.sequence ?? Number.POSITIVE_INFINITY
    if (sequence >= until) return { events, version: value.version }
  }
}

function withHeader(own: RequestHeaders, name: string, value: string): Headers {
  const headers = new Headers(own)
  headers.set(name, value)
  return headers
}

function parsedJson(text: string): Readonly<Record<string, unknown>> {
  return Object(JSON.parse(text))
}

/** The error with which a server ended a watch. */
function endOf(code: unknown, message: unknown): SourceError {
  const known = code === 'VERSION_EXPIRED' || code === 'EPOCH_CHANGED' ? code : 'UNAVAILABLE'
  return new SourceError(typeof message === 'string' ? message : 'the server ended the watch', { code: known })
}

/** Each frame has the next sequence. A server of another version may send some in a form that is not known here. */
function incomplete(sequence: number): SourceError {
  return new SourceError(`the changes with the sequence ${sequence} did not arrive`, { code: 'VERSION_EXPIRED' })
}

/** Returns the reason of a refusal: that of `serveMirror` is JSON, one of a gateway or of `scope` may be plain text. */
async function refusalIn(response: ReceivedResponse): Promise<Readonly<Record<string, unknown>>> {
  try {
    if (response.text === undefined || response.headers.get('content-type')?.startsWith('text/plain') !== true)
      return Object(await response.json())
    return { error: (await response.text()).trim().slice(0, MAX_REASON_LENGTH) }
  } catch {
    return {} // Its body is something else, or has broken off.
  }
}
