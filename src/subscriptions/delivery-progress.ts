import type { Version } from '../contract/version.js'

/** A position of the store: a version, and the history of the source in which it is one. */
export interface StorePosition {
  readonly version: Version | undefined
  readonly history: number | undefined
}

export const NO_POSITION: StorePosition = { version: undefined, history: undefined }

/** Which position the consumer of a feed has handled. */
export class DeliveryProgress {
  /** The position of the last synced batch that was acknowledged. */
  handled: StorePosition = NO_POSITION
  /** Whether the first synced batch was acknowledged. */
  isSynced = false
  #inFlight = 0
  /** The history of the batches that are dequeued now. */
  #history: number | undefined
  /** How many batches have to be acknowledged before `handled` is a position in `#history`. */
  #untilHistory = 0

  /** Whether every dequeued batch was acknowledged. */
  get isIdle(): boolean {
    return this.#inFlight === 0
  }

  /** The batch that is dequeued next is of this history. */
  nextIsOf(history: number | undefined): void {
    if (history === this.#history) return
    this.#history = history
    this.#untilHistory = this.#inFlight + 1
  }

  dequeued(): void {
    this.#inFlight++
  }

  /**
   * Acknowledges batches, the last of which ends at `version`. A batch of the replay has no version, unless `isSynced`.
   * Without `hasMore` no batch is left, so the consumer has handled what the store has, and nothing is remembered.
   */
  acknowledged(batches: number, version: Version | undefined, isSynced: boolean, hasMore: boolean): void {
    this.#inFlight -= batches
    this.#untilHistory -= batches
    if (!isSynced) return
    this.isSynced = true
    if (this.isIdle && !hasMore) {
      this.handled = NO_POSITION
      return
    }
    const history = this.#untilHistory > 0 ? this.handled.history : this.#history
    this.handled = { version, history }
  }
}
