import type { Clock } from '../../contract/clock.js'
import type { Deleted } from '../../queue/change.js'

/** A key without an object that another replica runs. */
interface ForeignKey<T> {
  /** The deletion of its object. Undefined: it was enqueued, for example for `watches`. */
  readonly deletion: Deleted<T> | undefined
  readonly until: number
}

/**
 * The keys without an object that another replica ran, for a limited time. Only these cannot be found in the store by a
 * replica that gains them.
 */
export class ForeignKeys<T> {
  readonly #clock: Clock
  readonly #keptMs: number
  /** Invariant: in the order of their times. */
  readonly #keys = new Map<string, ForeignKey<T>>()

  constructor(clock: Clock, keptMs: number) {
    this.#clock = clock
    this.#keptMs = keptMs
  }

  add(key: string, deletion: Deleted<T> | undefined): void {
    const now = this.#clock.now()
    for (const [old, { until }] of this.#keys) {
      if (until > now) break
      this.#keys.delete(old)
    }
    const known = this.#keys.get(key)
    this.#keys.delete(key)
    this.#keys.set(key, { deletion: deletion ?? known?.deletion, until: now + this.#keptMs })
  }

  /** Removes a key, and returns it if it is not too old. */
  take(key: string): ForeignKey<T> | undefined {
    const known = this.#keys.get(key)
    this.#keys.delete(key)
    return known !== undefined && known.until > this.#clock.now() ? known : undefined
  }

  keys(): Iterable<string> {
    return this.#keys.keys()
  }
}
