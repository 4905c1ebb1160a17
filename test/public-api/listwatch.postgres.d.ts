import type { Leases, SourceContext } from 'listwatch/adapter'
import type { ListerWatcher, Version } from 'listwatch'
export { LeaseOptions } from 'listwatch/etcd'
export interface ChangeLog {
  readonly keyColumns: readonly string[]; readonly level: string; readonly log: string; readonly logBytes: number
  readonly logRows: number; readonly problems: readonly string[]; readonly readers: readonly string[]
  readonly table: string; readonly wake: string
}
export interface ChangeLogOptions {} // docs/reference/options.md
export interface ChangeLogStatus {
  readonly notifyQueueUsage: number; readonly oldestTransactionMs: number; readonly schemaVersion: number | undefined
  readonly tables: readonly ChangeLog[]
}
export interface InstallLeasesOptions {} // docs/reference/options.md
export interface PgClient {
  connect(): Promise<unknown>
  end(): Promise<void>
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}
export type PgConnected = Pick<PgClient, 'query'>
export interface PgPool {
  connect(): Promise<PgPoolClient>
  off?(event: 'error', listener: (error: Error) => void): unknown
  on?(event: 'error', listener: (error: Error) => void): unknown
}
export interface PgPoolClient {
  off(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  query(text: string): Promise<unknown>
  release(isBroken?: boolean): void
}
export interface PgTransaction { query(text: string): Promise<{ rows: unknown[] }> }
export interface PostgresDatabase {
  mark(tx: PgTransaction): Promise<Version>
  table<T = unknown>(options: PostgresTableOptions): PostgresTable<T>
}
export interface PostgresDatabaseOptions extends Pick<PostgresSourceOptions, 'connect' | 'pollIntervalMs' | 'timeoutMs' | 'trimEveryMs' | 'wake'> {} // docs/reference/options.md
export interface PostgresLeasesOptions extends LeaseOptions {} // docs/reference/options.md
export interface PostgresSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number; readonly waking: 'notify' | 'poll' | undefined
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
  key(...columns: readonly (string | number | bigint)[]): string
  mark(tx: PgTransaction): Promise<Version>
}
export interface PostgresSourceOptions {} // docs/reference/options.md
export type PostgresTable<T> = ListerWatcher<T> & Pick<PostgresSource<T>, 'heartbeatMs' | 'key' | 'head' | 'hasReached'>
export type PostgresTableOptions = Pick<PostgresSourceOptions, 'table' | 'columns' | 'sql' | 'maxDeltaRows' |
    'maxObjectBytes'>
export declare function changeLogStatus(client: PgConnected): Promise<ChangeLogStatus>
export declare function installChangeLog(client: PgConnected, options: ChangeLogOptions): Promise<void>
export declare function installChangeLogSql(options: ChangeLogOptions): string
export declare function installLeases(client: PgConnected, options?: InstallLeasesOptions): Promise<void>
export declare function installLeasesSql(options?: InstallLeasesOptions): string
export declare function postgresDatabase(options: PostgresDatabaseOptions): PostgresDatabase
export declare function postgresLeases(options: PostgresLeasesOptions): Leases
export declare function postgresSource<T = unknown>(options: PostgresSourceOptions): PostgresSource<T>
export declare function trimChangeLogs(client: PgConnected, keepSeconds?: number): Promise<number>
export declare function uninstallChangeLog(client: PgConnected, options: { readonly table: string } | {
    readonly all: true }): Promise<boolean>
export declare function uninstallChangeLogSql(options: { readonly table: string } | { readonly all: true }): string
