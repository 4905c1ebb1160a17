export interface Added<T> extends ChangeBase<T> {
  readonly previous: undefined
  readonly type: 'add'
}
export type Change<T> = Added<T> | Updated<T> | Deleted<T>
export interface ChangeBase<T> {
  readonly key: string
  readonly object: T
  readonly origin: Origin
  readonly version: Version | undefined
}
export interface ChangeBatch<T> {
  readonly changes: readonly Change<T>[]
  readonly isSynced: boolean
  readonly source: string | undefined
  readonly version: Version | undefined
}
export interface ChangeStream<T> extends Subscription, AsyncIterable<ChangeBatch<T>> {}
export interface Clock {
  cpuMs?(): number | undefined
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  wallNow?(): number
}
export interface Compound<T, V extends readonly Scalar[]> extends Index<T, V> {
  <const P extends Partial<V> & readonly unknown[]>(prefix: P, range?: Range<V[P['length']]>): readonly T[]
  count(prefix: Partial<V>): number
  entries(prefix: Partial<V>): IteratorObject<[key: string, object: T], undefined>
}
export interface Controller extends Subscription {
  enqueue(key: string, options?: { readonly delayMs?: number }): void
  readonly failing: ReadonlyMap<string, FailingKey>
  readonly isPaused: boolean
  pause(): void
  readonly replicas: ReplicaStatus | undefined
  resume(): void
}
export interface Delete<T> {
  readonly key: string
  readonly object?: T
  readonly type: 'delete'
  readonly version?: Version
}
export interface Deleted<T> extends ChangeBase<T> {
  readonly finalState: 'known' | 'unknown'
  readonly gone?: Exclude<Gone, 'deleted'>
  readonly previous: T
  readonly type: 'delete'
}
export interface Delta<T> {
  readonly key: string
  readonly object: T
  readonly type: DeltaType
  readonly version: Version | undefined
}
export interface DeltaBatch<T> {
  readonly deltas: readonly Delta<T>[]
  readonly isBoundary: boolean
  readonly version: Version | undefined
}
export declare class DeltaFIFO<T> implements Sink<T> {
  constructor(options?: DeltaFIFOOptions<T>)
  apply(batch: WatchBatch<T>): void
  drain(options?: { readonly signal?: AbortSignal }): Promise<DeltaBatch<T>>
  get hasSynced(): boolean
  pop(options?: { readonly signal?: AbortSignal }): Promise<DeltaBatch<T>>
  replace(): ListTransaction<T>
  get version(): Version | undefined
}
export interface DeltaFIFOOptions<T> {
  readonly capacity?: number
  readonly delivery?: 'every' | 'latest'
  readonly knownObjects?: { get(key: string): T | undefined; keys(): Iterable<string> }
}
export type DeltaType = 'added' | 'updated' | 'deleted' | 'replaced' | 'sync'
export interface DeriveManyOptions<T, R, I extends object> extends ViewOptions<R, I> {
  readonly each: (object: T, key: string) => Iterable<readonly [name: string, result: R]>
  readonly from?: Informer<T, unknown>
}
export interface DeriveOptions<T, R, I extends object> extends ViewOptions<R, I> {
  readonly each: (object: T, key: string) => R | undefined
  readonly from: Informer<T, unknown>
}
export interface Entry<T> {
  readonly key: string
  readonly object: T
  readonly uid?: string
  readonly version?: Version
}
export interface Equal<T, V> extends Index<T, V> {
  (value: V): readonly T[]
}
export interface Eviction {
  readonly member: string
  readonly renewal: number
}
export interface FailingKey {
  readonly attempt: number
  readonly failedAt: number
  readonly lastError: string
  readonly retryAt: number | undefined
}
export interface FailingPicture {
  readonly attempt: number
  readonly key: string
  readonly lastError: string
  readonly retryInMs: number | null
}
export interface FirstOf<V> {
  readonly count: number
  readonly first: readonly V[]
}
export type Gone = 'deleted' | 'out-of-scope' | 'source-removed' | 'unknown'
export interface GroupByOptions<V, R, I extends object> extends ViewOptions<R, I> {
  readonly each: (value: V, group: { readonly count: number }) => R | undefined
  readonly index: Index<unknown, NoInfer<V>> & Pick<Index<unknown, V>, 'values'>
}
export interface HandlerContext {
  readonly signal: AbortSignal
}
export interface Handlers<T> {
  add?(change: Added<T>, context: HandlerContext): unknown
  delete?(change: Deleted<T>, context: HandlerContext): unknown
  update?(change: Updated<T>, context: HandlerContext): unknown
}
export interface Health {
  readonly isLive: boolean
  readonly isReady: boolean
  readonly reason: string
}
export interface HealthOptions {
  readonly staleAfterMs?: number | undefined
  readonly stuckAfterMs?: number | undefined
}
export interface Index<T, V> {
  count(value: V): number
  entries(value: V): IteratorObject<[key: string, object: T], undefined>
  values(): Iterable<V>
}
export interface IndexBuilder<T> {
  compound<const V extends readonly (Scalar | null | undefined)[]>(
    of: (object: T, key: string) => V | null | undefined,
  ): Compound<T, { [K in keyof V]: NonNullable<V[K]> }>
  equal<V extends Scalar>(of: (object: T, key: string) => V | null | undefined): Equal<T, V>
  multi<V extends Scalar>(of: (object: T, key: string) => Iterable<V>): Equal<T, V>
  ordered<V extends Scalar>(of: (object: T, key: string) => V | null | undefined): Ordered<T, V>
}
export interface IndexPicture {
  readonly largest: readonly { readonly value: string; readonly objects: number }[]
  readonly name: string
  readonly values: number | null
}
export type IndexValue<X> = X extends Index<unknown, infer V> ? V : never
export declare class Indexer<T, I = {}> implements StoreView<T, I>, Sink<T> {
  constructor(options?: { readonly indexes?: (ix: IndexBuilder<T>) => I })
  apply(batch: WatchBatch<T> | DeltaBatch<T>): void | Promise<void>
  readonly by: I & object
  entries(): IteratorObject<[key: string, object: T], undefined>
  entry(key: string): Entry<T> | undefined
  get(key: string): T | undefined
  has(key: string): boolean
  keys(): IteratorObject<string, undefined>
  list(): readonly T[]
  replace({ ignoreVersions }?: { readonly ignoreVersions?: boolean }): ListTransaction<T>
  get size(): number
  get version(): Version | undefined
}
export interface Informer<T, I = {}> extends StoreView<T, I>, Lifecycle {
  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): Promise<X>
  changes(options?: SubscribeOptions<T, I>): ChangeStream<T>
  fresh(wait?: Wait): Promise<void>
  inspect(): Inspection
  readonly invalid: ReadonlyMap<string, SourceError>
  readonly name: string
  off(event: 'error' | 'status', listener: (...args: never[]) => void): this
  on(event: 'error', listener: (error: SourceError) => void): this
  on(event: 'status', listener: (status: Status, previous: Status) => void): this
  reconcile<const W extends readonly unknown[] = readonly []>(
    fn: (key: string, context: ReconcileContext<T>) => Promise<void>,
    options?: ReconcileOptions<T, I, W>,
  ): Controller
  relist(wait?: Wait): Promise<void>
  snapshot(): StoreView<T, I> & Disposable
  readonly status: Status
  subscribe(handlers: Handlers<T>, options?: SubscribeOptions<T, I>): Subscription
  until(key: string, condition: (object: T | undefined) => boolean, wait?: Wait): Promise<T | undefined>
  readonly versions: ReadonlyMap<string, Version>
  waitFor(version: Version, wait?: VersionWait): Promise<void>
}
export interface InformerOptions<S, I extends object, P = S, T = P> {
  readonly audit?: false | { readonly periodMs?: number }
  readonly cache?: MirrorCache
  readonly clock?: Clock
  readonly equals?: (a: T, b: T) => boolean
  readonly freeze?: boolean
  readonly indexes?: (ix: IndexBuilder<T>) => I
  readonly intern?: boolean
  readonly logger?: Logger
  readonly name?: string
  readonly onAccessLost?: 'keep' | 'clear'
  readonly onInvalid?: 'omit' | 'keep-previous'
  readonly random?: Random
  readonly schema?: StandardSchema<P>
  readonly source: ListerWatcher<S> | SourceSet<S>
  readonly transform?: (object: P, key: string) => T | undefined
}
export interface Inspection {
  readonly at: string
  readonly indexes: FirstOf<IndexPicture>
  readonly invalid: FirstOf<{ readonly key: string; readonly error: string }>
  readonly isSynced: boolean
  readonly memory: MemoryPicture
  readonly name: string
  readonly objects: number
  readonly reason: string
  readonly sources: FirstOf<SourcePicture>
  readonly state: State
  readonly subscriptions: FirstOf<SubscriptionPicture>
  readonly transitions: readonly TransitionPicture[]
}
export interface Invalid {
  readonly error: unknown
  readonly hasLastValid?: boolean
  readonly key?: string
  readonly type: 'invalid'
  readonly version?: Version
}
export declare class LeaseLostError extends SourceError {
  constructor(message: string, options?: { readonly cause?: unknown })
  readonly name: string
}
export interface LeaseRecord {
  readonly holds: readonly string[]
  readonly leaseMs?: number | undefined
  readonly member: string
  readonly members: readonly string[]
  readonly mode?: 'share' | 'leader' | undefined
  readonly renewal: number
}
export interface LeaseSession {
  close(): Promise<void>
  leave(member: string): Promise<void>
  renew(record: LeaseRecord, evict: readonly Eviction[], signal: AbortSignal): Promise<LeaseView>
  watch?(changed: (released?: string) => void, signal: AbortSignal): void
}
export interface LeaseView {
  readonly epoch: string
  readonly fence: number
  readonly records: readonly (LeaseRecord & { readonly ageMs: number })[]
}
export interface Leases {
  readonly leaseMs: number
  readonly mode: 'share' | 'leader'
  readonly name: string
  open(): LeaseSession
  readonly renewMs: number
}
export interface Lifecycle extends AsyncDisposable {
  health(options?: HealthOptions): Health
  start(options?: { readonly signal?: AbortSignal | undefined }): this
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>
  synced(wait?: Wait): Promise<void>
}
export interface ListContext extends SourceContext {
  alive?(): void
  readonly floor?: Version | undefined
  readonly pageSize: number
}
export type ListEvent<T> = Put<T> | Delete<T> | Invalid
export interface ListPage<T> {
  readonly events: readonly ListEvent<T>[]
  readonly remaining?: number
  readonly version?: Version
}
export interface ListTransaction<T> {
  abandon(): void
  commit(version: Version): void | Promise<void>
  page(events: readonly ListEvent<T>[]): void | Promise<void>
}
export interface ListerWatcher<T> {
  hasReached?(at: Version, mark: Version): boolean
  head?(context: SourceContext): Promise<Version>
  readonly heartbeatMs?: number
  isLaterEpoch?(at: Version, mark: Version): boolean
  readonly isSensitive?: boolean
  list(context: ListContext): AsyncIterable<ListPage<T>>
  readonly name: string
  openSnapshot?(context: MirrorCacheContext): Promise<SavedMirror | undefined>
  resumeState?(mirror: object): string | undefined
  readonly selection?: string
  readonly silenceHint?: string
  versions?(context: ListContext): AsyncIterable<VersionPage>
  watch(context: WatchContext): AsyncIterable<WatchBatch<T>>
}
export interface Logger {
  debug(message: string, fields?: object): void
  error(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
}
export interface MemoryPicture {
  readonly bytes: number
  readonly bytesPerObject: number
  readonly sampled: number
}
export interface MirrorCache {
  discard?(context: MirrorCacheContext): Promise<void>
  readonly maxAgeMs: number
  readonly name: string
  open(context: MirrorCacheContext): Promise<SavedMirror | undefined>
  save(mirror: MirrorToSave, context: MirrorCacheContext): Promise<void>
  readonly saveAfterShare: number
  readonly saveEveryMs: number
  readonly serveStale: boolean
}
export interface MirrorCacheContext {
  alive?(): void
  readonly clock: Clock
  readonly fingerprint: string
  readonly isSensitive: boolean
  readonly signal: AbortSignal
  warn(message: string): void
}
export interface MirrorHeader {
  readonly proof?: Proof | undefined
  readonly resumeState?: string | undefined
  readonly size: number
  readonly version: Version
}
export interface MirrorToSave extends MirrorHeader {
  pack(encode: (record: SavedRecord) => string, seed: number): Iterable<PackedPart | undefined>
  records(): Iterable<SavedRecord>
}
export declare class OptionError extends TypeError {
  constructor(message: string, options: { readonly option: string; readonly cause?: unknown })
  get option(): string
}
export interface Ordered<T, V> extends Index<T, V> {
  (range?: Range<V> & { readonly prefix?: V & string }): readonly T[]
  entriesIn(range?: Range<V>): IteratorObject<[key: string, object: T], undefined>
}
export type Origin = 'initial' | 'watch' | 'relist' | 'resync' | 'access-lost'
export interface PackedBlock {
  readonly block: Uint8Array
}
export interface PackedContent {
  block(index: number): Uint8Array
  decode(text: string): SavedRecord
  readonly sections: ReadonlyMap<string, Uint8Array>
}
export type PackedPart = PackedBlock | PackedSection
export interface PackedSection {
  readonly chunks: readonly Uint8Array[]
  readonly length: number
  readonly name: string
}
export interface Proof {
  readonly at: number
  readonly by: 'list' | 'audit'
  readonly foundDrift: number
  readonly version: Version
}
export interface ProofPicture {
  readonly ageMs: number
  readonly at: string
  readonly by: 'list' | 'audit'
  readonly foundDrift: number
  readonly version: string
}
export type Put<T> = { readonly type: 'put' } & Entry<T>
export interface Random {
  next(): number
}
export interface Range<V> {
  readonly gt?: V
  readonly gte?: V
  readonly limit?: number
  readonly lt?: V
  readonly lte?: V
  readonly reverse?: boolean
}
export interface RateLimit {
  readonly burst?: number
  readonly perSecond: number
}
export interface ReconcileContext<T> {
  readonly attempt: number
  readonly deleted: T | undefined
  readonly fence: number | undefined
  readonly gone: Gone | undefined
  readonly object: T | undefined
  readonly reason: RunReason
  requeueAfter(delayMs: number): void
  readonly signal: AbortSignal
}
export interface ReconcileOptions<T, I = {}, W extends readonly unknown[] = readonly unknown[]> extends Scope<T, I> {
  readonly after?: readonly Syncable[]
  readonly priority?: (key: string, reason: RunReason) => number
  readonly rateLimit?: RateLimit
  readonly replicas?: Leases
  readonly retry?: RetryOptions
  readonly watches?: { readonly [K in keyof W]: Watch<W[K]> }
}
export declare class Reflector<T> {
  constructor(source: ListerWatcher<T>, sink: Sink<T>, options?: { readonly clock?: Clock; readonly random?: Random })
  run(options: { readonly signal: AbortSignal }): Promise<void>
}
export declare class RelayConflictError extends SourceError {
  constructor(message: string, options?: { readonly cause?: unknown })
  readonly name: string
}
export interface RelayStore {
  close(): Promise<void>
  readonly collection: ListerWatcher<string>
  readonly maxBytes: number
  readonly maxChanges: number
  readonly name: string
  read(key: string, context: SourceContext): Promise<StoredText>
  write(changes: readonly TextChange[], after: Version, context: SourceContext): Promise<Version>
}
export interface Replace<T> {
  readonly entries: readonly Entry<T>[]
  readonly type: 'replace'
}
export interface ReplicaStatus {
  readonly fence: number | undefined
  readonly leaseEndsInMs: number
  readonly member: string
  readonly members: readonly string[]
  readonly share: number
}
export interface RetryOptions {
  readonly maxAttempts?: number
  readonly maxMs?: number
  readonly minMs?: number
}
export type RunReason = 'changed' | 'enqueued' | 'watches' | 'gained' | 'initial' | 'retry' | 'requeued' | 'resync'
export interface SavedEntry extends Entry<unknown> {
  readonly type: 'entry'
}
export interface SavedFiltered {
  readonly key: string
  readonly type: 'filtered'
  readonly version?: Version | undefined
}
export interface SavedInvalid {
  readonly key: string
  readonly reason: string
  readonly type: 'invalid'
  readonly version?: Version | undefined
}
export interface SavedMirror extends MirrorHeader {
  close(): Promise<void>
  readonly keepsPacked?: boolean | undefined
  packed?(): Promise<PackedContent>
  pages?(): AsyncIterable<readonly SavedRecord[]>
  readonly savedAt: number
}
export type SavedRecord = SavedEntry | SavedFiltered | SavedInvalid
export type Scalar = string | number | bigint | boolean | Date
export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }
export interface Scope<T, I = {}> {
  readonly concurrency?: number
  readonly filter?: (object: T, key: string) => boolean
  readonly key?: string
  readonly name?: string
  readonly resyncMs?: number
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number
  readonly when?: (change: Updated<T>) => boolean
  readonly where?: { readonly [K in keyof I]?: IndexValue<I[K]> }
}
export interface Sink<T> {
  apply(batch: WatchBatch<T>): void | Promise<void>
  replace(options?: { readonly ignoreVersions?: boolean }): ListTransaction<T>
  readonly version: Version | undefined
}
export interface SourceContext {
  readonly clock: Clock
  readonly mirror?: object
  readonly random: Random
  readonly signal: AbortSignal
  warn?(message: string): void
}
export declare class SourceError extends Error {
  constructor(message: string, options: SourceErrorOptions)
  readonly code: SourceErrorCode
  readonly key: string | undefined
  readonly name: string
  readonly phase: SourceErrorPhase | undefined
  readonly retryAfterMs: number | undefined
  readonly source: string | undefined
}
export type SourceErrorCode =
  | 'VERSION_EXPIRED'
  | 'EPOCH_CHANGED'
  | 'STALE_LIST'
  | 'UNAVAILABLE'
  | 'UNAUTHORIZED'
  | 'NOT_FOUND'
  | 'PROTOCOL'
  | 'DECODE'
  | 'TIMEOUT'
  | 'STOPPED'
  | 'HANDLER'
  | 'LEASE_LOST'
  | 'CONFLICT'
  | 'INVALID_MARK'
