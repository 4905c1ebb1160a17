import type { ListerWatcher, Version } from 'listwatch'
import type { SourceContext } from 'listwatch/adapter'
export interface ChangeLog {
  readonly key: readonly string[]; readonly problems: readonly string[]; readonly table: string
}
export interface ChangeLogOptions {} // docs/reference/options.md
export interface ChangeLogStatus {
  readonly epoch: string | undefined; readonly journalMode: string; readonly keepRows: number; readonly logRows: number
  readonly tables: readonly ChangeLog[]
}
export interface SqliteDatabase { close(): unknown; exec(sql: string): unknown; prepare(sql: string): SqliteStatement }
export interface SqliteSource<T> extends ListerWatcher<T> {
  readonly heartbeatMs: number
  hasReached(at: Version, mark: Version): boolean
  head(context: SourceContext): Promise<Version>
  key(...columns: readonly (string | number | bigint | Uint8Array)[]): string
  mark(database: Pick<SqliteDatabase, 'prepare'>): Version
}
export interface SqliteSourceOptions {} // docs/reference/options.md
export interface SqliteStatement { all(...values: SqliteValue[]): unknown[]; get(...values: SqliteValue[]): unknown }
export type SqliteValue = null | number | bigint | string | Uint8Array
export declare function changeLogStatus(database: SqliteDatabase): ChangeLogStatus
export declare function installChangeLog(database: SqliteDatabase, options: ChangeLogOptions): void
export declare function installChangeLogSql(database: SqliteDatabase, options: ChangeLogOptions): string
export declare function sqliteSource<T = unknown>(options: SqliteSourceOptions): SqliteSource<T>
export declare function startEpoch(database: SqliteDatabase): void
export declare function uninstallChangeLog(database: SqliteDatabase, what: { readonly table: string } | {
    readonly all: true }): boolean
export declare function uninstallChangeLogSql(database: SqliteDatabase, what: { readonly table: string } | {
    readonly all: true }): string
