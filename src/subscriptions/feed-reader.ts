import type { SourceError } from '../contract/errors.js'
import type { FailingKey } from './controller/controller-types.js'
import type { SlowestCall } from './delivery/slow-handler-monitor.js'
import type { SubscriptionKind } from './feed-counts.js'

/** The consumer of a feed. */
export interface FeedReader {
  readonly kind: SubscriptionKind
  /** The handler or run that has run for the longest time. */
  readonly longestRunning: { readonly key: string; readonly since: number } | undefined
  /** The asynchronous handler or run that took the longest time of those that have ended. */
  readonly slowest: SlowestCall | undefined
  /** The keys whose last run failed. */
  readonly failing?: ReadonlyMap<string, FailingKey>
  /** The informers that are not synced, and why, if a controller waits for them. */
  readonly waitsFor?: string | undefined
  /** Called when a batch can be dequeued, and when the feed was closed. */
  wake(): void
  /** Called when the feed was closed. */
  closed?(reason: SourceError): void
}

/** The consumer of a feed whose consumer is not constructed yet. */
export const NO_READER: FeedReader = {
  kind: 'subscription',
  longestRunning: undefined,
  slowest: undefined,
  wake: () => {},
}
