import { SourceError } from '../../src/errors.js'
import type { Delete, ListPage } from '../../src/source.js'
import type { Decoder } from './decoder.js'
import { type PagesOptions, readPages } from './pages.js'
import type { Requests } from './request.js'
import { NotStreamed, type StreamedListOptions, streamList } from './streamed-list.js'
import type { Visit } from './visit.js'

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
    ledger.note(page)
    yield page.version === undefined ? page : { ...page, events: [...page.events, ...ledger.leftovers()] }
  }
}

/** Which keys were told by attempts before this one, and not by this one: they are gone. */
class Ledger {
  readonly #before = new Set<string>()
  /** What this attempt has told, in order: looking each up would cost more than most lists ever need. */
  #told: (string | { readonly gone: string })[] = []

  note({ events }: ListPage<unknown>): void {
    for (const { type, key } of events) if (key !== undefined) this.#told.push(type === 'delete' ? { gone: key } : key)
  }

  again(): void {
    for (const key of this.#now()) this.#before.add(key)
    this.#told = []
  }

  leftovers(): readonly Delete<never>[] {
    if (this.#before.size === 0) return []
    const now = this.#now()
    return [...this.#before].filter((key) => !now.has(key)).map((key) => ({ type: 'delete', key }))
  }

  #now(): ReadonlySet<string> {
    const now = new Set<string>()
    for (const each of this.#told) {
      if (typeof each === 'string') now.add(each)
      else now.delete(each.gone)
    }
    return now
  }
}
