import type { ListContext, ListerWatcher, ListPage, WatchBatch, WatchContext } from '../../src/contract/source.js'

const MAX_FLAWS = 20

/** Forwards all calls to a source. A subclass compares the results with the promises of that source. */
export class CheckedSource<T> implements ListerWatcher<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly flaws: string[] = []
  readonly versions?: NonNullable<ListerWatcher<T>['versions']>
  readonly head?: NonNullable<ListerWatcher<T>['head']>
  readonly hasReached?: NonNullable<ListerWatcher<T>['hasReached']>
  readonly isLaterEpoch?: NonNullable<ListerWatcher<T>['isLaterEpoch']>
  readonly #source: ListerWatcher<T>

  constructor(source: ListerWatcher<T>) {
    this.#source = source
    this.name = source.name
    this.heartbeatMs = source.heartbeatMs ?? 10_000
    if (source.versions !== undefined) this.versions = source.versions.bind(source)
    if (source.head !== undefined) this.head = source.head.bind(source)
    if (source.hasReached !== undefined) this.hasReached = source.hasReached.bind(source)
    if (source.isLaterEpoch !== undefined) this.isLaterEpoch = source.isLaterEpoch.bind(source)
  }

  list(context: ListContext): AsyncIterable<ListPage<T>> {
    return this.#source.list(context)
  }

  watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    return this.#source.watch(context)
  }

  protected flaw(description: string): void {
    if (this.flaws.length < MAX_FLAWS) this.flaws.push(description)
  }
}
