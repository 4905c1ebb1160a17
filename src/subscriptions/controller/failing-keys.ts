import { OrderedTable } from '../../util/ordered-table.js'
import type { FailingKey } from './controller-types.js'

const MAX_GIVEN_UP = 10_000

/** The keys of a controller whose last run failed. Of those that are given up, the latest are kept. */
export class FailingKeys {
  readonly all: Map<string, FailingKey> = new Map()
  readonly #givenUp = new OrderedTable<true>()

  /** Returns a key that was given up earlier and is no longer kept. */
  set(key: string, failure: FailingKey): string | undefined {
    this.delete(key) // The latest failure is the last.
    this.all.set(key, failure)
    if (failure.retryAt !== undefined) return undefined
    this.#givenUp.set(key, true)
    if (this.#givenUp.size <= MAX_GIVEN_UP) return undefined
    const oldest = this.#givenUp.firstKey() ?? key
    this.delete(oldest)
    return oldest
  }

  delete(key: string): void {
    if (this.all.delete(key)) this.#givenUp.delete(key)
  }
}
