// For users.
export type { ChangeStream } from './change-stream.js'
// For authors of sources, and for those who compose by hand.
export { type Clock, systemClock } from './clock.js'
export type { Controller, ReconcileContext } from './controller.js'
export type { Added, Change, Deleted, Delta, DeltaBatch, DeltaType, Origin, Updated } from './delta.js'
export { DeltaFIFO, type DeltaFIFOOptions } from './delta-fifo.js'
export { SourceError, type SourceErrorCode, type SourceErrorOptions, type SourceErrorPhase } from './errors.js'
export type { Compound, Equal, Index, IndexBuilder, IndexValue, Ordered, Range } from './index-types.js'
export { Indexer } from './indexer.js'
export { createInformer, type Informer, type InformerOptions, type Lifecycle } from './informer.js'
export { groupInformers } from './informer-group.js'
export { type Random, systemRandom } from './random.js'
export { Reflector } from './reflector.js'
export type { Scalar } from './scalar.js'
export type { SchemaIssue, SchemaResult, StandardSchema } from './schema.js'
export type { ChangeBatch, Scope, SubscribeOptions, Subscription } from './scope.js'
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
  Replacement,
  Sink,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
  WatchEvent,
} from './source.js'
export { type SourceSet, sourceSet } from './source-set.js'
export type { Handlers } from './subscription.js'
export type { Logger, State, Status } from './telemetry.js'
export type { Version } from './version.js'
export type { StoreView } from './views.js'
export type { VersionWait, Wait } from './waits.js'
