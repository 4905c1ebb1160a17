import type { BatchEnd, Feed } from './feed.js'
import type { ChangeBatch } from './subscription-types.js'

/** A taken batch of which something is left to do. It keeps where it ends, and none of its changes. */
export interface OpenBatch {
  /** How many of its changes are not done. */
  left: number
  end: BatchEnd
  /** How many taken batches end with it. */
  batches: number
  before: OpenBatch | undefined
  after: OpenBatch | undefined
}

/**
 * The taken batches of a feed of which something is left to do, where what was taken later may be done earlier. A batch
 * is finished when it and all before it are done. One that is done behind one that is not becomes a part of that: so what
 * is kept is bounded by what is left to do, however much is done behind a key that is stuck.
 */
export class OpenBatches<T> {
  readonly #feed: Feed<T>
  #last: OpenBatch | undefined
  #size = 0

  constructor(feed: Feed<T>) {
    this.#feed = feed
  }

  get size(): number {
    return this.#size
  }

  /** A batch that was just taken. One is left of it, until `done` says that all that it brings has been added. */
  begin(batch: ChangeBatch<T>): OpenBatch {
    const before = this.#last
    const open: OpenBatch = { left: 1, end: this.#feed.endOf(batch), batches: 1, before, after: undefined }
    if (before !== undefined) before.after = open
    this.#last = open
    this.#size++
    return open
  }

  /** So many more are left to do of a batch, or fewer. */
  add(open: OpenBatch, more: number): void {
    open.left += more
    if (open.left === 0) this.#end(open)
  }

  done(open: OpenBatch): void {
    this.add(open, -1)
  }

  #end({ before, after, end, batches }: OpenBatch): void {
    this.#size--
    if (after === undefined) this.#last = before
    else after.before = before
    if (before === undefined) {
      this.#feed.finishTo(end, batches)
      return
    }
    before.after = after
    before.end = end
    before.batches += batches
  }
}
