import { SourceError } from '../../../src/contract/errors.js'
import type { Delete, ListEvent, ListPage } from '../../../src/contract/source.js'
import { propertiesOf } from '../../common/properties.js'
import { isExpired } from '../../common/source-errors.js'
import { LineSplitter, linesOf } from '../decode/line-splitter.js'
import { assertResourceVersion } from '../history/resource-version.js'
import { apiError, apiStatusIn, isTooLarge } from '../http/api-error.js'
import { IDLE } from '../http/response-body.js'
import { flushPolicy, type PagedListOptions, readPages } from './paged-list.js'

export interface ListOptions<T> extends PagedListOptions<T> {
  readonly isStreamed: boolean
  /** A streamed list without progress for this number of milliseconds is read in pages. */
  readonly timeoutMs: number
  readonly timeoutSeconds: number
  /** Called if streaming failed, before the list is read in pages. */
  onNotStreamed(reason: Error): void
}

/**
 * Reads the whole list: streamed if the server supports it, otherwise in pages. If the pages expire before the last
 * one, reads it in one piece. Each attempt overrides the events of the failed one before.
 */
export async function* readList<T>(options: ListOptions<T>): AsyncGenerator<ListPage<T>> {
  const superseded = new SupersededKeys()
  if (options.isStreamed) {
    try {
      yield* withoutSuperseded(superseded, streamList(options))
      return
    } catch (error) {
      if (!(error instanceof NotStreamed)) throw error
      options.onNotStreamed(error)
      superseded.restart()
    }
  }
  try {
    yield* withoutSuperseded(superseded, readPages(options))
    return
  } catch (error) {
    if (!isExpired(error)) throw error
    superseded.restart()
  }
  yield* withoutSuperseded(superseded, readPages({ ...options, limit: undefined }))
}

async function* withoutSuperseded<T>(
  superseded: SupersededKeys,
  pages: AsyncIterable<ListPage<T>>,
): AsyncGenerator<ListPage<T>> {
  for await (const page of pages) {
    const events = superseded.record(page.events)
    yield page.version === undefined ? { ...page, events } : { ...page, events: [...events, ...superseded.deletes()] }
  }
}

/** The keys that a failed attempt has yielded and the current attempt has not. */
class SupersededKeys {
  readonly #superseded = new Set<string>()
  /** The keys of this attempt, in order. Looking each up would cost more than most lists need. */
  #yielded: (string | { readonly deleted: string })[] = []

  /** An object of an earlier attempt is deleted first: after a restore its version may stand for other content. */
  record<T>(events: readonly ListEvent<T>[]): readonly ListEvent<T>[] {
    for (const { type, key } of events)
      if (key !== undefined) this.#yielded.push(type === 'delete' ? { deleted: key } : key)
    if (this.#superseded.size === 0) return events
    return events.flatMap((event) =>
      event.key !== undefined && this.#superseded.delete(event.key)
        ? [{ type: 'delete', key: event.key }, event]
        : [event],
    )
  }

  restart(): void {
    for (const each of this.#yielded) {
      if (typeof each === 'string') this.#superseded.add(each)
      else this.#superseded.delete(each.deleted)
    }
    this.#yielded = []
  }

