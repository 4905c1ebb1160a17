import type { ListerWatcher, SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import {
  assertPresent,
  checkOptions,
  isCount,
  isDelayOrInfinity,
  isFunction,
  isName,
  isNames,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import type { MysqlClient } from './connection/mysql-client.js'
import { parseTableName } from './table/table.js'

/**
 * Options of `mysqlSource`.
 *
 * @example
 * ```ts
 * import mysql from 'mysql2/promise'
 *
 * const source = mysqlSource<Pick<Order, 'id' | 'total' | 'status'>>({
 *   connect: () => mysql.createConnection(url),
 *   table: 'shop.orders',
 *   columns: ['total', 'status'], // And the key. Default: all columns.
 *   sql: `status <> 'archived'`,
 * })
 * ```
 */
export interface MysqlSourceOptions {
  /**
   * Returns a new connection of mysql2 at each call: `() => mysql.createConnection(url)`. The user of the connection
   * needs the rights `SELECT` on the table and `REPLICATION SLAVE`.
   */
  readonly connect: () => MysqlClient | Promise<MysqlClient>
  /**
   * The name of the table, with its database: `shop.orders`. The default database is that of the connection. A name that
   * contains "." is in backticks. The table needs a primary key, and the engine InnoDB.
   */
  readonly table: string
  /** The names of the mirrored columns. The columns of the key are always mirrored. Default: all columns. */
  readonly columns?: readonly string[]
  /**
   * A condition in SQL that depends on nothing but the row, with unqualified columns: `status <> 'archived'`. It is not
   * escaped. The server reads it with an empty `sql_mode`.
   */
  readonly sql?: string
  /**
   * `bigint` returns all values of BIGINT columns as bigints. Default `number`: a row with an integer beyond 2^53 is
   * invalid.
   */
  readonly integers?: 'number' | 'bigint'
  /** A connection that receives nothing for this many milliseconds counts as lost. Default 5 000. */
  readonly timeoutMs?: number
  /** If more keys than this changed since the last batch, the table is listed again. Default 250 000. */
  readonly maxDeltaRows?: number
  /** A row whose texts and bytes are longer than this, in bytes, is invalid. Default 16 MiB. */
  readonly maxObjectBytes?: number
  /**
   * The server id of the reader of the binlog, from 1 to 4 294 967 295. No two readers and no replicas of a server may
   * have the same one. Default: random.
   */
  readonly serverId?: number
}

/**
 * Options of `mysqlDatabase`: those of `mysqlSource` that do not concern one table.
 *
 * @example
 * ```ts
 * import mysql from 'mysql2/promise'
 * import { mysqlDatabase } from 'listwatch/mysql'
 *
 * const shop = mysqlDatabase({ connect: () => mysql.createConnection(url), holdMs: 5_000 })
 * ```
 */
export interface MysqlDatabaseOptions extends Pick<MysqlSourceOptions, 'connect' | 'timeoutMs' | 'serverId'> {
  /**
   * If a table has to be listed again, the others stay at the last common version for at most this time, in
   * milliseconds. `Infinity` has no limit. Default 30 000.
   */
  readonly holdMs?: number
}

/**
 * Options of a table of `mysqlDatabase`.
 *
 * @example
 * ```ts
 * import type { MysqlTableOptions } from 'listwatch/mysql'
 *
 * const open: MysqlTableOptions = { table: 'shop.orders', sql: `status <> 'archived'` }
 * ```
 */
export type MysqlTableOptions = Omit<MysqlSourceOptions, 'connect' | 'timeoutMs' | 'serverId'>

/**
 * A table of MariaDB or MySQL, as a source. Its versions are positions in the binlog.
 *
 * @example
 * ```ts
 * import mysql from 'mysql2/promise'
 * import { mysqlDatabase, type MysqlTable } from 'listwatch/mysql'
 *
 * const shop = mysqlDatabase({ connect: () => mysql.createConnection(url) })
 * const limits: MysqlTable<Limit> = shop.table<Limit>({ table: 'limits' })
 * console.log(limits.key('acme', 7)) // The key columns are a tenant and a number.
 * ```
 */
export interface MysqlTable<T> extends ListerWatcher<T> {
  /** The longest silence of a healthy watch, in milliseconds: `timeoutMs`. */
  readonly heartbeatMs: number
  /**
   * Returns the key of a row. `columns`: the values of its key columns in the order of the key. Bytes are hexadecimal.
   * @throws TypeError for values that are not strings, numbers, bigints or bytes.
   */
  key(...columns: readonly (string | number | bigint | Uint8Array)[]): string
  /** Returns the current version of the server. It includes everything that was committed before the call. */
  head(context: SourceContext): Promise<Version>
  /**
   * Returns whether `at` includes everything up to `mark`: a version, a head, or a mark.
   * @throws SourceError `PROTOCOL` for any other text.
   */
  hasReached(at: Version, mark: Version): boolean
}

/**
 * A source that mirrors a table of MariaDB or MySQL.
 *
 * @example
 * ```ts
 * import mysql from 'mysql2/promise'
 *
 * const source = mysqlSource<Order>({ connect: () => mysql.createConnection(url), table: 'shop.orders' })
 * const orders = createInformer({ source })
 * const writer = mysql.createPool(url)
 * await writer.execute('UPDATE shop.orders SET total = total + 1 WHERE id = 7')
 * await orders.waitFor(await source.mark(writer))
 * ```
 */
export interface MysqlSource<T> extends MysqlTable<T> {
  /**
   * Returns a mark of everything that was committed before the call. Call it after the commit, with any connection or
   * pool of mysql2. `await informer.waitFor(mark)` resolves when the mirror shows these writes.
   * @throws TypeError if a transaction is open on the connection.
   * @throws SourceError with the error of the query.
   */
  mark(connection: Pick<MysqlClient, 'query'>): Promise<Version>
}

const optionChecks: Readonly<Record<keyof MysqlSourceOptions, OptionCheck>> = {
  connect: isFunction,
  table: (value) =>
    isName(value) ??
    (parseTableName(String(value)) === undefined
      ? 'must be a name such as orders or shop.orders; a name with "." is in backticks'
      : undefined),
  columns: isNames,
  sql: isName,
  integers: isOneOf('number', 'bigint'),
  timeoutMs: isPositive,
  maxDeltaRows: isCount,
  maxObjectBytes: isCount,
  serverId: (value) =>
    Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 0xffff_ffff
      ? undefined
      : 'must be an integer from 1 to 4294967295',
}

/** Throws an OptionError that names the first wrong or missing option. */
export function checkSourceOptions(options: MysqlSourceOptions): void {
  checkOptions('mysqlSource', options, optionChecks)
  assertPresent('mysqlSource', options, 'connect', '() => mysql.createConnection(url)')
  assertPresent('mysqlSource', options, 'table', "'shop.orders'")
}

export function checkDatabaseOptions(options: MysqlDatabaseOptions): void {
  const { connect, timeoutMs, serverId } = optionChecks
  checkOptions('mysqlDatabase', options, { connect, timeoutMs, serverId, holdMs: isDelayOrInfinity })
  assertPresent('mysqlDatabase', options, 'connect', '() => mysql.createConnection(url)')
}

export function checkTableOptions(options: MysqlTableOptions): void {
  const { connect: _, timeoutMs: __, serverId: ___, ...checks } = optionChecks
  checkOptions('table', options, checks)
  assertPresent('table', options, 'table', "'shop.orders'")
}
