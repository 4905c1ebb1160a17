import type { Leases, ListContext, SourceContext, VersionPage } from 'listwatch/adapter'
import type { ListerWatcher, Version } from 'listwatch'
export interface EtcdAuth { readonly password: string; readonly username: string }
export interface EtcdClient {
  readonly kv: { range(request: object, options?: object): Promise<object>; txn(request: object,
      options?: object): Promise<object> }
  readonly maintenance: { status(options?: object): Promise<object> }
  readonly watchClient: { watch(options?: object): Promise<object> }
}
export interface EtcdCluster { collection<T = unknown>(options: EtcdCollectionOptions<T>): EtcdSource<T> }
export interface EtcdClusterOptions extends Omit<EtcdSourceOptions<unknown>, keyof EtcdCollectionOptions<unknown>> {} // docs/reference/options.md
export type EtcdCodec<T> = (value: Uint8Array, key: string) => T
export type EtcdCollectionOptions<T> = Pick<EtcdSourceOptions<T>, 'prefix' | 'range' | 'codec' | 'keys' | 'pageSize'>
export interface EtcdCredentials {
  readonly certChain?: Buffer; readonly privateKey?: Buffer; readonly rootCertificate: Buffer
}
export type EtcdKeys = 'string' | 'bytes'
export interface EtcdLeasesOptions extends LeaseOptions, Pick<EtcdSourceOptions<unknown>, 'client' | 'endpoints' | 'credentials' | 'auth'> {} // docs/reference/options.md
export interface EtcdRange { readonly from: KeyBytes; readonly to?: KeyBytes }
export interface EtcdSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
  versions(context: ListContext): AsyncIterable<VersionPage>
}
export interface EtcdSourceOptions<T> {} // docs/reference/options.md
export type KeyBytes = string | Uint8Array
export interface LeaseOptions {} // docs/reference/options.md
export declare function etcdCluster(options: EtcdClusterOptions): EtcdCluster
export declare function etcdLeases(options: EtcdLeasesOptions): Leases
export declare function etcdSource<T = unknown>(options: EtcdSourceOptions<T>): EtcdSource<T>