  deletes(): readonly Delete<never>[] {
    return Array.from(this.#superseded, (key) => ({ type: 'delete', key }))
  }
}

/** The server cannot stream this list to its end: it is read in pages. */
class NotStreamed extends Error {
  override readonly name = 'NotStreamed'
}

/**
 * Reads a list as the beginning of a watch: every object, then a bookmark that marks the end. Only that bookmark has
 * the version of the list; earlier versions are those of single objects, in no order. Throws `NotStreamed` if the
 * server does not support streaming, or if the bookmark does not arrive. A proxy may cut off a long response: that
 * throws `NotStreamed` too.
 */
async function* streamList<T>(options: ListOptions<T>): AsyncGenerator<ListPage<T>> {
  const { session, requests, decoder, pageSize, maxObjectBytes, timeoutMs, timeoutSeconds } = options
  const parameters = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan', timeoutSeconds }
  const body = await session.open(requests.watch(parameters)).catch((error: unknown) => {
    throw mayWorkInPages(error) ? new NotStreamed('the server streams no lists', { cause: error }) : error
  })
  // As Kubernetes writes times.
  const answered = Number.isNaN(body.date) ? undefined : `${new Date(body.date).toISOString().slice(0, 19)}Z`
  let events: ListEvent<T>[] = []
  let version: string | undefined
  /** False after the first change during the list: the end must then arrive within `timeoutMs`. */
  let isInitial = true
  let failure: SourceError | undefined
  const take = (bytes: Buffer | string, isWhole: boolean): void => {
    if (version !== undefined || failure !== undefined || bytes.length === 0) return
    const line = decoder.line(bytes, isWhole)
    switch (line.type) {
      case 'bookmark':
        if (line.isEndOfList) version = line.version
        break
      case 'error':
        failure = apiError(line.status, requests.watch({}))
        break
      case 'put':
      case 'delete':
      case 'invalid':
        if (line.isChange || isNewerThan(answered, line.event)) isInitial = false
        events.push(line.event)
        break
    }
  }
  const lines = new LineSplitter((block) => {
    for (const line of linesOf(block)) take(line, block.isWhole)
  }, maxObjectBytes)
  try {
    const isFlushDue = flushPolicy(session.clock)
    let until = session.clock.now() + timeoutMs
    for (;;) {
      const taken = await session.take(body, Math.max(0, until - session.clock.now())).catch((error: unknown) => {
        throw cutOff(error)
      })
      if (taken === IDLE) throw new NotStreamed(`the list made no progress for ${timeoutMs} ms`)
      if (taken === undefined)
        throw cutOff(new SourceError('it ended before the bookmark that marks its end', { code: 'UNAVAILABLE' }))
      for (const chunk of taken) {
        lines.push(chunk)
        for (; events.length > pageSize; events = events.slice(pageSize)) yield { events: events.slice(0, pageSize) }
      }
      if (failure !== undefined)
        throw mayWorkInPages(failure) ? new NotStreamed(messageIn(failure), { cause: failure }) : failure
      if (version !== undefined) break
      if (isFlushDue(taken)) {
        yield { events }
        events = []
      }
      if (isInitial) until = session.clock.now() + timeoutMs
      else if (session.clock.now() >= until) throw new NotStreamed(`its end did not arrive within ${timeoutMs} ms`)
    }
    assertResourceVersion(version)
    yield { events, version }
  } finally {
    body.destroy(new Error('the list was read'))
  }
}

/** Whether the object was created after the server's answer began. An object of the list looks the same otherwise. */
function isNewerThan(answered: string | undefined, event: ListEvent<unknown> | Delete<unknown>): boolean {
  if (answered === undefined || event.type !== 'put') return false
  const { creationTimestamp } = propertiesOf(propertiesOf(event.object)['metadata'])
  return typeof creationTimestamp === 'string' && creationTimestamp > answered
}

function mayWorkInPages(error: unknown): boolean {
  if (!(error instanceof SourceError)) return false
  const status = apiStatusIn(error)
  // Streaming needs the right to watch; a role that may only list can read pages.
  if (status !== undefined && (isTooLarge(status) || status.code === 403)) return true
  return ['PROTOCOL', 'VERSION_EXPIRED'].includes(error.code)
}

/** Returns `NotStreamed` if the server or a proxy ended the list too early; otherwise the error itself. */
function cutOff(error: unknown): unknown {
  if (!(error instanceof SourceError && error.code === 'UNAVAILABLE')) return error
  return new NotStreamed(messageIn(error), { cause: error })
}

function messageIn({ message }: SourceError): string {
  return `the list broke off: ${message}`
}
