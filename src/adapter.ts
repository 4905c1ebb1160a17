/**
 * The contract of a source, for authors of adapters, and those of caches, lease stores and relay stores.
 *
 * @module listwatch/adapter
 */

// Of a source: read `ListerWatcher` first, which is in `listwatch` too.

export { type Clock, systemClock } from './contract/clock.js'
export {
  OptionError,
  SourceError,
  type SourceErrorCode,
  type SourceErrorOptions,
  type SourceErrorPhase,
} from './contract/errors.js'
export type * from './contract/events.js'
export { type Random, systemRandom } from './contract/random.js'
export {
  type CollectionBatch,
  type CollectionSource,
  type HistoryWatchContext,
  type SharedHistory,
  watchCollection,
} from './contract/shared-history.js'
export type {
  ListContext,
  ListerWatcher,
  ListTransaction,
  Sink,
  SourceContext,
  WatchContext,
} from './contract/source.js'
export { type SplitSource, splitSource } from './contract/split-source.js'
export type { Proof } from './contract/status.js'
export type { Version } from './contract/version.js'

// Of a cache.

export type * from './contract/mirror-cache.js'

// Of a lease store and of a relay store.

export * from './contract/leases.js'
export * from './contract/relay-store.js'
export type { ReplicaStatus } from './subscriptions/controller/controller-types.js'

// For programs that compose a reflector, a queue and a store themselves.

export type { ChangeBase, DeltaBatch } from './queue/change.js'
export type { DeltaFIFOOptions } from './queue/delta-fifo.js'
