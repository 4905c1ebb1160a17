import type { Clock } from '../../contract/clock.js'
import { ABORTED, SourceError } from '../../contract/errors.js'
import type { Random } from '../../contract/random.js'
import { LIST_STALL_MS, type ListerWatcher } from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import { Attempt } from '../../reflector/attempt.js'
import type { Settle } from '../../util/deadline.js'

/**
 * Decides about waits for marks of another epoch than that of the store. The source may be in that epoch already,
 * before the store shows it. The head of the source, read after the wait began, shows the epoch of the source.
 */
export class EpochCheck {
  readonly #source: ListerWatcher<unknown>
  readonly #clock: Clock
  readonly #random: Random
  readonly #mirror: () => object
  /** Waits that began after the last read of the head. */
  readonly #waiting = new Map<Settle<void>, { readonly mark: Version; readonly error: unknown }>()
  #attempt: Attempt | undefined
  #isEnded = false

  constructor(
    source: ListerWatcher<unknown>,
    { clock, random }: { readonly clock: Clock; readonly random: Random },
    mirror: () => object,
  ) {
    this.#source = source
    this.#mirror = mirror
    this.#clock = clock
    this.#random = random
  }

  /**
   * Rejects the wait with `error` unless the source is in the epoch of `mark`. Keeps it if the head cannot be read now.
   */
  judge(settle: Settle<void>, mark: Version, error: unknown): void {
    if (this.#isEnded) return
    this.#waiting.set(settle, { mark, error })
    if (this.#attempt === undefined) void this.#readHead()
  }

  end(): void {
    this.#isEnded = true
    this.#waiting.clear()
    this.#attempt?.abort(ABORTED)
  }

  /** One request at a time, for all waits that began before it. */
  async #readHead(): Promise<void> {
    while (this.#waiting.size > 0) {
      const asked = [...this.#waiting]
      this.#waiting.clear()
      const attempt = new Attempt(this.#clock)
      this.#attempt = attempt
      const silent = `no head for ${LIST_STALL_MS / 1_000} s`
      void attempt.watchdog(LIST_STALL_MS, () => new SourceError(silent, { code: 'UNAVAILABLE' }))
      try {
        const head = await attempt.race(this.#head(attempt))
        for (const [settle, { mark, error }] of asked) if (this.#isOther(head, mark)) settle.reject(error)
      } catch {
        // Requested again after the next batch or list.
      } finally {
        attempt.abort(ABORTED)
        this.#attempt = undefined
      }
    }
  }

  async #head({ signal }: Attempt): Promise<Version> {
    const head = await this.#source.head?.({ signal, clock: this.#clock, random: this.#random, mirror: this.#mirror() })
    if (head === undefined) throw new SourceError('the source has no head', { code: 'PROTOCOL' })
    return head
  }

  #isOther(head: Version, mark: Version): boolean {
    try {
      this.#source.hasReached?.(head, mark)
      return false
    } catch {
      return true
    }
  }
}
