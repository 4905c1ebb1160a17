import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { SourceError } from '../src/contract/errors.js'
import type { Informer } from '../src/informer/informer-types.js'
import { measurementsOf } from '../telemetry/metrics.js'
import { METRICS_CONTENT_TYPE, metricsText } from '../telemetry/prometheus/index.js'
import { InformerPage } from './informer-page.js'
import type { ShownChange } from './recent-changes.js'

export class ApiError extends Error {
  readonly status: 400 | 404 | 409

  constructor(status: 400 | 404 | 409, message: string) {
    super(message)
    this.status = status
  }
}

const SAMPLE_MS = 1_000
const CHANGES_MS = 100
const MAX_CHANGES = 200
const MAX_ROWS = 500
/** Parameters of /api/objects that are not names of indexes. An index of such a name needs the prefix. */
const PARAMETERS = ['informer', 'q', 'offset', 'limit', 'sort', 'field']
const MAX_FIELDS = 50
const INDEX_PREFIX = /^by\./

export class InspectorApi {
  readonly #pages: ReadonlyMap<string, InformerPage>
  readonly #closing = new AbortController()

  constructor(informers: Iterable<Informer<unknown, object>>, showsSecrets: boolean) {
    const pages = new Map<string, InformerPage>()
    this.#pages = pages
    try {
      for (const informer of new Set(informers)) {
        measurementsOf('serveInspector', informer) // Throws a TypeError for another value.
        pages.set(informer.name, new InformerPage(informer, showsSecrets))
      }
    } catch (error) {
      void this.close()
      throw error
    }
  }

  async answer(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = url
    if (pathname === '/api/informers') return send(response, this.#informers())
    if (pathname === '/metrics') {
      const text = metricsText(Array.from(this.#pages.values(), ({ informer }) => informer))
      response.setHeader('Content-Type', METRICS_CONTENT_TYPE).end(text)
      return
    }
    const page = this.#pageOf(searchParams)
    if (pathname === '/api/status') return send(response, page.informer.inspect())
    if (pathname === '/api/facets') return send(response, await page.queries.facets(this.#endOf(response)))
    if (pathname === '/api/fields') return send(response, await page.queries.fields(this.#endOf(response)))
    if (pathname === '/api/objects') return send(response, await this.#objects(page, searchParams, response))
    if (pathname === '/api/object') return send(response, page.object(searchParams.get('key') ?? ''))
    if (pathname === '/api/digests') return this.#digests(page, searchParams, response)
    if (pathname === '/api/changes') return this.#stream(page, searchParams, request, response)
    throw new ApiError(404, `there is no ${pathname}`)
  }

  /** Ends the event streams and the subscriptions of the inspector. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all(Array.from(this.#pages.values(), (page) => page.changes.close()))
  }

  #informers(): object[] {
    return Array.from(this.#pages, ([name, page]) => ({
      name,
      indexes: Object.keys(page.informer.by),
      ...page.sample(),
    }))
  }

  #pageOf(parameters: URLSearchParams): InformerPage {
    const names = [...this.#pages.keys()]
    const name = parameters.get('informer') ?? (names.length === 1 ? names[0] : undefined)
    if (name === undefined) throw new ApiError(400, `the parameter "informer" must be one of ${names.join(', ')}`)
    const page = this.#pages.get(name)
    if (page === undefined) throw new ApiError(404, `there is no informer "${name}"; there are ${names.join(', ')}`)
    return page
  }

  async #objects(page: InformerPage, parameters: URLSearchParams, response: ServerResponse): Promise<object> {
    const offset = wholeNumber(parameters, 'offset', 0)
    const limit = Math.min(wholeNumber(parameters, 'limit', 100), MAX_ROWS)
    const values = new Map<string, string>()
    for (const [name, value] of parameters) {
      if (name !== 'field' && parameters.getAll(name).length > 1)
        throw new ApiError(400, `the parameter "${name}" is given more than once`)
      if (!PARAMETERS.includes(name)) values.set(name.replace(INDEX_PREFIX, ''), value)
    }
    const fields = parameters.getAll('field')
    if (fields.length > MAX_FIELDS) throw new ApiError(400, `at most ${MAX_FIELDS} parameters "field" are allowed`)
    const query = { text: parameters.get('q') ?? '', values, sort: parameters.get('sort') ?? '' }
    return page.rows(query, fields, offset, limit, this.#endOf(response))
  }

  /** Sends lines of JSON: the position of the store, then each object. */
  async #digests(page: InformerPage, parameters: URLSearchParams, response: ServerResponse): Promise<void> {
    const signal = this.#endOf(response)
    response.setHeader('Content-Type', 'application/x-ndjson; charset=utf-8')
    try {
      for await (const lines of page.digests(parameters.get('reached') ?? undefined, signal))
        if (!response.write(lines)) await once(response, 'drain', { signal })
    } catch (error) {
      throw error instanceof SourceError ? new ApiError(409, error.message) : error
    }
    response.end()
  }

  /** Returns a signal that aborts when the client has gone away or the inspector closes. */
  #endOf(response: ServerResponse): AbortSignal {
    const ended = new AbortController()
    response.once('close', () => ended.abort())
    return AbortSignal.any([ended.signal, this.#closing.signal])
  }

  /** Sends changes and samples as server-sent events. An event's id is the number of its last change. */
  #stream(page: InformerPage, parameters: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
    const resumed = request.headers['last-event-id']
    const wanted = resumed === undefined ? wholeNumber(parameters, 'after', 0) : Number(resumed) || 0
    let sent = wanted > page.changes.count ? 0 : wanted // A larger number is of an earlier run.
    let timer: NodeJS.Timeout | undefined
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' })
    const flush = (): void => {
      timer = undefined
      // A reader that is too slow skips changes instead of filling the memory.
      if (response.writableNeedDrain) return
      const changes: readonly ShownChange[] = page.changes.after(sent, MAX_CHANGES)
      sent = changes.at(-1)?.number ?? sent
      try {
        if (changes.length > 0) response.write(`id: ${sent}\nevent: changes\ndata: ${JSON.stringify(changes)}\n\n`)
      } catch {} // They are too large for a string: the reader skips them.
    }
    const sample = (): void => {
      if (!response.writableNeedDrain) response.write(`event: sample\ndata: ${JSON.stringify(page.sample())}\n\n`)
      timer ??= setTimeout(flush, 0)
    }
    const stop = page.changes.listen(() => {
      timer ??= setTimeout(flush, CHANGES_MS)
    })
    const sampling = setInterval(sample, SAMPLE_MS)
    const end = (): void => {
      stop()
      clearInterval(sampling)
      clearTimeout(timer)
      response.end()
    }
    this.#endOf(response).addEventListener('abort', end, { once: true })
    sample()
  }
}

function wholeNumber(parameters: URLSearchParams, name: string, fallback: number): number {
  const text = parameters.get(name)
  if (text === null) return fallback
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 0 && text.trim() !== '') return number
  throw new ApiError(400, `the parameter "${name}" must be a whole number, got "${text}"`)
}

function send(response: ServerResponse, body: unknown): void {
  response.setHeader('Content-Type', 'application/json; charset=utf-8')
  response.end(`${JSON.stringify(body)}\n`)
}
