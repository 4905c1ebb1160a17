import { SourceError } from '../../../src/contract/errors.js'
import type { Delete, ListEvent, ListPage } from '../../../src/contract/source.js'
import type { Decoder } from '../decode/decoder.js'
import type { Requests } from '../http/api-requests.js'
import type { Visit } from '../http/api-session.js'
import { type PagesOptions, readPages } from './paged-list.js'
import { NotStreamed, type StreamedListOptions, streamList } from './streamed-list.js'

export interface ListOptions extends Omit<StreamedListOptions, 'pageSize'>, Omit<PagesOptions, 'limit'> {
  /** Whether the server is asked to stream it. */
  readonly isStreamed: boolean
  /** Most objects that one request asks for, where it is read in pages. */
  readonly limit: number
  /** Told where streaming was of no use. */
  notStreamed(reason: NotStreamed): void
}

/**
 * The whole list: streamed where the server can; else in pages; and where the pages expire before the last one, in one
 * piece. What an attempt that was given up has told is overridden by the next one.
 */
export async function* readList<T>(
  visit: Visit,
  requests: Requests,
  decoder: Decoder<T>,
  options: ListOptions,
): AsyncGenerator<ListPage<T>> {
  const { isStreamed, limit, notStreamed } = options
  const ledger = new Ledger()
  if (isStreamed) {
    try {
      yield* noted(ledger, streamList(visit, requests, decoder, options))
      return
    } catch (error) {
      if (!(error instanceof NotStreamed)) throw error
      notStreamed(error)
      ledger.again()
    }
  }
  try {
    yield* noted(ledger, readPages(visit, requests, decoder, { ...options, limit }))
    return
  } catch (error) {
    if (!(error instanceof SourceError && error.code === 'VERSION_EXPIRED')) throw error
    ledger.again()
  }
  yield* noted(ledger, readPages(visit, requests, decoder, { ...options, limit: undefined }))
}

async function* noted<T>(ledger: Ledger, pages: AsyncIterable<ListPage<T>>): AsyncGenerator<ListPage<T>> {
  for await (const page of pages) {
    const events = ledger.note(page.events)
    yield page.version === undefined ? { ...page, events } : { ...page, events: [...events, ...ledger.leftovers()] }
  }
}

/** Which keys earlier attempts yielded, and this one has not yet. */
class Ledger {
  readonly #before = new Set<string>()
  /** What this attempt has told, in order: looking each up would cost more than most lists ever need. */
  #told: (string | { readonly gone: string })[] = []

  /**
   * The events of this attempt. Before the first one of a key that an earlier attempt yielded, that object is deleted: the server may have
   * been restored in between, and the object may have other content under the same version.
   */
  note<T>(events: readonly ListEvent<T>[]): readonly ListEvent<T>[] {
    for (const { type, key } of events) if (key !== undefined) this.#told.push(type === 'delete' ? { gone: key } : key)
    if (this.#before.size === 0) return events
    return events.flatMap((event) =>
      event.key !== undefined && this.#before.delete(event.key) ? [{ type: 'delete', key: event.key }, event] : [event],
    )
  }

  again(): void {
    for (const each of this.#told) {
      if (typeof each === 'string') this.#before.add(each)
      else this.#before.delete(each.gone)
    }
    this.#told = []
  }

  /** Deletes of the keys that this attempt has not. */
  leftovers(): readonly Delete<never>[] {
    return Array.from(this.#before, (key) => ({ type: 'delete', key }))
  }
}
