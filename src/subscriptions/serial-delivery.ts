import { TimeSlice } from '../util/time-slice.js'
import type { Feed } from './feed.js'
import type { HandlerCaller } from './handler-caller.js'
import type { ChangeBatch } from './subscription-types.js'

/** How a subscription delivers changes to its handlers. */
export interface Delivery {
  /** The number of dequeued changes for which no handler was called yet. */
  readonly unhandled: number
  /** Since when the oldest of these changes has waited, if there are any. */
  readonly unhandledSince: number
  /** Whether it is delivering changes, or some wait for the handler of their key. */
  readonly isBusy: boolean
  /** The number of dequeued batches that are tracked. */
  readonly batchesInFlight: number
  /** Starts delivering, unless it is already. */
  wake(): void
  /** Drops the changes for which no handler was called. */
  clear(): void
}

const READY = Promise.resolve()

/** Delivers one change after the other. */
export class SerialDelivery<T> implements Delivery {
  readonly #feed: Feed<T>
  readonly #caller: HandlerCaller<T>
  readonly #onRest: () => void
  readonly #slice: TimeSlice
  readonly batchesInFlight = 0
  unhandled = 0
  unhandledSince = 0
  isBusy = false

  /** `onRest` is called when there is nothing more to deliver. */
  constructor(feed: Feed<T>, caller: HandlerCaller<T>, onRest: () => void) {
    this.#feed = feed
    this.#caller = caller
    this.#onRest = onRest
    this.#slice = new TimeSlice(feed.host.clock)
  }

  wake(): void {
    if (this.isBusy) return
    this.isBusy = true
    // Not inside the commit: handlers read a store that has the whole commit, and may call the informer.
    void READY.then(this.#start)
  }

  clear(): void {
    this.unhandled = 0
  }

  readonly #start = (): void => void this.#deliver()

  async #deliver(): Promise<void> {
    this.#slice.begin(this.#feed.oldestAt)
    let isOver = false
    for (let batch = this.#dequeue(); batch !== undefined; batch = this.#dequeue()) {
      for (const change of batch.changes) {
        // Before the call: a batch is acknowledged when its last handler has settled.
        if (isOver) await this.#slice.turn()
        if (this.#feed.closed !== undefined) return this.#rest()
        this.unhandled--
        const working = this.#caller.call(change)
        if (working !== undefined) await working
        isOver = this.#slice.isOverAfterCall()
      }
      if (this.#feed.closed === undefined) this.#feed.ack(batch)
    }
    this.#rest()
  }

  #dequeue(): ChangeBatch<T> | undefined {
    if (!this.#feed.hasMore) return undefined
    this.unhandledSince = this.#feed.oldestAt ?? this.#feed.host.clock.now()
    const batch = this.#feed.dequeue()
    this.unhandled += batch?.changes.length ?? 0
    return batch
  }

  #rest(): void {
    this.isBusy = false
    this.#onRest()
  }
}
