import type { Clock } from '../contract/clock.js'
import type { RateLimit, Syncable } from './controller-types.js'
import { Prerequisites } from './prerequisites.js'
import { RunLimiter } from './run-limiter.js'

/**
 * Decides whether runs of a controller may start: not while it is paused, before other informers are synced, or too
 * often.
 */
export class RunGate {
  isPaused = false
  readonly #prerequisites: Prerequisites
  readonly #limiter: RunLimiter | undefined

  /**
   * `wake` is called when a run may start again, unless it was paused. `stopped` is called when an informer of `after`
   * was stopped before its first list.
   */
  constructor(
    { after = [], rateLimit }: { readonly after?: readonly Syncable[]; readonly rateLimit?: RateLimit },
    clock: Clock,
    signal: AbortSignal,
    { wake, stopped }: { readonly wake: () => void; readonly stopped: () => void },
  ) {
    this.#prerequisites = new Prerequisites(after, clock, signal, () => {
      if (this.#prerequisites.areStopped) stopped()
      wake()
    })
    if (rateLimit !== undefined) this.#limiter = new RunLimiter(rateLimit, clock, signal, wake)
  }

  /** Whether time alone does not let runs start: it is paused, or an informer of `after` was stopped. */
  get isShut(): boolean {
    return this.isPaused || this.#prerequisites.areStopped
  }

  /** Whether all informers of `after` are synced. */
  get areOthersSynced(): boolean {
    return this.#prerequisites.areMet
  }

  /** The last run that was counted did not start. */
  giveBack(): void {
    this.#limiter?.giveBack()
  }

  /** Returns whether a run may start now, and counts it. */
  take(): boolean {
    if (this.isPaused || !this.#prerequisites.areMet) return false
    return this.#limiter?.take() ?? true
  }
}
