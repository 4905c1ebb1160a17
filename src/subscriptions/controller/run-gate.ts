import type { Clock } from '../../contract/clock.js'
import { SourceError } from '../../contract/errors.js'
import type { RateLimit, ReconcileOptions } from './controller-types.js'

/** An informer or a group. */
export type Syncable = NonNullable<ReconcileOptions<unknown>['after']>[number]

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

/** The part of a token that rounding may lose. */
const ROUNDING = 1e-6

/** Limits how many runs of a controller start: a token bucket. */
class RunLimiter {
  readonly #clock: Clock
  readonly #perMs: number
  readonly #burst: number
  readonly #signal: AbortSignal
  readonly #wake: () => void
  #tokens: number
  #at: number
  #isWaiting = false

  /** `wake` is called when the next run may start, after `take` has returned false. */
  constructor({ perSecond, burst = 1 }: RateLimit, clock: Clock, signal: AbortSignal, wake: () => void) {
    this.#clock = clock
    this.#perMs = perSecond / 1_000
    this.#burst = burst
    this.#signal = signal
    this.#wake = wake
    this.#tokens = burst
    this.#at = clock.now()
  }

  /** Returns whether a run may start now, and counts it. */
  take(): boolean {
    const now = this.#clock.now()
    this.#tokens = Math.min(this.#burst, this.#tokens + Math.max(0, now - this.#at) * this.#perMs)
    this.#at = now
    if (this.#tokens >= 1 - ROUNDING) {
      this.#tokens--
      return true
    }
    this.#wakeIn((1 - this.#tokens) / this.#perMs)
    return false
  }

  /** The run that was counted does not start. */
  giveBack(): void {
    this.#tokens = Math.min(this.#burst, this.#tokens + 1)
  }

  #wakeIn(ms: number): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#clock.sleep(ms, this.#signal).then(
      () => {
        this.#isWaiting = false
        this.#wake()
      },
      () => {}, // Closed.
    )
  }
}

/** The time after which a failed wait for an informer begins again, in milliseconds. */
const AGAIN_MS = 1_000

/** Waits until other informers have their first lists. */
class Prerequisites {
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
