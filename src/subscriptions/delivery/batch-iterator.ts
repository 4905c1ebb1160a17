import type { DeliveredBatch } from '../delivered-batch.js'
import type { Feed } from '../feed.js'
import type { ChangeBatch, ChangeStream } from '../subscription-types.js'
import { FeedConsumer } from './feed-consumer.js'

type Result<T> = IteratorResult<ChangeBatch<T>, undefined>

export class BatchIterator<T>
  extends FeedConsumer<T>
  implements ChangeStream<T>, AsyncIterator<ChangeBatch<T>, undefined>
{
  readonly slow = undefined
  #current: DeliveredBatch<T> | undefined
  #reads: { resolve(result: Result<T>): void; reject(reason: unknown): void }[] = []
  #hasThrown = false

  constructor(feed: Feed<T>, signal: AbortSignal | undefined) {
    super(feed, 'stream', signal)
    this.connect()
  }

  get backlog(): { readonly keys: number; readonly oldestMs: number } {
    return this.feed.backlog
  }

  [Symbol.asyncIterator](): AsyncIterator<ChangeBatch<T>, undefined> {
    return this
  }

  next(): Promise<Result<T>> {
    return new Promise((resolve, reject) => {
      this.#reads.push({ resolve, reject })
      this.wake()
    })
  }

  async return(): Promise<Result<T>> {
    await this.close()
    return { value: undefined, done: true }
  }

  wake(): void {
    const { closed } = this.feed
    while (this.#reads.length > 0) {
      this.#ackCurrent()
      const batch = this.feed.dequeue()
      if (batch === undefined && closed === undefined) break
      const read = this.#reads.shift()
      if (batch !== undefined) {
        this.#current = batch
        read?.resolve({ value: batch, done: false })
      } else if (closed?.code === 'STOPPED' || this.#hasThrown) read?.resolve({ value: undefined, done: true })
      else {
        this.#hasThrown = true
        read?.reject(closed)
      }
    }
    if (closed !== undefined) this.release()
    this.rested()
  }

  protected get isBusy(): boolean {
    return this.feed.hasQueued || this.#current !== undefined
  }

  protected override cancel(): void {
    this.#current = undefined
    this.wake()
  }

  #ackCurrent(): void {
    const current = this.#current
    this.#current = undefined
    if (current !== undefined) this.feed.ack(current)
  }
}
