import type { Clock } from '../../contract/clock.js'
import type { Deleted } from '../../queue/change.js'

/** The deletions of keys that this replica does not own. A replica that gains such a key soon runs the deletion. */
export class ForeignDeletions<T> {
  readonly #clock: Clock
  readonly #keptMs: number
  /** Invariant: in the order of their times. */
  readonly #deletions = new Map<string, { readonly deletion: Deleted<T>; readonly until: number }>()

  constructor(clock: Clock, keptMs: number) {
    this.#clock = clock
    this.#keptMs = keptMs
  }

  get size(): number {
    return this.#deletions.size
  }

  add(deletion: Deleted<T>): void {
    const now = this.#clock.now()
    for (const [key, { until }] of this.#deletions) {
      if (until > now) break
      this.#deletions.delete(key)
    }
    this.#deletions.delete(deletion.key)
    this.#deletions.set(deletion.key, { deletion, until: now + this.#keptMs })
  }

  /** Removes the deletion of a key, and returns it if it is not too old. */
  take(key: string): Deleted<T> | undefined {
    const known = this.#deletions.get(key)
    this.#deletions.delete(key)
    return known !== undefined && known.until > this.#clock.now() ? known.deletion : undefined
  }

  keys(): Iterable<string> {
    return this.#deletions.keys()
  }
}
