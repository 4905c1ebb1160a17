import type { Clock, Leases, MirrorCache, Random, RelayStore, ReplicaStatus, SourceContext } from 'listwatch/adapter'
import type { Informer, ListerWatcher, Logger, SourceError, Version, Wait } from 'listwatch'
export { UpstreamVersions } from 'listwatch/http'
export interface RelayServing extends AsyncDisposable {
  readonly status: RelayStatus
  off(event: 'error', listener: (error: SourceError) => void): this
  on(event: 'error', listener: (error: SourceError) => void): this
  stop(options?: { readonly drainMs?: number | undefined }): Promise<void>
  synced(wait?: Wait): Promise<void>
}
export interface RelaySource<T> extends ListerWatcher<T> {
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
  isLaterEpoch(at: Version, mark: Version): boolean
}
export interface RelaySourceOptions {} // docs/reference/options.md
export type RelayState = 'waiting' | 'standby' | 'comparing' | 'live' | 'backing-off' | 'stopped'
export interface RelayStatus {
  readonly backlog: { readonly keys: number; readonly oldestMs: number }; readonly batches: number
  readonly changes: number; readonly lastError: SourceError | undefined; readonly reason: string
  readonly replica: ReplicaStatus | undefined; readonly state: RelayState; readonly version: Version | undefined
}
export interface ServeRelayOptions {} // docs/reference/options.md
export declare function relayCache(store: RelayStore): MirrorCache
export declare function relaySource<T>(options: RelaySourceOptions): RelaySource<T>
export declare function serveRelay<T, I>(informer: Informer<T, I>, store: RelayStore,
    options?: ServeRelayOptions): RelayServing
