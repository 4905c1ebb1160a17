import { messageOf, SourceError } from '../../src/errors.js'
import type { Invalid, ListPage, Put } from '../../src/source.js'
import { apiError, statusOf } from './api-errors.js'
import { SILENCE } from './body.js'
import type { Decoder } from './decoder.js'
import { assertResourceVersion } from './kubernetes-version.js'
import { PageDue } from './page-due.js'
import type { Requests } from './request.js'
import { ListSlicer } from './slices.js'
import type { Question, Visit } from './visit.js'

export interface PagesOptions {
  /** Most objects that one request asks for; undefined: all at once. */
  readonly limit: number | undefined
  /** Most objects of a page that is told. */
  readonly pageSize: number
  readonly metadataOnly: boolean
  readonly maxObjectBytes: number
}

/** What stands around the items of a list. */
interface Envelope {
  readonly kind?: unknown
  /** What was in it is cut out. */
  readonly items?: unknown
  readonly metadata?: {
    readonly resourceVersion?: unknown
    readonly continue?: unknown
    readonly remainingItemCount?: unknown
  }
}

/** A list, page by page. Each answer is cut into objects as it comes, and none is ever in memory as a whole. */
export async function* readPages<T>(
  visit: Visit,
  requests: Requests,
  decoder: Decoder<T>,
  { limit, pageSize, metadataOnly, maxObjectBytes }: PagesOptions,
): AsyncGenerator<ListPage<T>> {
  for (let token = ''; ; ) {
    const question = requests.list({ limit, continue: token }, metadataOnly)
    const body = await visit.open(question)
    let events: (Put<T> | Invalid)[] = []
    const slicer = new ListSlicer(
      {
        item: (bytes, shape) => events.push(decoder.item(bytes, shape)),
        guess: (bytes) => {
          const event = decoder.guessedItem(bytes)
          if (event !== undefined) events.push(event)
          return event !== undefined
        },
        guessRun: (bytes, between) => {
          const run = decoder.guessedItems(bytes, between.toString())
          if (run !== undefined) events.push(...run)
          return run !== undefined
        },
      },
      maxObjectBytes,
    )
    const due = new PageDue(visit.clock)
    for (let taken = await visit.take(body); taken !== undefined; taken = await visit.take(body)) {
      if (taken === SILENCE) {
        body.destroy(new Error('no data came'))
        throw new SourceError('the list stopped in the middle: no data came', { code: 'UNAVAILABLE' })
      }
      for (const chunk of taken) {
        push(slicer, chunk)
        for (; events.length > pageSize; events = events.slice(pageSize)) yield { events: events.slice(0, pageSize) }
      }
      if (due.isNow(taken)) {
        yield { events }
        events = []
      }
    }
    const { version, next, remaining } = endOf(slicer, question)
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

function push(slicer: ListSlicer, chunk: Buffer): void {
  try {
    slicer.push(chunk)
  } catch (error) {
    throw noList(messageOf(error), error)
  }
}

function endOf(
  slicer: ListSlicer,
  question: Question,
): { version: string; next: string; remaining: number | undefined } {
  let envelope: unknown
  try {
    if (!slicer.isComplete) throw new Error('it ended in the middle')
    envelope = slicer.envelope()
  } catch (error) {
    throw new SourceError(`the list is no JSON: ${messageOf(error)}`, { code: 'UNAVAILABLE', cause: error })
  }
  const { kind, items, metadata } = Object(envelope) as Envelope
  if (kind === 'Status') throw apiError(statusOf(envelope), question)
  // Nobody may take for an empty list what is another thing; an empty one may have null.
  if (items !== null && !Array.isArray(items)) throw noList('it has no items')
  const { resourceVersion, continue: next, remainingItemCount } = metadata ?? {}
  return {
    version: typeof resourceVersion === 'string' ? resourceVersion : '',
    next: typeof next === 'string' ? next : '',
    remaining: typeof remainingItemCount === 'number' ? remainingItemCount : undefined,
  }
}

function noList(why: string, cause?: unknown): SourceError {
  const message = `the answer is no list of objects: ${why} (is this the API server of a Kubernetes cluster?)`
  return new SourceError(message, { code: 'PROTOCOL', cause })
}
