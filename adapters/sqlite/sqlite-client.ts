/**
 * A value of SQLite.
 *
 * @example
 * ```ts
 * import type { SqliteValue } from 'listwatch/sqlite'
 *
 * const key: readonly SqliteValue[] = ['acme', 7n]
 * ```
 */
export type SqliteValue = null | number | bigint | string | Uint8Array

/**
 * A prepared statement of node:sqlite or better-sqlite3.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import type { SqliteStatement } from 'listwatch/sqlite'
 *
 * const statement: SqliteStatement = new DatabaseSync('app.db').prepare('SELECT total FROM orders WHERE id = ?')
 * console.log(statement.get(7))
 * ```
 */
export interface SqliteStatement {
  /** Returns all rows. */
  all(...values: SqliteValue[]): unknown[]
  /** Returns the first row; undefined if there is none. */
  get(...values: SqliteValue[]): unknown
}

/**
 * A connection of the user's driver: `DatabaseSync` of node:sqlite, or `Database` of better-sqlite3.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import type { SqliteDatabase } from 'listwatch/sqlite'
 *
 * const database: SqliteDatabase = new DatabaseSync('app.db')
 * ```
 */
export interface SqliteDatabase {
  /** Prepares a statement. */
  prepare(sql: string): SqliteStatement
  /** Runs statements that return no rows. */
  exec(sql: string): unknown
  /** Closes the connection. */
  close(): unknown
}
