import type {
  ListContext,
  ListerWatcher,
  ListPage,
  SourceContext,
  WatchBatch,
  WatchContext,
  WatchEvent,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'

/** An event as etcd's guarantees speak of it. */
export interface Happening {
  readonly revision: number
  readonly key: string
}

/**
 * Wraps a source of etcd, and checks its events against the guarantees of etcd for watchers:
 * https://etcd.io/docs/v3.6/learning/api_guarantees. `missing()` checks `Reliable` with the history of the server.
 */
export class ContractChecker<T> implements ListerWatcher<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly flaws: string[] = []
  readonly versions?: NonNullable<ListerWatcher<T>['versions']>
  /** The number of events since the last list. */
  events = 0
  /** All of them, by revision and key, since the last list. */
  readonly #delivered = new Set<string>()
  readonly #source: ListerWatcher<T>
  /** The position of the last list. */
  listedAt = 0
  /** The position of the source: all events up to it should have been delivered. */
  reached = 0
  #last = 0

  constructor(source: ListerWatcher<T>) {
    this.#source = source
    this.name = source.name
    this.heartbeatMs = source.heartbeatMs ?? 10_000
    if (source.versions !== undefined) this.versions = source.versions.bind(source)
  }

  async *list(context: ListContext): AsyncIterable<ListPage<T>> {
    for await (const page of this.#source.list(context)) {
      if (page.version !== undefined) {
        this.#delivered.clear()
        this.events = 0
        this.listedAt = this.reached = this.#last = revisionOf(page.version)
      }
      yield page
    }
  }

  async *watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    for await (const batch of this.#source.watch(context)) {
      this.#judge(batch)
      yield batch
    }
  }

  async head(context: SourceContext): Promise<Version> {
    return (await this.#source.head?.(context)) ?? ''
  }

  hasReached(at: Version, mark: Version): boolean {
    return this.#source.hasReached?.(at, mark) === true
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
      if (first.revision === this.#last && this.#delivered.size > 0) this.#flaw('Atomic', first)
      if (first.revision <= this.reached) this.#flaw('Bookmarkable', first)
    }
    for (const happening of happenings) {
      if (happening.revision < this.#last) this.#flaw('Ordered', happening)
      if (this.#delivered.has(nameOf(happening))) this.#flaw('Unique', happening)
      this.#delivered.add(nameOf(happening))
      this.#last = happening.revision
      this.events++
    }
    if (reached < this.#last) this.#flaw('Resumable: events beyond the version', { revision: this.#last, key: version })
    this.reached = Math.max(this.reached, reached)
  }

  #flaw(guarantee: string, { revision, key }: Happening): void {
    if (this.flaws.length < 20) this.flaws.push(`${guarantee}: ${key} at ${revision}, after ${this.reached}`)
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
