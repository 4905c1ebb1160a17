import { SourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import type { Wait } from '../util/deadline.js'
import { checkOptions, isBoolean } from '../util/validate-options.js'
import type { Feed } from './feed.js'
import type { ChangeBatch, Subscription } from './subscription-types.js'
import type { VersionWait } from './version-waiters.js'

/**
 * A subscription as an async iterator of batches. A batch counts as handled when the next one is asked for; until then
 * what happens waits in the queue. It ends, without an error, when it is closed, when its signal aborts and when the
 * informer stops; leaving the loop closes it.
 */
export interface ChangeStream<T> extends Subscription, AsyncIterable<ChangeBatch<T>> {}

type Result<T> = IteratorResult<ChangeBatch<T>, undefined>

export class BatchIterator<T> implements ChangeStream<T>, AsyncIterator<ChangeBatch<T>, undefined> {
  readonly #feed: Feed<T>
  readonly #signal: AbortSignal | undefined
  #held: ChangeBatch<T> | undefined
  #asking: { resolve(result: Result<T>): void; reject(reason: unknown): void }[] = []
  #idle: (() => void)[] = []
  #isOver = false

  constructor(feed: Feed<T>, signal: AbortSignal | undefined) {
    this.#feed = feed
    this.#signal = signal
    feed.wake = () => this.#answer()
    if (signal?.aborted) this.#end()
    else signal?.addEventListener('abort', this.#end, { once: true })
  }

  get version(): Version | undefined {
    return this.#feed.version
  }

  get backlog(): { readonly keys: number; readonly oldestMs: number } {
    return this.#feed.backlog
  }

  [Symbol.asyncIterator](): AsyncIterator<ChangeBatch<T>, undefined> {
    return this
  }

  next(): Promise<Result<T>> {
    return new Promise((resolve, reject) => {
      this.#asking.push({ resolve, reject })
      this.#answer()
    })
  }

  async return(): Promise<Result<T>> {
    this.#end()
    return { value: undefined, done: true }
  }

  synced(wait?: Wait): Promise<void> {
    return this.#feed.synced('synced', wait)
  }

  waitFor(version: Version, wait?: VersionWait): Promise<void> {
    return this.#feed.waitFor(version, wait)
  }

  async close(options: { readonly drain?: boolean } = {}): Promise<void> {
    checkOptions('close', options, { drain: isBoolean })
    if (options.drain === true) {
      this.#feed.stopAccepting()
      while (this.#feed.hasMore || this.#held !== undefined)
        await new Promise<void>((resolve) => this.#idle.push(resolve))
    }
    this.#end()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  readonly #end = (): void => {
    this.#feed.close(new SourceError('the stream was closed', { code: 'STOPPED' }))
    this.#held = undefined
    this.#answer()
  }

  /** The consumer is done with what it got last. */
  #release(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.#feed.ack(held)
  }

  #answer(): void {
    const { closed } = this.#feed
    while (this.#asking.length > 0) {
      this.#release()
      const batch = this.#feed.dequeue()
      if (batch === undefined && closed === undefined) break
      const asking = this.#asking.shift()
      if (batch !== undefined) {
        this.#held = batch
        asking?.resolve({ value: batch, done: false })
      } else if (closed?.code === 'STOPPED' || this.#isOver) asking?.resolve({ value: undefined, done: true })
      else {
        this.#isOver = true
        asking?.reject(closed)
      }
    }
    if (closed !== undefined) {
      this.#signal?.removeEventListener('abort', this.#end)
      this.#feed.host.release(this.#feed)
    }
    if (this.#held !== undefined || this.#feed.hasMore) return
    const idle = this.#idle
    this.#idle = []
    for (const resolve of idle) resolve()
  }
}
