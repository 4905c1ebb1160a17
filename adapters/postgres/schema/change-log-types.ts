import type { PgClient } from '../connection/pg-client.js'

/**
 * A connected client. The functions of change logs do not close it.
 *
 * @example
 * ```ts
 * import { trimChangeLogs } from 'listwatch/postgres'
 *
 * const client = await pool.connect() // A Client of pg that is connected fits too.
 * try {
 *   console.log(`${await trimChangeLogs(client, 86_400)} rows are older than a day, and were removed`)
 * } finally {
 *   client.release()
 * }
 * ```
 */
export type PgConnected = Pick<PgClient, 'query'>

/**
 * Options of `installChangeLog` and `installChangeLogSql`.
 *
 * @example
 * ```ts
 * import { installChangeLogSql } from 'listwatch/postgres'
 *
 * const migration = installChangeLogSql({
 *   table: 'shop.orders',
 *   key: ['tenant', 'number'], // Default: the primary key.
 *   bulk: 1_000_000, // Default: 100 000 rows of a statement.
 *   grant: ['worker'],
 * })
 * ```
 */
export interface ChangeLogOptions {
  /** The table's name as in SQL: `orders`, `shop.orders`, `"Orders"`. */
  readonly table: string
  /** The columns of a unique index without NULLs, to be used as the key. Default: the columns of the primary key. */
  readonly key?: readonly string[]
  /**
   * Triggers fire for each `statement`, or for each `row`. `auto` chooses `row` for partitions and logical subscribers,
   * which need it, else `statement`. Default `auto`.
   */
  readonly level?: 'auto' | 'statement' | 'row'
  /**
   * Which transactions notify readers: about one in 25 ms (`bucket`), `each` one, or `none`. With `bucket` and `none`,
   * a reader may notice a change only by its next poll, after `pollIntervalMs` at the latest. Default `auto`: `none` if
   * `max_prepared_transactions` is above 0, because a transaction that has notified cannot be prepared, else `bucket`.
   */
  readonly wake?: 'auto' | 'bucket' | 'each' | 'none'
  /** After a statement that changes more rows than this, readers list the table again. Default 100 000. */
  readonly bulk?: number
  /** Roles that may mirror the table. They are granted only the rights that this needs. Default: none. */
  readonly grant?: readonly string[]
}

/**
 * The state of one installed change log.
 *
 * @example
 * ```ts
 * import { changeLogStatus } from 'listwatch/postgres'
 *
 * const client = await pool.connect()
 * for (const { table, logRows, logBytes, problems } of (await changeLogStatus(client)).tables) {
 *   console.log(`${table}: ${logRows} rows in the log, ${Math.round(logBytes / 2 ** 20)} MiB`)
 *   for (const problem of problems) console.error(problem)
 * }
 * client.release()
 * ```
 */
export interface ChangeLog {
  /** The table's name, as SQL needs it on the current search path. */
  readonly table: string
  /** The name of the log. */
  readonly log: string
  /** How the triggers fire: `statement` or `row`. */
  readonly level: string
  /** Which transactions notify readers: `bucket`, `each` or `none`. */
  readonly wake: string
  /** The columns of the key, in their order. */
  readonly keyColumns: readonly string[]
  /** The roles to which the installation granted the right to mirror the table. */
  readonly readers: readonly string[]
  /** The number of rows in the log. */
  readonly logRows: number
  /** The size of the log and its indexes on disk, in bytes. */
  readonly logBytes: number
  /** Why the log may miss changes, or indexes of the table may not find rows; one line for each reason. */
  readonly problems: readonly string[]
}

/**
 * The state of all change logs of a database.
 *
 * @example
 * ```ts
 * import type { ChangeLogStatus } from 'listwatch/postgres'
 *
 * function warningsOf({ schemaVersion, notifyQueueUsage, oldestTransactionMs }: ChangeLogStatus): string[] {
 *   if (schemaVersion === undefined) return ['nothing is installed']
 *   return [
 *     ...(notifyQueueUsage > 0.5 ? ['the queue of notifications is more than half full'] : []),
 *     ...(oldestTransactionMs > 3_600_000 ? ['a transaction has been open for more than an hour'] : []),
 *   ]
 * }
 * ```
 */
export interface ChangeLogStatus {
  /** The version of the schema `listwatch`; undefined if nothing is installed. */
  readonly schemaVersion: number | undefined
  /** The installed change logs. */
  readonly tables: readonly ChangeLog[]
  /** The used part of the cluster's queue of notifications, from 0 to 1. */
  readonly notifyQueueUsage: number
  /** The age of the oldest open transaction, in milliseconds. An old one keeps dead rows of the logs on disk. */
  readonly oldestTransactionMs: number
}
