import type { SourceError } from '../../contract/errors.js'
import type { Feed } from '../feed.js'
import type { FeedOptions } from '../subscription-types.js'
import { ConcurrentDelivery } from './concurrent-delivery.js'
import { FeedConsumer } from './feed-consumer.js'
import { HandlerCaller } from './handler-caller.js'
import type { Handlers } from './handler-types.js'
import { SerialDelivery } from './serial-delivery.js'
import type { SlowHandlerMonitor } from './slow-handler-monitor.js'

/** The changes of a key are handled one after the other, `concurrency` keys at a time. */
export class HandlerSubscription<T> extends FeedConsumer<T> {
  readonly #caller: HandlerCaller<T>
  readonly #delivery: SerialDelivery<T> | ConcurrentDelivery<T>

  constructor(feed: Feed<T>, handlers: Handlers<T>, options: FeedOptions<T>) {
    super(feed, 'subscription', options.signal)
    const { concurrency = 1, timeoutMs } = options
    const rested = (): void => this.rested()
    this.#caller = new HandlerCaller(feed, handlers, timeoutMs, () => this.backlog.keys)
    this.#delivery =
      concurrency === 1
        ? new SerialDelivery(feed, this.#caller, rested)
        : new ConcurrentDelivery(feed, this.#caller, options, rested)
    this.connect()
  }

  get backlog(): { readonly keys: number; readonly oldestMs: number; readonly oldestKey: string | undefined } {
    const { keys, oldestMs } = this.feed.backlog
    const oldestKey = this.slow?.longest?.key
    const { unhandled } = this.#delivery
    if (unhandled === 0) return { keys, oldestMs, oldestKey }
    const unhandledMs = this.feed.host.clock.now() - this.#delivery.unhandledSince
    return { keys: keys + unhandled, oldestMs: Math.max(oldestMs, unhandledMs), oldestKey }
  }

  get slow(): SlowHandlerMonitor | undefined {
    return this.#caller.slow
  }

  wake(): void {
    this.#delivery.wake()
  }

  protected get isBusy(): boolean {
    return this.feed.hasQueued || this.#delivery.isBusy || this.slow?.longest !== undefined
  }

  protected override abort(reason: SourceError): void {
    this.#caller.cancel(reason)
  }

  protected override release(): void {
    this.#delivery.clear()
    super.release()
  }

  protected override ended(): void {
    this.release()
  }
}
