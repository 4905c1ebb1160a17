import type { ChangeBase, Clock, DeltaBatch, DeltaFIFOOptions, Entry, Leases, ListContext, ListPage, ListTransaction,
    MirrorCache, MirrorCacheContext, Proof, Random, ReplicaStatus, SavedMirror, Sink, SourceContext, SourceErrorOptions,
    SourceErrorPhase, VersionPage, WatchBatch, WatchContext } from 'listwatch/adapter'
export interface Added<T> extends ChangeBase<T> { readonly previous: undefined; readonly type: 'add' }
export type Change<T> = Added<T> | Updated<T> | Deleted<T>
export interface ChangeBatch<T> {
  readonly changes: readonly Change<T>[]; readonly isSynced: boolean; readonly source: string | undefined
  readonly version: Version | undefined
}
export interface ChangeStream<T> extends Subscription, AsyncIterable<ChangeBatch<T>> {}
export interface Compound<T, V extends readonly Scalar[]> extends Index<T, V> {
  <const P extends Partial<V> & readonly unknown[]>(prefix: P, range?: IndexRange<V[P['length']]>): readonly T[]
  count(prefix: Partial<V>): number
  entries(prefix: Partial<V>): IteratorObject<[key: string, object: T], undefined>
}
export interface Controller extends Subscription {
  readonly failing: ReadonlyMap<string, FailingKey>; readonly isPaused: boolean
  readonly replica: ReplicaStatus | undefined
  enqueue(key: string, options?: { readonly delayMs?: number }): void
  pause(): void
  resume(): void
}
export interface ControllerWatch<U> {
  readonly informer: { synced(wait?: Wait): Promise<void>; entries(): Iterable<readonly [string, U]>;
      subscribe(handlers: Handlers<U>, options?: { readonly name?: string }): Subscription }
  readonly keys: (object: U, key: string) => Iterable<string>
}
export interface Deleted<T> extends ChangeBase<T> {
  readonly finalState: 'known' | 'unknown'; readonly gone?: 'out-of-scope' | 'source-removed' | 'unknown'
  readonly previous: T; readonly type: 'delete'
}
export interface Delta<T> {
  readonly key: string; readonly object: T; readonly type: 'added' | 'updated' | 'deleted' | 'replaced' | 'sync'
  readonly version: Version | undefined
}
export declare class DeltaFIFO<T> implements Sink<T> {
  constructor(options?: DeltaFIFOOptions<T>)
  get hasSynced(): boolean; get version(): Version | undefined
  apply(batch: WatchBatch<T>): void
  drain(options?: { readonly signal?: AbortSignal }): Promise<DeltaBatch<T>>
  pop(options?: { readonly signal?: AbortSignal }): Promise<DeltaBatch<T>>
  replace(): ListTransaction<T>
}
export interface DeriveManyOptions<T, R, I extends object> extends ViewOptions<R, I> {} // docs/reference/options.md
export interface DeriveOptions<T, R, I extends object> extends ViewOptions<R, I> {} // docs/reference/options.md
export interface Equal<T, V> extends Index<T, V> { (value: V): readonly T[] }
export interface FailingKey {
  readonly attempt: number; readonly failedAt: number; readonly lastError: string; readonly retryAt: number | undefined
}
export interface GroupByOptions<T, V, R, I extends object, S extends string = never> extends ViewOptions<R, I> {} // docs/reference/options.md
export interface Handlers<T> {
  add?(change: Added<T>, context: { readonly signal: AbortSignal }): unknown
  delete?(change: Deleted<T>, context: { readonly signal: AbortSignal }): unknown
  update?(change: Updated<T>, context: { readonly signal: AbortSignal }): unknown
}
export interface Health { readonly isLive: boolean; readonly isReady: boolean; readonly reason: string }
export interface HealthOptions {} // docs/reference/options.md
export interface Index<T, V> {
  count(value: V): number
  entries(value: V): IteratorObject<[key: string, object: T], undefined>
  values(): Iterable<V>
}
export interface IndexBuilder<T> {
  compound<const V extends readonly (Scalar | null | undefined)[]>(of: (object: T, key: string) => V | null |
      undefined): Compound<T, { [K in keyof V]: NonNullable<V[K]> }>
  equal<V extends Scalar>(of: (object: T, key: string) => V | null | undefined): Equal<T, V>
  multi<V extends Scalar>(of: (object: T, key: string) => Iterable<V>): Equal<T, V>
  ordered<V extends Scalar>(of: (object: T, key: string) => V | null | undefined): Ordered<T, V>
}
export interface IndexRange<V> {
  readonly gt?: V; readonly gte?: V; readonly limit?: number; readonly lt?: V; readonly lte?: V
  readonly reverse?: boolean
}
export declare class Indexer<T, I = {}> implements StoreView<T, I>, Sink<T> {
  constructor(options?: { readonly indexes?: (ix: IndexBuilder<T>) => I })
  readonly by: I & object; get size(): number; get version(): Version | undefined
  apply(batch: WatchBatch<T> | DeltaBatch<T>): void | Promise<void>
  entries(): IteratorObject<[key: string, object: T], undefined>
  entry(key: string): Entry<T> | undefined
  get(key: string): T | undefined
  has(key: string): boolean
  keys(): IteratorObject<string, undefined>
  list(): readonly T[]
  replace({ ignoreVersions }?: { readonly ignoreVersions?: boolean }): ListTransaction<T>
}
export interface Informer<T, I = {}> extends StoreView<T, I>, Lifecycle {
  readonly invalid: ReadonlyMap<string, SourceError>; readonly name: string; readonly status: Status
  readonly versions: ReadonlyMap<string, Version>
  addIndex<X>(name: string, build: (ix: IndexBuilder<T>) => X): Promise<X>
  changes(options?: SubscribeOptions<T, I>): ChangeStream<T>
  fresh(wait?: Wait): Promise<void>
  inspect(): Inspection
  off(event: 'error' | 'status', listener: (...args: never[]) => void): this
  on(event: 'error', listener: (error: SourceError) => void): this
  on(event: 'status', listener: (status: Status, previous: Status) => void): this
  reconcile<const W extends readonly unknown[] = readonly [ ]>(fn: (key: string, context: ReconcileContext<T>) =>
      Promise<void>, options?: ReconcileOptions<T, I, W>): Controller
  relist(wait?: Wait): Promise<void>
  snapshot(): StoreView<T, I> & Disposable
  subscribe(handlers: Handlers<T>, options?: SubscribeOptions<T, I>): Subscription
  until(key: string, condition: (object: T | undefined) => boolean, wait?: Wait): Promise<T | undefined>
  waitFor(version: Version, wait?: VersionWait): Promise<void>
}
export interface InformerOptions<S, I extends object, P = S, T = P> {} // docs/reference/options.md
export interface Inspection {
  readonly at: string
  readonly indexes: { readonly count: number; readonly first: readonly { readonly name: string;
      readonly values: number | null; readonly largest: readonly { readonly value: string;
      readonly objects: number }[] }[] }
  readonly invalid: { readonly count: number; readonly first: readonly { readonly key: string;
      readonly error: string }[] }
  readonly isSynced: boolean
  readonly memory: { readonly bytes: number; readonly bytesPerObject: number; readonly sampled: number }
  readonly name: string; readonly objects: number; readonly reason: string
  readonly sources: { readonly count: number; readonly first: readonly { readonly name: string;
      readonly state: MirrorState; readonly reason: string; readonly version: string | null; readonly silentMs: number;
      readonly lagMs: number | null; readonly attempt: number; readonly retryInMs: number | null;
      readonly relists: number; readonly reconnects: number; readonly lastError: string | null; readonly proof: {
      readonly version: string; readonly at: string; readonly ageMs: number; readonly by: 'list' | 'audit';
      readonly foundDrift: number } | null; readonly savedAt: string | null }[] }
  readonly state: MirrorState
  readonly subscriptions: { readonly count: number; readonly first: readonly { readonly name: string | null;
      readonly kind: 'subscription' | 'stream' | 'controller'; readonly scope: { readonly key: string | null;
      readonly where: Readonly<Record<string, string>>; readonly isFiltered: boolean }; readonly isSynced: boolean;
      readonly backlog: { readonly keys: number; readonly oldestMs: number }; readonly running: { readonly key: string;
      readonly ms: number } | null; readonly slowest: { readonly key: string; readonly ms: number;
      readonly endedAt: string } | null; readonly succeeded: number; readonly failed: number; readonly failing: {
      readonly count: number; readonly first: readonly { readonly key: string; readonly attempt: number;
      readonly retryInMs: number | null; readonly lastError: string }[] } }[] }
  readonly transitions: readonly { readonly at: string; readonly source: string; readonly from: MirrorState;
      readonly to: MirrorState; readonly reason: string }[]
  readonly view: { readonly inputs: { readonly count: number; readonly first: readonly string[] };
      readonly evaluations: number; readonly evaluationsPerChange: number | null; readonly reads: number } | null
}
export interface Lifecycle extends AsyncDisposable {
  health(options?: HealthOptions): Health
  start(options?: { readonly signal?: AbortSignal | undefined }): this
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>
  synced(wait?: Wait): Promise<void>
}
export interface ListerWatcher<T> {
  readonly heartbeatMs?: number; readonly isSensitive?: boolean; readonly name: string; readonly selection?: string
  readonly silenceHint?: string
  hasReached?(at: Version, mark: Version): boolean
  head?(context: SourceContext): Promise<Version>
  isLaterEpoch?(at: Version, mark: Version): boolean
  list(context: ListContext): AsyncIterable<ListPage<T>>
  openSnapshot?(context: MirrorCacheContext): Promise<SavedMirror | undefined>
  resumeState?(mirror: object): string | undefined
  versions?(context: ListContext): AsyncIterable<VersionPage>
  watch(context: WatchContext): AsyncIterable<WatchBatch<T>>
}
export interface Logger {
  debug(message: string, fields?: object): void
  error(message: string, fields?: object): void
  info(message: string, fields?: object): void
  warn(message: string, fields?: object): void
}
export type MirrorState = 'idle' | 'restoring' | 'stale' | 'listing' | 'connecting' | 'live' | 'backing-off' |
    'relisting' | 'failed' | 'stopped'
