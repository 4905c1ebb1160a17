import type { Leases, ListContext, RelayStore, SourceContext, VersionPage } from 'listwatch/adapter'
import type { ListerWatcher, Version } from 'listwatch'
export { LeaseOptions } from 'listwatch/etcd'
export interface NatsClient {
  isClosed(): boolean
  isDraining(): boolean
  publish(subject: string, payload: string, options?: { reply?: string; headers?: object }): void
  status(): AsyncIterable<{ readonly type: string }>
  subscribe(subject: string, options: { callback: (error: Error | null, message: NatsMessage) => void }): {
      unsubscribe(): void }
}
export type NatsCodec<T> = (value: Uint8Array, key: string) => T
export interface NatsKvSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
  versions(context: ListContext): AsyncIterable<VersionPage>
}
export interface NatsKvSourceOptions<T> {} // docs/reference/options.md
export interface NatsLeasesOptions extends LeaseOptions {} // docs/reference/options.md
export interface NatsMessage {
  readonly data: Uint8Array
  readonly headers?: { readonly code: number; readonly description: string; get(name: string): string }
  readonly reply?: string; readonly subject: string
}
export interface NatsRelayStoreOptions {} // docs/reference/options.md
export declare function natsKvSource<T = unknown>(options: NatsKvSourceOptions<T>): NatsKvSource<T>
export declare function natsLeases(options: NatsLeasesOptions): Leases
export declare function natsRelayStore(options: NatsRelayStoreOptions): RelayStore
