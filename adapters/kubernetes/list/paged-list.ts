import type { Clock } from '../../../src/contract/clock.js'
import { messageOf, SourceError } from '../../../src/contract/errors.js'
import type { Random } from '../../../src/contract/random.js'
import type { Invalid, ListPage, Put } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { propertiesOf } from '../../common/properties.js'
import type { Decoder } from '../decode/decoder.js'
import { JsonListSplitter } from '../decode/json-list-splitter.js'
import { assertResourceVersion } from '../history/resource-version.js'
import { MAX_OUTAGE_MS } from '../history/resume-guard.js'
import { apiError, apiStatusIn, statusOf } from '../http/api-error.js'
import type { ApiRequests } from '../http/api-requests.js'
import type { ApiRequest, ApiSession } from '../http/api-session.js'
import { IDLE } from '../http/response-body.js'

export interface PagedListOptions<T> {
  readonly session: ApiSession
  readonly requests: ApiRequests
  readonly decoder: Decoder<T>
  /** Most objects that one request returns; undefined: all. */
  readonly limit: number | undefined
  /** Reduces the size of pages that break off. */
  readonly pageLimit: PageLimit
  /** Most objects of a page that is yielded. */
  readonly pageSize: number
  readonly metadataOnly: boolean
  readonly maxObjectBytes: number
  readonly random: Random
  /** Called if a page fails, before it is requested again. */
  onPageError(error: unknown): void
  /** Throws `EPOCH_CHANGED` if the server's history ends before this version. */
  assertHistory(version: Version): Promise<unknown>
}

/**
 * Reads a list page by page. Each response is split into objects as it arrives, and never held as a whole. A failed
 * page is requested again, and its events are yielded again: the token identifies the same snapshot.
 */
export async function* readPages<T>(options: PagedListOptions<T>): AsyncGenerator<ListPage<T>> {
  const { session, requests, limit, pageLimit, metadataOnly, random, onPageError, assertHistory } = options
  let snapshot: Version = ''
  let failures = 0
  /** When the first of the consecutive failures happened. */
  let failedAt = 0
  for (let token = ''; ; ) {
    const request = requests.list({ limit: pageLimit.of(limit), continue: token }, metadataOnly)
    let read: PageEnd<T>
    try {
      // A restored server that has passed the snapshot's version would answer with objects of another history.
      if (failures > 0 && snapshot !== '') await assertHistory(snapshot)
      read = yield* readPage(request, options)
    } catch (error) {
      // The first page loses nothing: the core lists again.
      if (token === '') throw error
      onPageError(error)
      const now = session.clock.now()
      if (failures === 0) failedAt = now
      await session.sleep(retryDelayMs(error, failures, now - failedAt, random))
      failures++
      continue
    }
    failures = 0
    if (snapshot !== '' && read.version !== snapshot) {
      const message = `a page of the list has the version ${read.version}, and the first one ${snapshot}`
      throw new SourceError(message, { code: 'VERSION_EXPIRED' })
    }
    snapshot = read.version
    pageLimit.recordSuccess()
    const { events, version, next, remaining } = read
    if (next !== '' && next === token) throw new SourceError('a page of the list leads to itself', { code: 'PROTOCOL' })
    token = next
    if (token === '') {
      assertResourceVersion(version)
      yield { events, version }
      return
    }
    yield remaining === undefined ? { events } : { events, remaining }
  }
}

interface PageEnd<T> {
  readonly events: (Put<T> | Invalid)[]
  readonly version: string
  readonly next: string
  readonly remaining: number | undefined
}

async function* readPage<T>(
  request: ApiRequest,
  { session, decoder, pageLimit, pageSize, maxObjectBytes }: PagedListOptions<T>,
): AsyncGenerator<ListPage<T>, PageEnd<T>> {
  const body = await session.open(request)
  let events: (Put<T> | Invalid)[] = []
  const splitter = new JsonListSplitter(
    {
      item: (bytes, shape) => events.push(decoder.item(bytes, shape)),
      tryItem: (bytes) => {
        const event = decoder.tryItem(bytes)
        if (event !== undefined) events.push(event)
        return event !== undefined
      },
      tryRun: (bytes, between) => {
        const run = decoder.tryRun(bytes, between.toString())
        if (run !== undefined) events.push(...run)
        return run !== undefined
      },
    },
    maxObjectBytes,
  )
  const isFlushDue = flushPolicy(session.clock)
  try {
    for (let taken = await session.take(body); taken !== undefined; taken = await session.take(body)) {
      if (taken === IDLE) {
        body.destroy(new Error('no data arrived'))
        throw new SourceError('the list stopped in the middle: no data arrived', { code: 'UNAVAILABLE' })
      }
      for (const chunk of taken) {
        push(splitter, chunk)
        for (; events.length > pageSize; events = events.slice(pageSize)) yield { events: events.slice(0, pageSize) }
      }
      if (isFlushDue(taken)) {
        yield { events }
        events = []
      }
    }
    return { events, ...endOf(splitter, request) }
  } catch (error) {
    pageLimit.recordFailure()
    throw error
  }
}