export declare class OptionError extends TypeError {
  constructor(message: string, options: { readonly option: string; readonly cause?: unknown })
  readonly name: string; get option(): string
}
export interface Ordered<T, V> extends Index<T, V> {
  (range?: IndexRange<V> & { readonly prefix?: V & string }): readonly T[]
  entriesIn(range?: IndexRange<V>): IteratorObject<[key: string, object: T], undefined>
}
export type Origin = 'initial' | 'watch' | 'relist' | 'resync' | 'access-lost'
export interface RateLimit {} // docs/reference/options.md
export interface ReconcileContext<T> {
  readonly attempt: number; readonly fence: number | undefined; readonly gone: 'deleted' | Deleted<T>['gone']
  readonly lastObject: T | undefined; readonly object: T | undefined
  readonly reason: 'changed' | 'enqueued' | 'watches' | 'gained' | 'initial' | 'retry' | 'requeued' | 'resync'
  readonly signal: AbortSignal
  requeueAfter(delayMs: number): void
}
export interface ReconcileOptions<T, I = {}, W extends readonly unknown[] = readonly unknown[]> extends Scope<T, I> {} // docs/reference/options.md
export declare class Reflector<T> {
  constructor(source: ListerWatcher<T>, sink: Sink<T>, options?: { readonly clock?: Clock; readonly random?: Random })
  run(options: { readonly signal: AbortSignal }): Promise<void>
}
export interface RetryOptions {} // docs/reference/options.md
export type Scalar = string | number | bigint | boolean | Date
export interface Scope<T, I = {}> {} // docs/reference/options.md
export declare class SourceError extends Error {
  constructor(message: string, options: SourceErrorOptions)
  readonly code: SourceErrorCode; readonly key: string | undefined; readonly name: string
  readonly phase: SourceErrorPhase | undefined; readonly retryAfterMs: number | undefined
  readonly source: string | undefined
}
export type SourceErrorCode = 'VERSION_EXPIRED' | 'EPOCH_CHANGED' | 'STALE_LIST' | 'UNAVAILABLE' | 'UNAUTHORIZED' |
    'NOT_FOUND' | 'PROTOCOL' | 'DECODE' | 'TIMEOUT' | 'STOPPED' | 'HANDLER' | 'LEASE_LOST' | 'CONFLICT' | 'INVALID_MARK'
