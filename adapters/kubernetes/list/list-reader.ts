import { SourceError } from '../../../src/contract/errors.js'
import type { Delete, ListEvent, ListPage } from '../../../src/contract/source.js'
import type { Decoder } from '../decode/decoder.js'
import type { ApiRequests } from '../http/api-requests.js'
import type { ApiSession } from '../http/api-session.js'
import { type PagedListOptions, readPages } from './paged-list.js'
import { NotStreamed, type StreamedListOptions, streamList } from './streamed-list.js'

export interface ListOptions extends Omit<StreamedListOptions, 'pageSize'>, Omit<PagedListOptions, 'limit'> {
  /** Whether the server is asked to stream it. */
  readonly isStreamed: boolean
  /** Most objects that one request asks for, where it is read in pages. */
  readonly limit: number
  /** Told where streaming was of no use. */
  onNotStreamed(reason: NotStreamed): void
}

/**
 * The whole list: streamed where the server can; else in pages; and where the pages expire before the last one, in one
 * piece. What an attempt that was given up has told is overridden by the next one.
 */
export async function* readList<T>(
  session: ApiSession,
  requests: ApiRequests,
  decoder: Decoder<T>,
  options: ListOptions,
): AsyncGenerator<ListPage<T>> {
  const { isStreamed, limit, onNotStreamed } = options
  const superseded = new SupersededKeys()
  if (isStreamed) {
    try {
      yield* withoutSuperseded(superseded, streamList(session, requests, decoder, options))
      return
    } catch (error) {
      if (!(error instanceof NotStreamed)) throw error
      onNotStreamed(error)
      superseded.restart()
    }
  }
  try {
    yield* withoutSuperseded(superseded, readPages(session, requests, decoder, { ...options, limit }))
    return
  } catch (error) {
    if (!(error instanceof SourceError && error.code === 'VERSION_EXPIRED')) throw error
    superseded.restart()
  }
  yield* withoutSuperseded(superseded, readPages(session, requests, decoder, { ...options, limit: undefined }))
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

/** Which keys earlier attempts yielded, and this one has not yet. */
class SupersededKeys {
  readonly #superseded = new Set<string>()
  /** What this attempt has told, in order: looking each up would cost more than most lists ever need. */
  #yielded: (string | { readonly gone: string })[] = []

  /**
   * The events of this attempt. Before the first one of a key that an earlier attempt yielded, that object is deleted: the server may have
   * been restored in between, and the object may have other content under the same version.
   */
  record<T>(events: readonly ListEvent<T>[]): readonly ListEvent<T>[] {
    for (const { type, key } of events)
      if (key !== undefined) this.#yielded.push(type === 'delete' ? { gone: key } : key)
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
      else this.#superseded.delete(each.gone)
    }
    this.#yielded = []
  }

  /** Deletes of the keys that this attempt has not. */
  deletes(): readonly Delete<never>[] {
    return Array.from(this.#superseded, (key) => ({ type: 'delete', key }))
  }
}
