import type { Clock } from '../contract/clock.js'
import { SourceError } from '../contract/errors.js'
import type { Syncable } from './controller-types.js'

/** The time after which a failed wait for an informer begins again, in milliseconds. */
const AGAIN_MS = 1_000

/** Waits until other informers have their first lists. */
export class Prerequisites {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  #waiting: number
  #areStopped = false

  /** `changed` is called when all informers are synced, and when one of them was stopped before. */
  constructor(others: readonly Syncable[], clock: Clock, signal: AbortSignal, changed: () => void) {
    this.#clock = clock
    this.#signal = signal
    this.#waiting = others.length
    for (const other of others) {
      this.#synced(other).then(
        (isSynced) => {
          if (isSynced) this.#waiting--
          else this.#areStopped = true
          if (!isSynced || this.#waiting === 0) changed()
        },
        () => {}, // Aborted.
      )
    }
  }

  get areMet(): boolean {
    return this.#waiting === 0
  }

  /** Whether they cannot be met, because an informer was stopped before its first list. */
  get areStopped(): boolean {
    return this.#areStopped
  }

  /** Returns false if the informer was stopped before its first list. */
  async #synced(other: Syncable): Promise<boolean> {
    for (;;) {
      try {
        await other.synced({ signal: this.#signal })
        return true
      } catch (error) {
        this.#signal.throwIfAborted()
        if (error instanceof SourceError && error.code === 'STOPPED') return false
      }
      await this.#clock.sleep(AGAIN_MS, this.#signal) // The informer has failed, and retries.
    }
  }
}
