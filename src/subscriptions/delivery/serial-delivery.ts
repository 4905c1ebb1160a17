import { TimeSlice } from '../../util/time-slice.js'
import type { DeliveredBatch } from '../delivered-batch.js'
import type { Feed } from '../feed.js'
import type { HandlerCaller } from './handler-caller.js'

const READY = Promise.resolve()

export class SerialDelivery<T> {
  readonly #feed: Feed<T>
  readonly #caller: HandlerCaller<T>
  readonly #rested: () => void
  /** The number of dequeued changes for which no handler was called yet. */
  unhandled = 0
  /** Since when the oldest of these changes has waited, if there are any. */
  unhandledSince = 0
  isBusy = false

  /** `rested` is called when all changes that are ready now were delivered. */
  constructor(feed: Feed<T>, caller: HandlerCaller<T>, rested: () => void) {
    this.#feed = feed
    this.#caller = caller
    this.#rested = rested
  }

  wake(): void {
    if (this.isBusy) return
    this.isBusy = true
    // Not inside the commit: handlers read a store that has the whole commit, and may call the informer.
    void READY.then(() => {
      const slice = new TimeSlice(this.#feed.host.clock, this.#feed.oldestAt)
      this.#deliver(slice, this.#dequeue(), 0, false)
    })
  }

  clear(): void {
    this.unhandled = 0
  }

  /** Returns at a promise and at the end of a slice, and is called again after that. An async function costs more. */
  #deliver(slice: TimeSlice, first: DeliveredBatch<T> | undefined, from: number, isSliceOver: boolean): void {
    let batch = first
    let next = from
    let isOver = isSliceOver
    while (batch !== undefined && this.#feed.closed === undefined) {
      const current = batch
      const at = next++
      const change = current.changes[at]
      if (change === undefined) {
        this.#feed.ack(current)
        batch = this.#dequeue()
        next = 0
        continue
      }
      // Before the call: a batch is acknowledged when its last handler has settled.
      if (isOver) {
        void slice.turn().then(() => this.#deliver(slice, current, at, false))
        return
      }
      this.unhandled--
      const working = this.#caller.call(change)
      if (working !== undefined) {
        void working.then(() => this.#deliver(slice, current, at + 1, slice.isOverAfterCall()))
        return
      }
      isOver = slice.isOverAfterCall()
    }
    this.isBusy = false
    this.#rested()
  }

  #dequeue(): DeliveredBatch<T> | undefined {
    if (!this.#feed.hasMore) return undefined
    this.unhandledSince = this.#feed.oldestAt ?? this.#feed.host.clock.now()
    const batch = this.#feed.dequeue()
    this.unhandled += batch?.changes.length ?? 0
    return batch
  }
}
