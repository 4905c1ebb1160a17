import type { Clock } from '../contract/clock.js'
import type { SourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import type { Indexer } from '../store/indexer.js'
import type { ChangeRouter } from '../subscriptions/change-router.js'
import { NO_POSITION, type StorePosition } from '../subscriptions/delivery-progress.js'
import type { Feed, FeedHost, RoutedCommit } from '../subscriptions/feed.js'
import type { Subscription } from '../subscriptions/subscription-types.js'
import type { Settle } from '../util/deadline.js'
import type { Latch } from '../util/latch.js'
import { SerialQueue } from '../util/serial-queue.js'
import type { Slices } from '../util/steps.js'
import type { InformerEvents } from './informer-events.js'
import type { InformerSources } from './informer-sources.js'
import type { InformerWaits } from './informer-waits.js'

interface Parts<S, T> {
  readonly indexer: Indexer<T, unknown>
  readonly clock: Clock
  readonly slices: Slices
  readonly events: InformerEvents
  readonly sources: InformerSources<S, T>
  readonly waits: InformerWaits<S, T>
  readonly synced: Latch
  readonly router: ChangeRouter<T>
  readonly subscriptions: Map<Feed<T>, Subscription>
}

/** The view of an informer that its feeds have. */
export class InformerFeedHost<S, T> implements FeedHost<T> {
  readonly indexer: Indexer<T, unknown>
  readonly clock: Clock
  readonly slices: Slices
  readonly scans: SerialQueue = new SerialQueue()
  readonly isOfSet: boolean
  /** Whether readers see objects: the first list, or saved content. */
  isFilled = false
  routed: RoutedCommit = { commit: 0, position: NO_POSITION }
  readonly #parts: Parts<S, T>

  constructor(parts: Parts<S, T>) {
    this.#parts = parts
    this.indexer = parts.indexer
    this.clock = parts.clock
    this.slices = parts.slices
    this.isOfSet = parts.sources.isSet
  }

  get position(): StorePosition {
    return { version: this.indexer.writer.position, history: this.shownHistory }
  }

  /** All changes of the last commit were queued. */
  markRouted(): void {
    this.routed = { commit: this.indexer.writer.commits, position: this.position }
  }

  get sourceName(): string {
    return this.#parts.sources.name
  }

  get history(): number | undefined {
    return this.isOfSet ? 0 : this.#parts.sources.find('waitFor', undefined).history
  }

  get shownHistory(): number | undefined {
    return this.isOfSet ? 0 : this.#parts.sources.find('waitFor', undefined).shownHistory
  }

  isSynced(): boolean {
    return this.#parts.synced.isOpen
  }

  hasReached(call: string, source?: string): (at: Version, mark: Version) => boolean {
    return this.#parts.sources.hasReached(call, source)
  }

  followHistory(
    source: string | undefined,
    onEpochChange: (error: SourceError) => void,
  ): ReturnType<FeedHost<T>['followHistory']> {
    const runner = this.#parts.sources.find('waitFor', source)
    const { history } = runner
    return {
      // The wait for the store cannot end for a source that was removed.
      isShown: () => !this.isOfSet || runner.refusal !== undefined || runner.history === history,
      leave: runner.onEpochChange(onEpochChange),
    }
  }

  waitForStore(version: Version, source: string | undefined, settle: Settle<void>): () => void {
    const { sources, waits } = this.#parts
    return waits.enter(sources.find('waitFor', source), version, settle)
  }

  /** Reports after the current step, because a listener that removes a source would overtake a commit. */
  report(error: SourceError): void {
    void Promise.resolve().then(() => this.#parts.events.report(error))
  }

  attach(feed: Feed<T>): void {
    this.#parts.router.add(feed)
  }

  detach(feed: Feed<T>): void {
    this.#parts.router.remove(feed)
  }

  release(feed: Feed<T>): void {
    this.#parts.subscriptions.delete(feed)
  }
}
