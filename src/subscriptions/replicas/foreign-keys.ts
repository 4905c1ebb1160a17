import type { Deleted } from '../../queue/change.js'

/** A key without an object that another replica runs. */
interface ForeignKey<T> {
  /** The deletion of its object. Undefined: it was enqueued, for example for `watches`. */
  readonly deletion: Deleted<T> | undefined
  readonly until: number
}

/**
 * The keys without an object that this replica may not run, for a limited time. Only these cannot be found in the store
 * by a replica that gains them. Without a lease no time passes: perhaps no replica may run them.
 */
export class ForeignKeys<T> {
  readonly #leasedMs: () => number
  readonly #keptMs: number
  /** Invariant: in the order of their times. */
  readonly #keys = new Map<string, ForeignKey<T>>()

  /** `leasedMs` returns for how long this replica has had a lease so far. */
  constructor(leasedMs: () => number, keptMs: number) {
    this.#leasedMs = leasedMs
    this.#keptMs = keptMs
  }

  add(key: string, deletion: Deleted<T> | undefined): void {
    const now = this.#leasedMs()
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
    return known !== undefined && known.until > this.#leasedMs() ? known : undefined
  }

  keys(): Iterable<string> {
    return this.#keys.keys()
  }
}
