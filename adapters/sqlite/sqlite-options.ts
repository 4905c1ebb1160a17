import type { ListerWatcher, SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import {
  assertPresent,
  checkOptions,
  isCount,
  isFunction,
  isName,
  isNames,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import type { SqliteDatabase } from './sqlite-client.js'

/**
 * Options of `sqliteSource`.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 *
 * const source = sqliteSource<Pick<Order, 'id' | 'total' | 'status'>>({
 *   connect: () => new DatabaseSync('app.db', { readOnly: true }),
 *   table: 'orders',
 *   columns: ['total', 'status'], // And the key. Default: all columns.
 *   sql: `status <> 'archived'`,
 * })
 * ```
 */
export interface SqliteSourceOptions {
  /**
   * Returns a new connection at each call: `() => new DatabaseSync(path, { readOnly: true })` of node:sqlite, or
   * `() => new Database(path, { readonly: true })` of better-sqlite3. It is called for each list, watch and head.
   */
  readonly connect: () => SqliteDatabase
  /** The name of the table, without quotes. The table needs the triggers of `listwatch sqlite install`. */
  readonly table: string
  /** The names of the mirrored columns. The columns of the key are always mirrored. Default: all columns. */
  readonly columns?: readonly string[]
  /**
   * A condition in SQL that depends on nothing but the row, with unqualified columns: `status <> 'archived'`. It is not
   * escaped.
   */
  readonly sql?: string
  /** The longest time between two polls of the file, in milliseconds. Default 50. */
  readonly pollIntervalMs?: number
  /** If another connection holds a lock for longer than this, in milliseconds, a read fails. Default 5 000. */
  readonly timeoutMs?: number
  /** `poll` never watches the file. Default `file`: it watches the file, and also polls every `pollIntervalMs`. */
  readonly wake?: 'file' | 'poll'
  /** If more rows than this were logged since the last poll, the table is listed again. Default 250 000. */
  readonly maxDeltaRows?: number
  /**
   * `bigint` returns all integers as bigints. Default `number`: a row with an integer beyond 2^53 is invalid.
   */
  readonly integers?: 'number' | 'bigint'
}

/**
 * A source that mirrors a table of a SQLite file. Its versions are positions in the change log of the file.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 *
 * const source = sqliteSource<Limit>({
 *   connect: () => new DatabaseSync('app.db', { readOnly: true }),
 *   table: 'limits',
 * })
 * const limits = createInformer({ source })
 * await limits.start().synced()
 * console.log(limits.get(source.key('acme', 7))) // The key columns are a tenant and a number.
 * ```
 */
export interface SqliteSource<T> extends ListerWatcher<T> {
  /** The longest silence of a healthy watch, in milliseconds: `pollIntervalMs`, `timeoutMs` and a second. */
  readonly heartbeatMs: number
  /**
   * Returns the mark of the newest write: in the writer's open transaction that of this transaction, after a commit that
   * of the last one. `SELECT mark FROM listwatch_mark` returns the same text in any language.
   * `await informer.waitFor(mark)` resolves when the mirror shows these writes.
   * @throws SourceError `NOT_FOUND` if nothing is installed in the file.
   */
  mark(database: Pick<SqliteDatabase, 'prepare'>): Version
  /**
   * Returns the key of a row. `columns`: the values of its key columns in the order of the key. A BLOB is hexadecimal.
   * @throws TypeError for values that are not strings, numbers, bigints or bytes.
   */
  key(...columns: readonly (string | number | bigint | Uint8Array)[]): string
  /** Returns the current version of the file. It includes everything that was committed before the call. */
  head(context: SourceContext): Promise<Version>
  /**
   * Returns whether `at` includes everything up to `mark`: a version, a head, or the mark of a transaction.
   * @throws SourceError `EPOCH_CHANGED` for another history of the file, `PROTOCOL` for any other text.
   */
  hasReached(at: Version, mark: Version): boolean
}

const optionChecks: Readonly<Record<keyof SqliteSourceOptions, OptionCheck>> = {
  connect: isFunction,
  table: isName,
  columns: isNames,
  sql: isName,
  pollIntervalMs: isPositive,
  timeoutMs: isPositive,
  wake: isOneOf('file', 'poll'),
  maxDeltaRows: isCount,
  integers: isOneOf('number', 'bigint'),
}

/** Throws an OptionError that names the first wrong or missing option. */
export function checkSqliteOptions(options: SqliteSourceOptions): void {
  checkOptions('sqliteSource', options, optionChecks)
  assertPresent('sqliteSource', options, 'connect', '() => new DatabaseSync(path, { readOnly: true })')
  assertPresent('sqliteSource', options, 'table', "'orders'")
}