/**
 * After this number of bytes the events are yielded, even if the page is not full. 256 large objects would need much
 * memory: V8 moves objects that live that long to its old generation, even if `transform` keeps little of them.
 */
const FLUSH_BYTES = 512 * 1024
/** A page is yielded at least that often, even an empty one: it proves that the server is reachable. */
const FLUSH_MS = 5_000

/** Returns whether to yield now, after these data have arrived. The count then restarts. */
export function flushPolicy(clock: Clock): (taken: readonly Buffer[]) => boolean {
  let bytes = 0
  let since = clock.now()
  return (taken) => {
    for (const { length } of taken) bytes += length
    const now = clock.now()
    if (bytes < FLUSH_BYTES && now - since < FLUSH_MS) return false
    bytes = 0
    since = now
    return true
  }
}

function push(splitter: JsonListSplitter, chunk: Buffer): void {
  try {
    splitter.push(chunk)
  } catch (error) {
    throw notAList(messageOf(error), error)
  }
}

function endOf(splitter: JsonListSplitter, request: ApiRequest): Omit<PageEnd<never>, 'events'> {
  let envelope: unknown
  try {
    if (!splitter.isComplete) throw new Error('it ended in the middle')
    envelope = splitter.envelope()
  } catch (error) {
    throw new SourceError(`the list is not JSON: ${messageOf(error)}`, { code: 'UNAVAILABLE', cause: error })
  }
  const { kind, items, metadata } = propertiesOf(envelope)
  if (kind === 'Status') throw apiError(statusOf(envelope), request)
  // Another document must not count as an empty list. An empty list may have null; another one an array without its
  // items. The splitter does not find items under an escaped name.
  if (items !== null && !(Array.isArray(items) && items.length === 0)) throw notAList('it has no items')
  const { resourceVersion, continue: next, remainingItemCount } = propertiesOf(metadata)
  return {
    version: typeof resourceVersion === 'string' ? resourceVersion : '',
    next: typeof next === 'string' ? next : '',
    remaining: typeof remainingItemCount === 'number' ? remainingItemCount : undefined,
  }
}

function notAList(why: string, cause?: unknown): SourceError {
  const message = `the answer is not a list of objects: ${why} (is this the API server of a Kubernetes cluster?)`
  return new SourceError(message, { code: 'PROTOCOL', cause })
}

/** After this number of halvings a page holds one object, whatever the limit was. */
const MAX_HALVINGS = 20
/** After this number of complete pages in a row a larger one is tried. */
const SUCCESSES_BEFORE_GROWTH = 8

/**
 * The number of objects that one request returns. An API server ends a response after 60 s, so that pages of large
 * objects always break off over a slow line. From the second failure on, each failure halves the number; complete pages
 * double it again.
 */
export class PageLimit {
  #halvings = 0
  #hasFailed = false
  #successes = 0

  of(limit: number | undefined): number | undefined {
    return limit === undefined ? undefined : Math.max(1, Math.floor(limit / 2 ** this.#halvings))
  }

  recordFailure(): void {
    if (this.#hasFailed) this.#halvings = Math.min(this.#halvings + 1, MAX_HALVINGS)
    this.#hasFailed = true
    this.#successes = 0
  }

  recordSuccess(): void {
    if (++this.#successes < SUCCESSES_BEFORE_GROWTH) return
    this.#successes = 0
    this.#hasFailed = false
    this.#halvings = Math.max(0, this.#halvings - 1)
  }
}

const MAX_RETRIES = 5
/** The longest first delay, in milliseconds. Each other delay is twice as long. */
const FIRST_DELAY_MS = 500
/** The longest wait for a busy server, in milliseconds: after five minutes the snapshot of the pages is gone. */
const MAX_BUSY_MS = 120_000

/**
 * The delay before a failed page is requested again, so that the pages before it are not lost. Throws the error if a
 * retry is useless, too frequent or too late.
 */
function retryDelayMs(error: unknown, failures: number, failedForMs: number, random: Random): number {
  if (!(error instanceof SourceError && error.code === 'UNAVAILABLE') || failures === MAX_RETRIES) throw error
  const ms = Math.max(error.retryAfterMs ?? 0, FIRST_DELAY_MS * 2 ** failures * (0.5 + random.next() / 2))
  const patienceMs = apiStatusIn(error)?.code === 429 ? MAX_BUSY_MS : MAX_OUTAGE_MS
  if (failedForMs + ms > patienceMs) throw error
  return ms
}
