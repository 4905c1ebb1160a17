import type { Clock } from '../../contract/clock.js'
import { SourceError } from '../../contract/errors.js'
import { membersOf } from '../../util/type-guards.js'
import type { RateLimit, ReconcileOptions } from './controller-types.js'

export type Syncable = NonNullable<ReconcileOptions<unknown>['after']>[number]

/** The part of a token that rounding may lose. */
const ROUNDING = 1e-6

/** The time after which a failed wait for an informer begins again, in milliseconds. */
const AGAIN_MS = 1_000

/** If an informer was not started for this time, that is reported, in milliseconds. */
const NOT_STARTED_MS = 10_000

interface GateHooks {
  /** A run may start again, unless it was paused. */
  wake(): void
  /** No run may start: an informer of `after` was stopped before its first list, or was not started for 10 s. */
  blocked(reason: string): void
}

/** No run of a controller may start while it is paused, before other informers are synced, or too often. */
export class RunGate {
  isPaused = false
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #hooks: GateHooks
  readonly #missing: Set<Syncable>
  #hasStopped = false
  readonly #rate: Required<RateLimit> | undefined
  /** The tokens of the bucket at this time. At the first run the bucket is full. */
  #tokens = 0
  #at = -Infinity
  #isWaiting = false

  constructor(
    { after = [], rateLimit }: { readonly after?: readonly Syncable[]; readonly rateLimit?: RateLimit },
    clock: Clock,
    signal: AbortSignal,
    hooks: GateHooks,
  ) {
    this.#clock = clock
    this.#signal = signal
    this.#hooks = hooks
    this.#missing = new Set(after)
    this.#rate = rateLimit && { perSecond: rateLimit.perSecond, burst: rateLimit.burst ?? 1 }
    for (const other of this.#missing) this.#waitFor(other).catch(() => {}) // Aborted.
  }

  /** Whether time alone does not let runs start: it is paused, or an informer of `after` was stopped. */
  get isShut(): boolean {
    return this.isPaused || this.#hasStopped
  }

  get areOthersSynced(): boolean {
    return this.#missing.size === 0
  }

  get missing(): string | undefined {
    const missing = Array.from(this.#missing, describe).filter((each) => each !== '')
    return missing.length === 0 ? undefined : missing.join(', ')
  }

  /** Returns whether a run may start now, and counts it. */
  take(): boolean {
    if (this.isPaused || !this.areOthersSynced) return false
    if (this.#rate === undefined) return true
    const perMs = this.#rate.perSecond / 1_000
    const now = this.#clock.now()
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + Math.max(0, now - this.#at) * perMs)
    this.#at = now
    if (this.#tokens >= 1 - ROUNDING) {
      this.#tokens--
      return true
    }
    this.#wakeIn((1 - this.#tokens) / perMs)
    return false
  }

  /** The last run that was counted did not start. */
  giveBack(): void {
    if (this.#rate !== undefined) this.#tokens = Math.min(this.#rate.burst, this.#tokens + 1)
  }

  #wakeIn(ms: number): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#clock.sleep(ms, this.#signal).then(
      () => {
        this.#isWaiting = false
        this.#hooks.wake()
      },
      () => {}, // Closed.
    )
  }

  async #waitFor(other: Syncable): Promise<void> {
    if (await this.#synced(other)) this.#missing.delete(other)
    else {
      this.#hasStopped = true
      this.#hooks.blocked('an informer of "after" or "watches" was stopped before its first list')
    }
    if (this.#hasStopped || this.areOthersSynced) this.#hooks.wake()
  }

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
          if (describe(other).includes(NOT_STARTED))
            this.#hooks.blocked(`it waits for ${describe(other)}: call start()`)
          continue
        }
      }
      await this.#clock.sleep(AGAIN_MS, this.#signal) // The informer has failed, and retries.
    }
  }
}

const NOT_STARTED = 'which was not started'

/** Names those that are not synced: the informer itself, or those of a group. Empty if all are synced. */
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
