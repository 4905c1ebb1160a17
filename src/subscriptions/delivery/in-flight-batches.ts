import type { StorePosition } from '../../queue/change-queue.js'
import type { DeliveredBatch } from '../delivered-batch.js'
import type { Feed } from '../feed.js'

/** A dequeued batch with changes that are not handled yet. It keeps the position of the batch, and no changes. */
export interface InFlightBatch {
  pending: number
  /** The position after the last of the batches that end with it. */
  end: StorePosition | undefined
  /** The position after the batch itself. */
  readonly position: StorePosition | undefined
  /** How many dequeued batches end with it. */
  batches: number
  previous: InFlightBatch | undefined
  next: InFlightBatch | undefined
}

/**
 * The dequeued batches of a feed. One is acknowledged to the feed when it and all batches before it are handled. A
 * batch that is handled before an earlier one is merged into that one. So their number is bounded by the changes that
 * are not handled, even if the handler of one key never settles.
 */
export class InFlightBatches<T> {
  readonly #feed: Feed<T>
  #last: InFlightBatch | undefined

  constructor(feed: Feed<T>) {
    this.#feed = feed
  }

  /** Adds a batch that was just dequeued, with one pending change. The caller acknowledges that one after `expect`. */
  track({ position }: DeliveredBatch<T>): InFlightBatch {
    const previous = this.#last
    const tracked: InFlightBatch = { pending: 1, end: position, position, batches: 1, previous, next: undefined }
    if (previous !== undefined) previous.next = tracked
    this.#last = tracked
    this.#feed.trackedBatches++
    return tracked
  }

  /** `count` may be negative. */
  expect(batch: InFlightBatch, count: number): void {
    batch.pending += count
    if (batch.pending === 0) this.#settle(batch)
  }

  ack(batch: InFlightBatch): void {
    this.expect(batch, -1)
  }

  #settle({ previous, next, end, batches }: InFlightBatch): void {
    this.#feed.trackedBatches--
    if (next === undefined) this.#last = previous
    else next.previous = previous
    if (previous === undefined) {
      this.#feed.ackThrough(end, batches)
      return
    }
    previous.next = next
    previous.end = end
    previous.batches += batches
  }
}
