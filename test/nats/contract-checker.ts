import type { ListContext, ListPage, WatchBatch, WatchContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { CheckedSource } from '../support/checked-source.js'

type Position = { readonly created: string; readonly seq: number }

/** Wraps a source of a bucket. Within one history, versions never go back and each message is delivered once, in order. */
export class ContractChecker<T> extends CheckedSource<T> {
  #reached: Position = { created: '', seq: 0 }
  #last = 0
  /** Whether the source has reported another history since the last list. */
  #hasForked = false

  override async *list(context: ListContext): AsyncIterable<ListPage<T>> {
    for await (const page of this.#forks(super.list(context))) {
      if (page.version !== undefined) {
        const at = positionOf(page.version)
        if (!this.#hasForked && at.created === this.#reached.created && at.seq < this.#reached.seq)
          this.flaw(`a list at ${at.seq} is older than ${this.#reached.seq}`)
        this.#reached = at
        this.#last = at.seq
        this.#hasForked = false
      }
      yield page
    }
  }

  override async *watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    for await (const batch of this.#forks(super.watch(context))) {
      this.#judge(batch)
      yield batch
    }
  }

  async *#forks<V>(results: AsyncIterable<V>): AsyncIterable<V> {
    try {
      yield* results
    } catch (error) {
      if ((error as { code?: string }).code === 'EPOCH_CHANGED') this.#hasForked = true
      throw error
    }
  }

  #judge({ events, version }: WatchBatch<T>): void {
    const at = positionOf(version)
    if (at.created !== this.#reached.created) this.flaw(`a batch of another stream, ${at.created}`)
    if (at.seq < this.#reached.seq) this.flaw(`a batch at ${at.seq} is older than ${this.#reached.seq}`)
    for (const event of events) {
      if (event.type === 'replace' || event.version === undefined) continue // A key that was removed.
      const seq = Number(event.version)
      if (seq <= this.#last) this.flaw(`message ${seq} was delivered after ${this.#last}`)
      if (seq > at.seq) this.flaw(`message ${seq} was delivered with version ${at.seq}`)
      this.#last = seq
    }
    this.#reached = at
  }
}

export function positionOf(version: Version): Position {
  const [, created = '', seq] = version.split('.')
  return { created, seq: Number(seq) }
}
