import type { Status } from '../../contract/status.js'
import type { NamedCounts } from '../../subscriptions/feed-counts.js'

/** The numbers of an informer that metrics export. They cost no scan of the store. */
export interface Measurements {
  readonly name: string
  /** Numbers the informers of the process in the order of their creation. */
  readonly number: number
  /** In milliseconds since the Unix epoch. */
  readonly now: number
  readonly isSynced: boolean
  readonly objects: number
  readonly invalid: number
  /** The number of different values of each equal and multi-value index, by name. */
  readonly indexValues: ReadonlyMap<string, number>
  /** How often the function of a view was called; undefined of any other informer. */
  readonly evaluations: number | undefined
  readonly sources: readonly SourceMeasurements[]
  readonly subscriptions: readonly SubscriptionMeasurements[]
}

export interface SourceMeasurements {
  /** In a set, its name there. */
  readonly name: string
  readonly status: Status
  readonly relists: ReadonlyMap<string, number>
  readonly batches: number
  readonly changes: number
  readonly audits: Readonly<Record<'equal' | 'drift' | 'failed', number>>
}

/** All subscriptions of one kind and name. */
export interface SubscriptionMeasurements extends NamedCounts {
  readonly open: number
  readonly keys: number
  readonly oldestMs: number
  readonly runningMs: number
  readonly failing: number
}
