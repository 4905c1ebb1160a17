import type { ListContext, ListPage, WatchBatch, WatchContext, WatchEvent } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { CheckedSource } from '../support/checked-source.js'

/** An event as etcd's guarantees speak of it. */
export interface Happening {
  readonly revision: number
  readonly key: string
}

/**
 * Wraps a source of etcd, and checks its events against the guarantees of etcd for watchers:
 * https://etcd.io/docs/v3.6/learning/api_guarantees. `missing()` checks `Reliable` with the history of the server.
 */
export class ContractChecker<T> extends CheckedSource<T> {
  events = 0
  /** All of them, by revision and key, since the last list. */
  readonly #delivered = new Set<string>()
  listedAt = 0
  /** The position of the source: all events up to it should have been delivered. */
  reached = 0
  #last = 0

  override async *list(context: ListContext): AsyncIterable<ListPage<T>> {
    for await (const page of super.list(context)) {
      if (page.version !== undefined) {
        this.#delivered.clear()
        this.events = 0
        this.listedAt = this.reached = this.#last = revisionOf(page.version)
      }
      yield page
    }
  }

  override async *watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    for await (const batch of super.watch(context)) {
      this.#judge(batch)
      yield batch
    }
  }

  /** The events that were never delivered, though the position is later: Reliable, Resumable. */
  missing(history: readonly Happening[]): Happening[] {
    return history.filter(
      ({ revision, key }) =>
        revision > this.listedAt && revision <= this.reached && !this.#delivered.has(nameOf({ revision, key })),
    )
  }

  #judge({ events, version }: WatchBatch<T>): void {
    const reached = revisionOf(version)
    const happenings = events.map(happeningOf)
    const first = happenings[0]
    if (first !== undefined) {
      // The rest of a revision that was delivered in part before.
      if (first.revision === this.#last && this.#delivered.size > 0) this.#violated('Atomic', first)
      if (first.revision <= this.reached) this.#violated('Bookmarkable', first)
    }
    for (const happening of happenings) {
      if (happening.revision < this.#last) this.#violated('Ordered', happening)
      if (this.#delivered.has(nameOf(happening))) this.#violated('Unique', happening)
      this.#delivered.add(nameOf(happening))
      this.#last = happening.revision
      this.events++
    }
    if (reached < this.#last)
      this.#violated('Resumable: events beyond the version', { revision: this.#last, key: version })
    this.reached = Math.max(this.reached, reached)
  }

  #violated(guarantee: string, { revision, key }: Happening): void {
    this.flaw(`${guarantee}: ${key} at ${revision}, after ${this.reached}`)
  }
}

export function revisionOf(version: Version): number {
  return Number(version.split('.')[3] ?? version)
}

function happeningOf(event: WatchEvent<unknown>): Happening {
  if (event.type === 'replace') throw new Error('a source of etcd replaces nothing')
  return { revision: Number(event.version), key: event.key ?? '' }
}

function nameOf({ revision, key }: Happening): string {
  return `${revision} ${key}`
}
