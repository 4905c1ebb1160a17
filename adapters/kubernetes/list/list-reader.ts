import { SourceError } from '../../../src/contract/errors.js'
import type { Delete, ListEvent, ListPage } from '../../../src/contract/source.js'
import type { Decoder } from '../decode/decoder.js'
import type { ApiRequests } from '../http/api-requests.js'
import type { ApiSession } from '../http/api-session.js'
import { type PagedListOptions, readPages } from './paged-list.js'
import { NotStreamed, type StreamedListOptions, streamList } from './streamed-list.js'

export interface ListOptions extends Omit<StreamedListOptions, 'pageSize'>, Omit<PagedListOptions, 'limit'> {
  /** Whether the list is streamed first. */
  readonly isStreamed: boolean
  /** Most objects that one request of a paged list returns. */
  readonly limit: number
  /** Called if streaming failed, before the list is read in pages. */
  onNotStreamed(reason: NotStreamed): void
}

/**
 * Reads the whole list: streamed if the server supports it, otherwise in pages. If the pages expire before the last
 * one, reads it in one piece. Each attempt overrides the events of the failed one before.
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

/** The keys that a failed attempt has yielded and the current attempt has not. */
class SupersededKeys {
  readonly #superseded = new Set<string>()
  /** The keys of this attempt, in order. Looking each up would cost more than most lists need. */
  #yielded: (string | { readonly deleted: string })[] = []

  /**
   * Returns the events of this attempt. An object that an earlier attempt yielded is deleted first: the server may have
   * been restored meanwhile, and the object may have other content under the same version.
   */
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

  /** Returns deletes of the keys that this attempt has not yielded. */
  deletes(): readonly Delete<never>[] {
    return Array.from(this.#superseded, (key) => ({ type: 'delete', key }))
  }
}
