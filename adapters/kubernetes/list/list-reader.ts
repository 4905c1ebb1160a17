import type { Delete, ListEvent, ListPage } from '../../../src/contract/source.js'
import { isExpired } from '../../common/source-errors.js'
import { type PagedListOptions, readPages } from './paged-list.js'
import { NotStreamed, type StreamedListOptions, streamList } from './streamed-list.js'

export interface ListOptions<T> extends PagedListOptions<T>, StreamedListOptions<T> {
  readonly isStreamed: boolean
  /** Called if streaming failed, before the list is read in pages. */
  onNotStreamed(reason: NotStreamed): void
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
