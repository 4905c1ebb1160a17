import type { Delta, Origin } from 'listwatch'
export { ListerWatcher, OptionError, SourceError, SourceErrorCode, Version } from 'listwatch'
export interface ChangeBase<T> {
  readonly key: string; readonly object: T; readonly origin: Origin; readonly version: Version | undefined
}
export interface Clock {
  cpuMs?(): number | undefined
  now(): number
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  wallNow?(): number
}
export interface CollectionBatch {
  readonly committedAt?: number; readonly lost?: ReadonlyMap<string, unknown>
  readonly parts: ReadonlyMap<string, readonly WatchEvent<unknown>[]>; readonly version: Version
  readonly versions?: ReadonlyMap<string, Version>
}
export interface CollectionSource<T> extends ListerWatcher<T> {
  readonly collection: string; readonly history: SharedHistory
}
export interface Delete<T> {
  readonly key: string; readonly object?: T; readonly type: 'delete'; readonly version?: Version
}
export interface DeltaBatch<T> {
  readonly deltas: readonly Delta<T>[]; readonly isBoundary: boolean; readonly version: Version | undefined
}
export interface DeltaFIFOOptions<T> {} // docs/reference/options.md
export interface Entry<T> {
  readonly key: string; readonly object: T; readonly uid?: string; readonly version?: Version
}
export interface Eviction { readonly member: string; readonly renewal: number }
export interface HistoryWatchContext extends SourceContext, Pick<WatchContext, 'onProgressRequest' | 'isUnconfirmed'> {
  readonly positions: ReadonlyMap<string, Version>
  alive?(): void
  hasWaiters?(): boolean
  requestAudit?(reason: string, options?: { readonly contents?: boolean }): void
}
export interface Invalid {
  readonly error: unknown; readonly hasLastValid?: boolean; readonly key?: string; readonly type: 'invalid'
  readonly version?: Version
}
export declare class LeaseLostError extends SourceError {
  constructor(message: string, options?: { readonly cause?: unknown })
  readonly name: string
}
export interface LeaseRecord {
  readonly holds: readonly string[]; readonly leaseMs?: number | undefined; readonly member: string
  readonly members: readonly string[]; readonly mode?: 'share' | 'leader' | undefined; readonly renewal: number
}
export interface LeaseSession {
  close(): Promise<void>
  leave(member: string): Promise<void>
  renew(record: LeaseRecord, evict: readonly Eviction[], signal: AbortSignal): Promise<LeaseView>
  watch?(changed: (released?: string) => void, signal: AbortSignal): void
}
export interface LeaseView {
  readonly epoch: string; readonly fence: number
  readonly records: readonly (LeaseRecord & { readonly ageMs: number })[]
}
export interface Leases {
  readonly leaseMs: number; readonly mode: 'share' | 'leader'; readonly name: string; readonly renewMs: number
  open(): LeaseSession
}
export interface ListContext extends SourceContext {
  readonly collection?: string | undefined; readonly floor?: Version | undefined; readonly pageSize: number
  alive?(): void
}
export type ListEvent<T> = Put<T> | Delete<T> | Invalid
export interface ListPage<T> {
  readonly events: readonly ListEvent<T>[]; readonly remaining?: number; readonly version?: Version
}
export interface ListTransaction<T> {
  abandon(): void
  commit(version: Version): void | Promise<void>
  page(events: readonly ListEvent<T>[]): void | Promise<void>
}
export interface MirrorCache {
  readonly maxAgeMs: number; readonly name: string; readonly saveAfterShare: number; readonly saveEveryMs: number
  readonly serveStale: boolean
  discard?(context: MirrorCacheContext): Promise<void>
  open(context: MirrorCacheContext): Promise<SavedMirror | undefined>
  save(mirror: MirrorToSave, context: MirrorCacheContext): Promise<void>
}
export interface MirrorCacheContext {
  readonly clock: Clock; readonly fingerprint: string; readonly isSensitive: boolean; readonly signal: AbortSignal
  alive?(): void
  warn(message: string): void
}
export interface MirrorHeader {
  readonly proof?: Proof | undefined; readonly resumeState?: string | undefined; readonly size: number
  readonly version: Version
}
export interface MirrorToSave extends MirrorHeader {
  pack(encode: (record: SavedRecord) => string, seed: number): Iterable<PackedPart | undefined>
  records(): Iterable<SavedRecord>
}
export interface PackedBlock { readonly block: Uint8Array }
export interface PackedContent {
  readonly sections: ReadonlyMap<string, Uint8Array>
  block(index: number): Uint8Array
  decode(text: string): SavedRecord
}
export type PackedPart = PackedBlock | PackedSection
export interface PackedSection {
  readonly chunks: readonly Uint8Array[]; readonly length: number; readonly name: string
}
export interface Proof {
  readonly at: number; readonly by: 'list' | 'audit'; readonly foundDrift: number; readonly version: Version
}
export type Put<T> = { readonly type: 'put' } & Entry<T>
export interface Random { next(): number }
export declare class RelayConflictError extends SourceError {
  constructor(message: string, options?: { readonly cause?: unknown })
  readonly name: string
}
export interface RelayStore {
  readonly collection: ListerWatcher<string>; readonly maxBytes: number; readonly maxChanges: number
  readonly name: string
  close(): Promise<void>
  read(key: string, context: SourceContext): Promise<StoredText>
  write(changes: readonly TextChange[], after: Version, context: SourceContext): Promise<Version>
}
export interface Replace<T> { readonly entries: readonly Entry<T>[]; readonly type: 'replace' }
export interface ReplicaStatus {
  readonly fence: number | undefined; readonly leaseEndsInMs: number; readonly member: string
  readonly members: readonly string[]; readonly share: number
}
export interface SavedEntry extends Entry<unknown> { readonly type: 'entry' }
export interface SavedFiltered {
  readonly key: string; readonly type: 'filtered'; readonly version?: Version | undefined
}
export interface SavedInvalid {
  readonly key: string; readonly reason: string; readonly type: 'invalid'; readonly version?: Version | undefined
}
export interface SavedMirror extends MirrorHeader {
  readonly keepsPacked?: boolean | undefined; readonly savedAt: number
  close(): Promise<void>
  packed?(): Promise<PackedContent>
  pages?(): AsyncIterable<readonly SavedRecord[]>
}
export type SavedRecord = SavedEntry | SavedFiltered | SavedInvalid
export interface SharedHistory {
  readonly holdMs?: number | undefined; readonly name: string
  watch(context: HistoryWatchContext): AsyncIterable<CollectionBatch>
}
export interface Sink<T> {
  readonly version: Version | undefined
  apply(batch: WatchBatch<T>): void | Promise<void>
  replace(options?: { readonly ignoreVersions?: boolean }): ListTransaction<T>
}
export interface SourceContext {
  readonly clock: Clock; readonly mirror?: object; readonly random: Random; readonly signal: AbortSignal
  warn?(message: string): void
}
export interface SourceErrorOptions {
  readonly cause?: unknown; readonly code: SourceErrorCode; readonly key?: string | undefined
  readonly phase?: SourceErrorPhase | undefined; readonly retryAfterMs?: number | undefined
  readonly source?: string | undefined
}
export type SourceErrorPhase = 'list' | 'watch' | 'decode' | 'apply' | 'handle' | 'derive'
export interface SplitSource { collection<T>(name: string): CollectionSource<T> }
export interface StoredText { readonly position: Version; readonly text: string | undefined }
export interface TextChange { readonly key: string; readonly text: string | undefined }
export interface VersionPage {
  readonly keys: readonly { readonly key: string; readonly version: Version }[]; readonly version?: Version
}
export interface WatchBatch<T> {
  readonly committedAt?: number; readonly events: readonly WatchEvent<T>[]; readonly version: Version
}
export interface WatchContext extends SourceContext {
  readonly after: Version; readonly isUnconfirmed?: boolean; readonly resumeState?: string | undefined
  hasWaiters?(): boolean
  onProgressRequest(listener: () => void): void
  requestAudit?(reason: string, options?: { readonly contents?: boolean }): void
  requestProof?(): void
}
export type WatchEvent<T> = ListEvent<T> | Replace<T>
export declare function splitSource(source: ListerWatcher<unknown>, collectionOf: (key: string) => string |
    undefined): SplitSource
export declare const systemClock: Clock
export declare const systemRandom: Random
export declare function watchCollection<T>(history: SharedHistory, collection: string, { after,
    ...context }: WatchContext): AsyncIterable<WatchBatch<T>>
