/**
 * Informers and their controllers, the contract of a source, and the parts to compose a mirror of your own.
 *
 * @module listwatch
 */

// For users.

export { TerminalError, terminal } from './contract/errors.js'
export type { Logger, Proof, State, Status } from './contract/status.js'
export { derive, deriveMany, groupBy } from './derive/derive.js'
export type { DeriveManyOptions, DeriveOptions, GroupByOptions, ViewOptions } from './derive/view-options.js'
export { createInformer } from './informer/create-informer.js'
export { groupInformers } from './informer/informer-group.js'
export type { Health, HealthOptions, Informer, InformerOptions, Lifecycle } from './informer/informer-types.js'
export type {
  FailingPicture,
  FirstOf,
  IndexPicture,
  Inspection,
  MemoryPicture,
  ProofPicture,
  SourcePicture,
  SubscriptionPicture,
  TransitionPicture,
} from './informer/observation/inspect-types.js'
export { type SourceSet, sourceSet } from './informer/sources/source-set.js'
export type { SchemaIssue, SchemaResult, StandardSchema } from './informer/standard-schema.js'
export type {
  Added,
  Change,
  ChangeBase,
  Deleted,
  Delta,
  DeltaBatch,
  DeltaType,
  Gone,
  Origin,
  Updated,
} from './queue/change.js'
export type { Compound, Equal, Index, IndexBuilder, IndexValue, Ordered, Range } from './store/indexes/index-types.js'
export type { Scalar } from './store/indexes/scalar.js'
export type { StoreView } from './store/store-view.js'
export type {
  Controller,
  FailingKey,
  RateLimit,
  ReconcileContext,
  ReconcileOptions,
  ReplicaStatus,
  RetryOptions,
  RunReason,
  Syncable,
  Watch,
} from './subscriptions/controller/controller-types.js'
export type { HandlerContext, Handlers } from './subscriptions/delivery/handler-types.js'
export type {
  ChangeBatch,
  ChangeStream,
  Scope,
  SubscribeOptions,
  Subscription,
} from './subscriptions/subscription-types.js'
export type { VersionWait } from './subscriptions/version-waiters.js'
export type { Wait } from './util/deadline.js'

// For authors of adapters.

export { type Clock, systemClock } from './contract/clock.js'
export {
  OptionError,
  SourceError,
  type SourceErrorCode,
  type SourceErrorOptions,
  type SourceErrorPhase,
} from './contract/errors.js'
export {
  type Eviction,
  LeaseLostError,
  type LeaseRecord,
  type LeaseSession,
  type Leases,
  type LeaseView,
} from './contract/leases.js'
export type {
  MirrorCache,
  MirrorCacheContext,
  MirrorHeader,
  MirrorToSave,
  PackedBlock,
  PackedContent,
  PackedPart,
  PackedSection,
  SavedEntry,
  SavedFiltered,
  SavedInvalid,
  SavedMirror,
  SavedRecord,
} from './contract/mirror-cache.js'
export { type Random, systemRandom } from './contract/random.js'
export { RelayConflictError, type RelayStore, type StoredText, type TextChange } from './contract/relay-store.js'
export type {
  Delete,
  Entry,
  Invalid,
  ListContext,
  ListEvent,
  ListerWatcher,
  ListPage,
  Put,
  Replace,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
  WatchEvent,
} from './contract/source.js'
export type { Version } from './contract/version.js'

// For programs that compose a reflector, a queue and a store themselves.

export type { ListTransaction, Sink } from './contract/source.js'
export { DeltaFIFO, type DeltaFIFOOptions } from './queue/delta-fifo.js'
export { Reflector } from './reflector/reflector.js'
export { Indexer } from './store/indexer.js'
