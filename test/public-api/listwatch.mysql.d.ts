import type { ListerWatcher, Version } from 'listwatch'
import type { SourceContext } from 'listwatch/adapter'
export interface MysqlClient {
  destroy(): void
  end(): Promise<void>
  query(sql: string, values?: unknown[]): Promise<[unknown, unknown]>
}
export interface MysqlDatabase {
  mark(connection: Pick<MysqlClient, 'query'>): Promise<Version>
  table<T = unknown>(options: MysqlTableOptions): MysqlTable<T>
}
export interface MysqlDatabaseOptions extends Pick<MysqlSourceOptions, 'connect' | 'timeoutMs' | 'serverId'> {} // docs/reference/options.md
export interface MysqlSource<T> extends MysqlTable<T> { mark(connection: Pick<MysqlClient, 'query'>): Promise<Version> }
export interface MysqlSourceOptions {} // docs/reference/options.md
export interface MysqlTable<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
  key(...columns: readonly (string | number | bigint | Uint8Array)[]): string
}
export type MysqlTableOptions = Omit<MysqlSourceOptions, 'connect' | 'timeoutMs' | 'serverId'>
export declare function mysqlDatabase(options: MysqlDatabaseOptions): MysqlDatabase
export declare function mysqlSource<T = unknown>(options: MysqlSourceOptions): MysqlSource<T>
