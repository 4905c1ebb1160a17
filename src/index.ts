/**
 * Informers, their controllers and views, and the parts to compose a mirror of your own. Authors of adapters find the
 * contract of a source in `listwatch/adapter`.
 *
 * @module listwatch
 */

export { OptionError, SourceError, type SourceErrorCode, TerminalError, terminal } from './contract/errors.js'
export type { ListerWatcher } from './contract/source.js'
export type { Logger, MirrorState, Status } from './contract/status.js'
export type { Version } from './contract/version.js'
export { derive, deriveMany, groupBy } from './derive/derive.js'
export type { DeriveManyOptions, DeriveOptions, GroupByOptions, ViewOptions } from './derive/view-options.js'
export { createInformer } from './informer/create-informer.js'
export { groupInformers } from './informer/informer-group.js'
export type { Health, HealthOptions, Informer, InformerOptions, Lifecycle } from './informer/informer-types.js'
export type { Inspection } from './informer/observation/inspect-types.js'
export { type SourceSet, sourceSet } from './informer/sources/source-set.js'
export type { Added, Change, Deleted, Delta, Origin, Updated } from './queue/change.js'
export type { Compound, Equal, Index, IndexBuilder, IndexRange, Ordered } from './store/indexes/index-types.js'
export type { Scalar } from './store/indexes/scalar.js'
export type { StoreView } from './store/store-view.js'
export type {
  Controller,
  ControllerWatch,
  FailingKey,
  RateLimit,
  ReconcileContext,
  ReconcileOptions,
  RetryOptions,
} from './subscriptions/controller/controller-types.js'
export type { Handlers } from './subscriptions/delivery/handler-types.js'
export type {
  ChangeBatch,
  ChangeStream,
  Scope,
  SubscribeOptions,
  Subscription,
} from './subscriptions/subscription-types.js'
export type { VersionWait } from './subscriptions/version-waiters.js'
export type { Wait } from './util/deadline.js'
export type { StandardSchema } from './util/standard-schema.js'

// For programs that compose a reflector, a queue and a store themselves.

export { DeltaFIFO } from './queue/delta-fifo.js'
export { Reflector } from './reflector/reflector.js'
export { Indexer } from './store/indexer.js'
