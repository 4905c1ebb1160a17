import type { Clock } from '../../contract/clock.js'
import { SourceError } from '../../contract/errors.js'
import { membersOf } from '../../util/type-guards.js'
import type { RateLimit, ReconcileOptions } from './controller-types.js'

/** An informer or a group. */
export type Syncable = NonNullable<ReconcileOptions<unknown>['after']>[number]

/**
 * Decides whether runs of a controller may start: not while it is paused, before other informers are synced, or too
 * often.
 */
export class RunGate {
  isPaused = false
  /** The informers of `after` that are not synced. */
  readonly others: Prerequisites
  readonly #limiter: RunLimiter | undefined

  /**
   * `wake` is called when a run may start again, unless it was paused. `blocked` is called with the reason if no run may
   * start because an informer of `after` was stopped before its first list, or was not started for 10 s.
   */
  constructor(
    { after = [], rateLimit }: { readonly after?: readonly Syncable[]; readonly rateLimit?: RateLimit },
    clock: Clock,
    signal: AbortSignal,
    { wake, blocked }: { readonly wake: () => void; readonly blocked: (reason: string) => void },
  ) {
    this.others = new Prerequisites(after, clock, signal, { changed: wake, blocked })
    if (rateLimit !== undefined) this.#limiter = new RunLimiter(rateLimit, clock, signal, wake)
  }

  /** Whether time alone does not let runs start: it is paused, or an informer of `after` was stopped. */
  get isShut(): boolean {
    return this.isPaused || this.others.areStopped
  }

  /** The last run that was counted did not start. */
  giveBack(): void {
    this.#limiter?.giveBack()
  }

  /** Returns whether a run may start now, and counts it. */
  take(): boolean {
    if (this.isPaused || !this.others.areMet) return false
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

/** If an informer was not started for this time, that is reported, in milliseconds. */
const NOT_STARTED_MS = 10_000

/** Waits until other informers have their first lists. */
class Prerequisites {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #waiting: Set<Syncable>
  readonly #blocked: (reason: string) => void
  #areStopped = false

  /** `changed` is called when all informers are synced, and when one of them was stopped before. */
  constructor(
    others: readonly Syncable[],
    clock: Clock,
    signal: AbortSignal,
    { changed, blocked }: { readonly changed: () => void; readonly blocked: (reason: string) => void },
  ) {
    this.#clock = clock
    this.#signal = signal
    this.#waiting = new Set(others)
    this.#blocked = blocked
    for (const other of this.#waiting) {
      this.#synced(other).then(
        (isSynced) => {
          if (isSynced) this.#waiting.delete(other)
          else {
            this.#areStopped = true
            blocked('an informer of "after" or "watches" was stopped before its first list')
          }
          if (!isSynced || this.areMet) changed()
        },
        () => {}, // Aborted.
      )
    }
  }

  get areMet(): boolean {
    return this.#waiting.size === 0
  }

  get missing(): string | undefined {
    const missing = Array.from(this.#waiting, describe).filter((each) => each !== '')
    return missing.length === 0 ? undefined : missing.join(', ')
  }

  /** Whether they cannot be met, because an informer was stopped before its first list. */
  get areStopped(): boolean {
    return this.#areStopped
  }

  /** Returns false if the informer was stopped before its first list. */
  async #synced(other: Syncable): Promise<boolean> {
    for (let timeoutMs: number | undefined = NOT_STARTED_MS; ; ) {
      try {
        await other.synced({ signal: this.#signal, timeoutMs })
        return true
      } catch (error) {
        this.#signal.throwIfAborted()
        const code = error instanceof SourceError ? error.code : undefined
        if (code === 'STOPPED') return false
        if (code === 'TIMEOUT') {
          timeoutMs = undefined
          if (describe(other).includes(NOT_STARTED)) this.#blocked(`it waits for ${describe(other)}: call start()`)
          continue
        }
      }
      await this.#clock.sleep(AGAIN_MS, this.#signal) // The informer has failed, and retries.
    }
  }
}

const NOT_STARTED = 'which was not started'

/** Names the informers that are not synced: the informer itself, or those of a group. Empty if all are synced. */
function describe(other: Syncable): string {
  const parts = membersOf(other)['parts']
  if (!Array.isArray(parts)) return 'an informer that is not synced'
  const names = parts.map(membersOf).flatMap(({ name, status }) => {
    const { state, isSynced } = membersOf(status)
    if (typeof name !== 'string' || isSynced === true) return []
    const why = state === 'idle' ? NOT_STARTED : state === 'stopped' ? 'which was stopped' : 'which is not synced'
    return [`"${name}", ${why}`]
  })
  return names.join(', ')
}
