/**
 * A source over a table of a SQLite file, and the change log that it reads.
 *
 * @module listwatch/sqlite
 */

export {
  type ChangeLog,
  type ChangeLogOptions,
  type ChangeLogStatus,
  changeLogStatus,
  installChangeLog,
  installChangeLogSql,
  startEpoch,
  uninstallChangeLog,
  uninstallChangeLogSql,
} from './change-log-admin.js'
export type { SqliteDatabase, SqliteStatement, SqliteValue } from './sqlite-client.js'
export type { SqliteSource, SqliteSourceOptions } from './sqlite-options.js'
export { sqliteSource } from './sqlite-source.js'
