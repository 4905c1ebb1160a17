import type { SubscriptionKind } from './feed-counts.js'
import type { SlowestCall } from './slow-handler-monitor.js'

/** The consumer of a feed. */
export interface FeedReader {
  readonly kind: SubscriptionKind
  /** The handler or run that has run for the longest time. */
  readonly longestRunning: { readonly key: string; readonly since: number } | undefined
  /** The asynchronous handler or run that took the longest time of those that have ended. */
  readonly slowest: SlowestCall | undefined
  /** Returns the keys whose last run failed, at most `limit` of them, and their number. */
  failing?(limit: number): { readonly count: number; readonly first: readonly FailingRun[] }
  /** Called when a batch can be dequeued, and when the feed was closed. */
  wake(): void
}

/** A key of a controller whose last run failed. */
export interface FailingRun {
  readonly key: string
  /** The number of the next run. */
  readonly attempt: number
  readonly retryAt: number
  readonly lastError: string
}

/** The consumer of a feed whose consumer is not constructed yet. */
export const NO_READER: FeedReader = {
  kind: 'subscription',
  longestRunning: undefined,
  slowest: undefined,
  wake: () => {},
}
