import { SourceError } from '../../contract/errors.js'
import type { Version } from '../../contract/version.js'
import { onAbort } from '../../util/abort-listeners.js'
import { promised, settleWithin, type Wait } from '../../util/deadline.js'
import { checkOptions, isBoolean } from '../../util/validate-options.js'
import type { Feed, FeedReader } from '../feed.js'
import type { SubscriptionKind } from '../feed-counts.js'
import { CLOSE_GRACE_MS, type Subscription } from '../subscription-types.js'
import type { VersionWait } from '../version-waiters.js'
import type { SlowHandlerMonitor } from './slow-handler-monitor.js'

/** The common part of subscriptions, batch iterators and controllers: waits, closing, the caller's signal. */
export abstract class FeedConsumer<T> implements Subscription, FeedReader {
  protected readonly feed: Feed<T>
  readonly kind: SubscriptionKind
  readonly #signal: AbortSignal | undefined
  #unlink: (() => void) | undefined
  #idle: PromiseWithResolvers<void> | undefined
  /** Set by the first call that ends it. Later calls wait for the same end. */
  #closing: Promise<void> | undefined

  constructor(feed: Feed<T>, kind: SubscriptionKind, signal: AbortSignal | undefined) {
    this.feed = feed
    this.kind = kind
    this.#signal = signal
  }

  abstract get backlog(): { readonly keys: number; readonly oldestMs: number; readonly oldestKey?: string | undefined }

  abstract get slow(): SlowHandlerMonitor | undefined

  abstract wake(): void

  /** A drain does not wait any longer for what runs. */
  closed(reason: SourceError): void {
    this.#notifyIdle()
    // The feed may have failed inside a commit, and listeners of the signals must not run there.
    void Promise.resolve().then(() => this.abort(reason))
  }

  protected abstract get isBusy(): boolean

  /** Aborts the running handlers, and drops the pending changes. The feed is closed already. */
  protected cancel(reason: SourceError): void {
    this.abort(reason)
  }

  protected abort(_reason: SourceError): void {}

  /** Starts to consume the feed. Constructors of subclasses call it last. */
  protected connect(): void {
    this.feed.reader = this
    if (this.feed.hasMore) this.wake()
    if (this.#signal?.aborted) void this.close()
    else this.#unlink = onAbort(this.#signal, () => void this.close())
    // A feed may fail in its constructor, before it has a reader.
    if (this.feed.closed !== undefined) this.release()
  }

  get version(): Version | undefined {
    return this.feed.version
  }

  synced(wait?: Wait): Promise<void> {
    return promised(() => this.feed.synced('synced', wait))
  }

  waitFor(version: Version, wait?: VersionWait): Promise<void> {
    return promised(() => this.feed.waitFor(version, wait))
  }

  async close(options: { readonly drain?: boolean } = {}): Promise<void> {
    checkOptions('close', options, { drain: isBoolean })
    if (options.drain === true) {
      this.stopAccepting()
      while (this.feed.closed === undefined && this.isBusy) await this.#untilIdle()
    }
    this.#closing ??= this.#end()
    await this.#closing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  protected stopAccepting(): void {
    this.feed.stopAccepting()
  }

  /** Called at the end of `close`, also if something still runs after the grace period. */
  protected ended(): void {}

  /** Subclasses call it after each round of work. */
  protected rested(): void {
    if (this.isBusy) return
    if (this.feed.closed !== undefined) this.release()
    this.#notifyIdle()
  }

  protected release(): void {
    this.#unlink?.()
    this.feed.host.release(this.feed)
  }

  async #end(): Promise<void> {
    this.#unlink?.()
    const reason = new SourceError(`the ${this.kind} was closed`, { code: 'STOPPED' })
    this.feed.close(reason)
    this.cancel(reason)
    if (this.isBusy) await settleWithin(CLOSE_GRACE_MS, this.#untilIdle(), this.feed.host.clock)
    this.slow?.stop()
    this.ended()
    // A call that drains does not wait for what still runs after the grace period.
    this.#notifyIdle()
  }

  #untilIdle(): Promise<void> {
    this.#idle ??= Promise.withResolvers()
    return this.#idle.promise
  }

  #notifyIdle(): void {
    this.#idle?.resolve()
    this.#idle = undefined
  }
}
