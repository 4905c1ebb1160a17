import { SourceError } from '../../../src/contract/errors.js'
import type { ListEvent, ListPage } from '../../../src/contract/source.js'
import type { Decoder } from '../decode/decoder.js'
import { LineSplitter } from '../decode/line-splitter.js'
import { assertResourceVersion } from '../history/resource-version.js'
import { apiError, apiStatusIn, isTooLarge } from '../http/api-error.js'
import type { ApiRequests } from '../http/api-requests.js'
import type { ApiSession } from '../http/api-session.js'
import { IDLE } from '../http/response-body.js'
import { FlushPolicy } from './flush-policy.js'

export interface StreamedListOptions {
  readonly pageSize: number
  readonly maxObjectBytes: number
  /** After so many milliseconds without progress it is given up. */
  readonly stallMs: number
  readonly timeoutSeconds: number
}

/** A list that the server cannot stream, or not to its end: it is read in pages instead. */
export class NotStreamed extends Error {
  override readonly name = 'NotStreamed'
}

/**
 * A list that is told as the beginning of a watch: every object, and then a bookmark which says that this was all of
 * them. Only that one names the version; whatever versions come before it are of single objects, in no order.
 * Throws `NotStreamed` where the server does not know how, or where the bookmark does not come: also where the answer is
 * cut off, as what stands before a server does with those that take long.
 */
export async function* streamList<T>(
  session: ApiSession,
  requests: ApiRequests,
  decoder: Decoder<T>,
  { pageSize, maxObjectBytes, stallMs, timeoutSeconds }: StreamedListOptions,
): AsyncGenerator<ListPage<T>> {
  const wish = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', timeoutSeconds }
  const body = await session.open(requests.watch(wish)).catch((error: unknown) => {
    throw mayWorkInPages(error) ? new NotStreamed('the server streams no lists', { cause: error }) : error
  })
  let events: ListEvent<T>[] = []
  let version: string | undefined
  /** Once something has happened beside the list, its end has to be near. */
  let isInitial = true
  let failure: SourceError | undefined
  const lines = new LineSplitter((bytes, isWhole) => {
    if (version !== undefined || failure !== undefined) return
    const told = decoder.line(bytes, isWhole)
    switch (told.type) {
      case 'bookmark':
        if (told.isEndOfList) version = told.version
        break
      case 'error':
        failure = apiError(told.status, requests.watch({}))
        break
      case 'put':
      case 'delete':
      case 'invalid':
        if (told.isChange) isInitial = false
        events.push(told.event)
        break
    }
  }, maxObjectBytes)
  try {
    const due = new FlushPolicy(session.clock)
    let until = session.clock.now() + stallMs
    for (;;) {
      const taken = await session.take(body, Math.max(0, until - session.clock.now())).catch((error: unknown) => {
        throw cutOff(error)
      })
      if (taken === IDLE) throw new NotStreamed(`the list came no further for ${stallMs} ms`)
      if (taken === undefined)
        throw cutOff(new SourceError('it ended without saying that it was complete', { code: 'UNAVAILABLE' }))
      for (const chunk of taken) {
        lines.push(chunk)
        for (; events.length > pageSize; events = events.slice(pageSize)) yield { events: events.slice(0, pageSize) }
      }
      if (failure !== undefined)
        throw mayWorkInPages(failure) ? new NotStreamed(messageIn(failure), { cause: failure }) : failure
      if (version !== undefined) break
      if (due.isDue(taken)) {
        yield { events }
        events = []
      }
      if (isInitial) until = session.clock.now() + stallMs
    }
    assertResourceVersion(version)
    yield { events, version }
  } finally {
    body.destroy(new Error('the list was read'))
  }
}

/** Whether a list in pages may do better. */
function mayWorkInPages(error: unknown): boolean {
  if (!(error instanceof SourceError)) return false
  const status = apiStatusIn(error)
  // To stream is to watch: who may only list is let in there.
  if (status !== undefined && (isTooLarge(status) || status.code === 403)) return true
  return ['PROTOCOL', 'VERSION_EXPIRED'].includes(error.code)
}

/** That the server, or what stands before it, has ended a list too early; what else ends one stays as it is. */
function cutOff(error: unknown): unknown {
  if (!(error instanceof SourceError && error.code === 'UNAVAILABLE')) return error
  return new NotStreamed(messageIn(error), { cause: error })
}

function messageIn({ message }: SourceError): string {
  return `the list broke off: ${message}`
}
