import type { ListerWatcher, SourceContext } from '../../contract/source.js'
import type { Version } from '../../contract/version.js'
import type { Settle } from '../../util/deadline.js'
import { headOnce } from './head-request.js'

/**
 * Decides about waits for marks of another epoch than that of the store. The source may be in that epoch already,
 * before the store shows it. The head of the source, read after the wait began, shows the epoch of the source.
 */
export class EpochCheck {
  readonly #source: ListerWatcher<unknown>
  readonly #context: SourceContext
  readonly #mirror: () => object
  /** Waits that began after the last read of the head. */
  readonly #waiting = new Map<Settle<void>, { readonly mark: Version; readonly error: unknown }>()
  #isReading = false

  /** After an abort of the signal in `context`, nothing is decided. */
  constructor(source: ListerWatcher<unknown>, context: SourceContext, mirror: () => object) {
    this.#source = source
    this.#context = context
    this.#mirror = mirror
  }

  /**
   * Rejects the wait with `error` unless the source is in the epoch of `mark`. Keeps it if the head cannot be read now.
   */
  judge(settle: Settle<void>, mark: Version, error: unknown): void {
    if (this.#context.signal.aborted) return
    this.#waiting.set(settle, { mark, error })
    if (!this.#isReading) void this.#readHead()
  }

  /** One request at a time, for all waits that began before it. */
  async #readHead(): Promise<void> {
    this.#isReading = true
    while (this.#waiting.size > 0 && !this.#context.signal.aborted) {
      const asked = [...this.#waiting]
      this.#waiting.clear()
      try {
        const head = await headOnce(this.#source, { ...this.#context, mirror: this.#mirror() })
        for (const [settle, { mark, error }] of asked) if (this.#isOther(head, mark)) settle.reject(error)
      } catch {
        // Requested again after the next batch or list.
      }
    }
    this.#isReading = false
  }

  #isOther(head: Version | undefined, mark: Version): boolean {
    if (head === undefined) return false
    try {
      this.#source.hasReached?.(head, mark)
      return false
    } catch {
      return true
    }
  }
}