export interface SourceSet<S> {
  readonly sources: ReadonlyMap<string, ListerWatcher<S>>
  add(name: string, source: ListerWatcher<S>): void
  remove(name: string): void
}
export interface StandardSchema<Output> {
  readonly '~standard': { readonly version: 1; readonly vendor: string; readonly validate: (value: unknown) => {
      readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly { readonly message: string;
      readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }[] } | Promise<unknown>;
      readonly types?: { readonly input: unknown; readonly output: Output } | undefined }
}
export interface Status {
  readonly attempt: number; readonly isSynced: boolean; readonly lagMs: number | undefined
  readonly lastContactAt: number | undefined; readonly lastError: SourceError | undefined
  readonly proof: Proof | undefined; readonly reason: string; readonly reconnects: number; readonly relists: number
  readonly retryInMs: number | undefined; readonly savedAt?: number | undefined; readonly silentMs: number
  readonly sources?: Readonly<Record<string, Status>>; readonly state: MirrorState
  readonly version: Version | undefined
}
export interface StoreView<T, I = {}> {
  readonly by: I; readonly size: number; readonly version: Version | undefined
  entries(): IteratorObject<[key: string, object: T], undefined>
  entry(key: string): Entry<T> | undefined
  get(key: string): T | undefined
  has(key: string): boolean
  keys(): IteratorObject<string, undefined>
  list(): readonly T[]
}
export interface SubscribeOptions<T, I = {}> extends Scope<T, I> {} // docs/reference/options.md
export interface Subscription extends AsyncDisposable {
  readonly backlog: { readonly keys: number; readonly oldestMs: number; readonly oldestKey?: string | undefined }
  readonly version: Version | undefined
  close(options?: { readonly drain?: boolean }): Promise<void>
  synced(wait?: Wait): Promise<void>
  waitFor(version: Version, wait?: VersionWait): Promise<void>
}
export declare class TerminalError extends Error { readonly name: string }
export interface Updated<T> extends ChangeBase<T> { readonly previous: T; readonly type: 'update' }
export type Version = string
export interface VersionWait extends Wait {} // docs/reference/options.md
export interface ViewOptions<R, I extends object> {} // docs/reference/options.md
export interface Wait {} // docs/reference/options.md
export declare function createInformer<S, I extends object, P = S, T = P>(options: InformerOptions<S, I, P,
    T>): Informer<T, I>
export declare function derive<T, R, I extends object = {}>(options: DeriveOptions<T, R, I>): Informer<R, I>
export declare function deriveMany<T, R, I extends object = {}>(options: DeriveManyOptions<T, R, I>): Informer<R, I>
export declare function groupBy<T, V, R, I extends object = {}, S extends string = never>(options: GroupByOptions<T, V,
    R, I, S>): Informer<R, I>
export declare function groupInformers(informers: readonly Lifecycle[], options?: { readonly maxRelists?: number |
    undefined }): Lifecycle
export declare function sourceSet<S>(sources: Readonly<Record<string, ListerWatcher<S>>>): SourceSet<S>
export declare function terminal(cause: unknown): TerminalError