export interface SourceErrorOptions {
  readonly cause?: unknown
  readonly code: SourceErrorCode
  readonly key?: string | undefined
  readonly phase?: SourceErrorPhase | undefined
  readonly retryAfterMs?: number | undefined
  readonly source?: string | undefined
}
export type SourceErrorPhase = 'list' | 'watch' | 'decode' | 'apply' | 'handle' | 'derive'
export interface SourcePicture {
  readonly attempt: number
  readonly lagMs: number | null
  readonly lastError: string | null
  readonly name: string
  readonly proof: ProofPicture | null
  readonly reason: string
  readonly reconnects: number
  readonly relists: number
  readonly retryInMs: number | null
  readonly savedAt: string | null
  readonly staleMs: number
  readonly state: State
  readonly version: string | null
}
export interface SourceSet<S> {
  add(name: string, source: ListerWatcher<S>): void
  remove(name: string): void
  readonly sources: ReadonlyMap<string, ListerWatcher<S>>
}
export interface StandardSchema<Output> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
  }
}
export type State =
  | 'idle'
  | 'restoring'
  | 'stale'
  | 'listing'
  | 'connecting'
  | 'live'
  | 'backing-off'
  | 'relisting'
  | 'failed'
  | 'stopped'
export interface Status {
  readonly attempt: number
  readonly isSynced: boolean
  readonly lagMs: number | undefined
  readonly lastContactAt: number | undefined
  readonly lastError: SourceError | undefined
  readonly proof: Proof | undefined
  readonly reason: string
  readonly reconnects: number
  readonly relists: number
  readonly retryInMs: number | undefined
  readonly savedAt?: number | undefined
  readonly sources?: Readonly<Record<string, Status>>
  readonly staleMs: number
  readonly state: State
  readonly version: Version | undefined
}
export interface StoreView<T, I = {}> {
  readonly by: I
  entries(): IteratorObject<[key: string, object: T], undefined>
  entry(key: string): Entry<T> | undefined
  get(key: string): T | undefined
  has(key: string): boolean
  keys(): IteratorObject<string, undefined>
  list(): readonly T[]
  readonly size: number
  readonly version: Version | undefined
}
export interface StoredText {
  readonly position: Version
  readonly text: string | undefined
}
export interface SubscribeOptions<T, I = {}> extends Scope<T, I> {
  readonly capacity?: number
  readonly delivery?: 'every' | 'latest'
  readonly onOverflow?: 'coalesce' | 'fail'
}
export interface Subscription extends AsyncDisposable {
  readonly backlog: { readonly keys: number; readonly oldestMs: number; readonly oldestKey?: string | undefined }
  close(options?: { readonly drain?: boolean }): Promise<void>
  synced(wait?: Wait): Promise<void>
  readonly version: Version | undefined
  waitFor(version: Version, wait?: VersionWait): Promise<void>
}
export interface SubscriptionPicture {
  readonly backlog: { readonly keys: number; readonly oldestMs: number }
  readonly failed: number
  readonly failing: FirstOf<FailingPicture>
  readonly isSynced: boolean
  readonly kind: 'subscription' | 'stream' | 'controller'
  readonly name: string | null
  readonly running: { readonly key: string; readonly ms: number } | null
  readonly scope: {
    readonly key: string | null
    readonly where: Readonly<Record<string, string>>
    readonly isFiltered: boolean
  }
  readonly slowest: { readonly key: string; readonly ms: number; readonly endedAt: string } | null
  readonly succeeded: number
}
export interface Syncable {
  synced(wait?: Wait): Promise<void>
}
export declare class TerminalError extends Error {
  readonly name: string
}
export interface TextChange {
  readonly key: string
  readonly text: string | undefined
}
export interface TransitionPicture {
  readonly at: string
  readonly from: State
  readonly reason: string
  readonly source: string
  readonly to: State
}
export interface Updated<T> extends ChangeBase<T> {
  readonly previous: T
  readonly type: 'update'
}
export type Version = string
export interface VersionPage {
  readonly keys: readonly { readonly key: string; readonly version: Version }[]
  readonly version?: Version
}
export interface VersionWait extends Wait {
  readonly source?: string | undefined
}
export interface ViewOptions<R, I extends object> {
  readonly equals?: (a: R, b: R) => boolean
  readonly indexes?: (ix: IndexBuilder<R>) => I
  readonly name?: string
  readonly onInvalid?: 'omit' | 'keep-previous'
  readonly reads?: readonly Informer<unknown, unknown>[]
}
export interface Wait {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}
export interface Watch<U> {
  readonly informer: Syncable & {
    entries(): Iterable<readonly [string, U]>
    subscribe(handlers: Handlers<U>, options?: { readonly name?: string }): Subscription
  }
  readonly keys: (object: U, key: string) => Iterable<string>
}
export interface WatchBatch<T> {
  readonly committedAt?: number
  readonly events: readonly WatchEvent<T>[]
  readonly version: Version
}
export interface WatchContext extends SourceContext {
  readonly after: Version
  hasWaiters?(): boolean
  readonly isUnconfirmed?: boolean
  onProgressRequest(listener: () => void): void
  requestAudit?(reason: string, options?: { readonly contents?: boolean }): void
  requestProof?(): void
  readonly resumeState?: string | undefined
}
export type WatchEvent<T> = ListEvent<T> | Replace<T>
export declare function createInformer<S, I extends object, P = S, T = P>(
  options: InformerOptions<S, I, P, T>,
): Informer<T, I>
export declare function derive<T, R, I extends object = {}>(options: DeriveOptions<T, R, I>): Informer<R, I>
export declare function deriveMany<T, R, I extends object = {}>(options: DeriveManyOptions<T, R, I>): Informer<R, I>
export declare function groupBy<V, R, I extends object = {}>(options: GroupByOptions<V, R, I>): Informer<R, I>
export declare function groupInformers(
  informers: readonly Lifecycle[],
  options?: { readonly maxRelists?: number | undefined },
): Lifecycle
export declare function sourceSet<S>(sources: Readonly<Record<string, ListerWatcher<S>>>): SourceSet<S>
export declare const systemClock: Clock
export declare const systemRandom: Random
export declare function terminal(cause: unknown): TerminalError
