import type { Clock } from '../contract/clock.js'
import { SourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import type { Indexer } from '../store/indexer.js'
import type { ChangeRouter } from '../subscriptions/change-router.js'
import { FeedController } from '../subscriptions/controller/controller.js'
import type {
  Controller,
  ControllerWatch,
  ReconcileContext,
  ReconcileOptions,
} from '../subscriptions/controller/controller-types.js'
import { checkReconcileOptions } from '../subscriptions/controller/reconcile-options.js'
import { BatchIterator } from '../subscriptions/delivery/batch-iterator.js'
import { HandlerSubscription } from '../subscriptions/delivery/handler-subscription.js'
import { assertHandlers, type Handlers } from '../subscriptions/delivery/handler-types.js'
import { Feed, type FeedHost, type FeedWants, WANTS_ADDS, WANTS_BATCHES, WANTS_CHANGES } from '../subscriptions/feed.js'
import type { FollowedHistory } from '../subscriptions/feed-waits.js'
import type { ChangeStream, FeedOptions, SubscribeOptions, Subscription } from '../subscriptions/subscription-types.js'
import { type Settle, settleWithin } from '../util/deadline.js'
import type { InformerContext } from './informer-context.js'
import type { InformerWaits } from './informer-waits.js'
import type { Observation } from './observation/observation.js'
import type { InformerSources } from './sources/informer-sources.js'

const KINDS = { subscribe: 'subscription', changes: 'stream', reconcile: 'controller' } as const

export class InformerSubscriptions<S, T> implements FeedHost<T> {
  readonly indexer: Indexer<T, unknown>
  readonly router: ChangeRouter<T>
  readonly clock: Clock
  readonly isOfSet: boolean
  readonly #context: InformerContext<T>
  readonly #sources: InformerSources<S, T>
  readonly #waits: InformerWaits<S, T>
  readonly #observation: Observation<S, T>
  readonly #dependencies = new Map<Feed<T>, readonly object[]>()

  constructor(
    context: InformerContext<T>,
    sources: InformerSources<S, T>,
    waits: InformerWaits<S, T>,
    observation: Observation<S, T>,
  ) {
    this.#context = context
    this.#sources = sources
    this.#waits = waits
    this.#observation = observation
    this.indexer = context.indexer
    this.router = context.router
    this.clock = context.clock
    this.isOfSet = sources.isOfSet
  }

  subscribe<I>(handlers: Handlers<T>, options: SubscribeOptions<T, I>): Subscription {
    assertHandlers(handlers, 'subscribe')
    const feed = this.#feed('subscribe', options, handlers.add === undefined ? WANTS_CHANGES : WANTS_ADDS)
    return this.#own(feed, new HandlerSubscription(feed, handlers, options))
  }

  changes<I>(options: SubscribeOptions<T, I>): ChangeStream<T> {
    const feed = this.#feed('changes', options, WANTS_BATCHES)
    return this.#own(feed, new BatchIterator(feed, options.signal))
  }

  reconcile<I, W extends readonly unknown[]>(
    fn: (key: string, context: ReconcileContext<T>) => Promise<void>,
    options: ReconcileOptions<T, I, W>,
  ): Controller {
    if (typeof fn !== 'function') throw new TypeError('reconcile: the first argument must be a function')
    checkReconcileOptions(options)
    const { retry, rateLimit, priority, leases, watches, after = [], ...scope } = options
    const watched: readonly ControllerWatch<W[number]>[] = watches ?? []
    const others = [...after, ...watched.map(({ informer }) => informer)]
    const feed = this.#feed('reconcile', scope)
    try {
      const controller = new FeedController(feed, fn, { ...options, after: others, random: this.#context.random })
      for (const watch of watched) controller.watch(watch)
      this.#dependencies.set(feed, others)
      return this.#own(feed, controller)
    } catch (error) {
      feed.close(new SourceError('the controller was not created', { code: 'STOPPED', cause: error }))
      throw error
    }
  }

  get dependencies(): readonly object[] {
    return [...this.#dependencies.values()].flat()
  }

  close(): Promise<void>[] {
    return Array.from(this.#context.subscriptions.values(), (subscription) => subscription.close())
  }

  async drain(ms: number): Promise<void> {
    // Before the first list nothing was delivered, and no list arrives after the stop.
    if (!this.router.isFilled) return
    const drained = async (): Promise<void> => {
      await this.indexer.writer.idle() // The changes of a large commit may still be queued.
      await Promise.all(Array.from(this.#context.subscriptions.values(), (each) => each.close({ drain: true })))
    }
    await settleWithin(ms, drained(), this.clock)
  }

  #feed(call: keyof typeof KINDS, options: FeedOptions<T>, wants?: FeedWants): Feed<T> {
    if (this.#context.stopped.aborted) throw this.#sources.stoppedError(call)
    const { writer } = this.indexer
    writer.assertNotWriting(call)
    // The filter is called for all stored objects now.
    const feed = writer.reentrancy.run(() => new Feed<T>(this, call, options, wants))
    feed.counts = this.#observation.counts.of(KINDS[call], options.name).counts
    feed.informer = this.#observation.name
    return feed
  }

  #own<Sub extends Subscription>(feed: Feed<T>, subscription: Sub): Sub {
    if (feed.closed === undefined) this.#context.subscriptions.set(feed, subscription)
    // The filter may have stopped the informer.
    if (this.#context.stopped.aborted) void subscription.close()
    return subscription
  }

  get title(): string {
    return this.#sources.title
  }

  get isSynced(): boolean {
    return this.#context.synced.isOpen
  }

  /** Reports after the current step, because a listener that removes a source would overtake a commit. */
  report(error: SourceError): void {
    void Promise.resolve().then(() => this.#context.events.report(error))
  }

  release(feed: Feed<T>): void {
    this.#context.subscriptions.delete(feed)
    this.#dependencies.delete(feed)
  }

  get history(): number | undefined {
    return this.isOfSet ? 0 : this.#sources.find('waitFor', undefined).history.number
  }

  /** `history`, or that of saved content which the source has not confirmed. */
  get shownHistory(): number | undefined {
    return this.isOfSet ? 0 : this.#sources.find('waitFor', undefined).history.shown
  }

  hasReached(call: string, source?: string): (at: Version, mark: Version) => boolean {
    return this.#sources.hasReached(call, source)
  }

  followHistory(source: string | undefined, onEpochChange: (error: SourceError) => void): FollowedHistory {
    const runner = this.#sources.find('waitFor', source)
    const { history } = runner
    const { number } = history
    return {
      // The wait for the store cannot end for a source that was removed.
      isShown: () => !this.isOfSet || runner.refusal !== undefined || history.number === number,
      leave: history.onEpochChange(onEpochChange),
    }
  }

  waitForStore(version: Version, source: string | undefined, settle: Settle<void>): () => void {
    return this.#waits.enter(this.#sources.find('waitFor', source), version, settle)
  }
}
