import type { Clock, Leases, Random, RelayStore, SourceContext } from 'listwatch/adapter'
import type { ListerWatcher, Version } from 'listwatch'
export { LeaseOptions } from 'listwatch/etcd'
export interface ApplyOptions { readonly ifVersion?: Version | undefined }
export type RedisChange<T> = { readonly put: string; readonly object: T } | { readonly delete: string }
export interface RedisClient {
  readonly options: object
  call(command: string, ...args: string[]): Promise<unknown>
  duplicate(override?: object): unknown
}
export type RedisCodecName = 'json' | 'string' | 'bytes'
export interface RedisCollectionSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
}
export interface RedisCollectionSourceOptions<T> {} // docs/reference/options.md
export interface RedisDatabase extends AsyncDisposable {
  close(): Promise<void>
  collection<T = unknown>(name: string, options?: RedisDatabaseCollectionOptions<T>): RedisCollectionSource<T>
  commit(fn: (tx: RedisTransaction) => void, options?: ApplyOptions): Promise<Version>
}
export interface RedisDatabaseCollectionOptions<T> {} // docs/reference/options.md
export interface RedisDatabaseOptions extends Pick<RedisCollectionSourceOptions<unknown>, 'client' | 'heartbeatMs' | 'timeoutMs'>, Pick<RedisWriterOptions<unknown>, 'retention'> {} // docs/reference/options.md
export type RedisDecode<T> = (value: Uint8Array, key: string) => T
export type RedisEncode<T> = (object: T, key: string) => Uint8Array | string
export type RedisKeys = 'string' | 'bytes'
export interface RedisKeysSource<T> extends ListerWatcher<T> { readonly heartbeatMs: number }
export interface RedisKeysSourceOptions<T> {} // docs/reference/options.md
export interface RedisLeasesOptions extends LeaseOptions {} // docs/reference/options.md
export interface RedisRelayStoreOptions {} // docs/reference/options.md
export interface RedisShardedWriter<T> extends RedisWriter<T> {
  readonly shards: ReadonlyMap<string, RedisWriter<T>>
  shardOf(key: string): string
}
export interface RedisStreamSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
}
export interface RedisStreamSourceOptions<T> {} // docs/reference/options.md
export interface RedisTransaction {
  delete(collection: ListerWatcher<unknown>, key: string): void
  put<T>(collection: ListerWatcher<T>, key: string, object: NoInfer<T>): void
}
export type RedisWriteCode = 'CONFLICT' | 'NOT_WRITTEN' | 'OUTCOME_UNKNOWN'
export declare class RedisWriteError extends Error {
  constructor(code: RedisWriteCode, message: string, options?: { readonly cause?: unknown; readonly version?: Version })
  readonly code: RedisWriteCode; readonly name = "RedisWriteError"; readonly version: Version | undefined
}
export interface RedisWriter<T> extends AsyncDisposable {
  apply(changes: readonly RedisChange<T>[], options?: ApplyOptions): Promise<Version>
  close(): Promise<void>
}
export interface RedisWriterOptions<T> {} // docs/reference/options.md
export type StreamChange<T> = { readonly key: string; readonly object: T | undefined } | { readonly key: string;
    readonly error: unknown }
export type StreamDecode<T> = (fields: ReadonlyMap<string, string>, id: string) => StreamChange<T> |
    readonly StreamChange<T>[] | undefined
export interface StreamSnapshot<T> {
  readonly after: string; readonly entries: Iterable<readonly [key: string, object: T]>
}
export declare function redisCollectionSource<T = unknown>(options: RedisCollectionSourceOptions<T> & {
    readonly shardCount: number }): Readonly<Record<string, RedisCollectionSource<T>>>
export declare function redisCollectionSource<T = unknown>(options: RedisCollectionSourceOptions<T> & {
    readonly shardCount?: undefined }): RedisCollectionSource<T>
export declare function redisDatabase(options: RedisDatabaseOptions): RedisDatabase
export declare function redisKeysSource<T = unknown>(options: RedisKeysSourceOptions<T>): RedisKeysSource<T>
export declare function redisLeases(options: RedisLeasesOptions): Leases
export declare function redisRelayStore(options: RedisRelayStoreOptions): RelayStore
export declare function redisStreamSource<T = unknown>(options: RedisStreamSourceOptions<T>): RedisStreamSource<T>
export declare function redisWriter<T = unknown>(options: RedisWriterOptions<T> & {
    readonly shardCount: number }): RedisShardedWriter<T>
export declare function redisWriter<T = unknown>(options: RedisWriterOptions<T> & {
    readonly shardCount?: undefined }): RedisWriter<T>
