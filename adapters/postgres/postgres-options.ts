import type { ListerWatcher, SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import {
  assertPresent,
  checkOptions,
  isCount,
  isDelayOrInfinity,
  isName,
  isNames,
  isOneOf,
  isPositive,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import { elementsOf } from '../common/properties.js'
import { clientFlaw } from './connection/client-factory.js'
import type { PgClient, PgTransaction } from './connection/pg-client.js'

/**
 * Options of `postgresSource`.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 *
 * const source = postgresSource<Pick<Order, 'id' | 'total' | 'status'>>({
 *   connect: () => new pg.Client(url),
 *   table: 'shop.orders',
 *   columns: ['total', 'status'], // And the primary key. Default: all columns.
 *   sql: `status <> 'archived'`,
 *   pollIntervalMs: 500, // Default: 1 000.
 * })
 * ```
 */
export interface PostgresSourceOptions {
  /**
   * Returns a new, unconnected client of pg 8 at each call: `() => new pg.Client(url)`. It is called for each
   * connection. A Pool, a connected client or the same client again is an OptionError, with which `synced()` rejects.
   */
  readonly connect: () => PgClient | Promise<PgClient>
  /**
   * The table's name as in SQL: `orders`, `shop.orders`, `"Orders"`. The table needs a primary key, and the triggers of
   * `listwatch pg install`.
   */
  readonly table: string
  /** The names of the mirrored columns. The columns of the key are always mirrored. Default: all columns. */
  readonly columns?: readonly string[]
  /**
   * A condition in SQL that depends on nothing but the row, with unqualified columns: `status <> 'archived'`. It is not
   * escaped. The check of the condition needs the right to create temporary tables.
   */
  readonly sql?: string
  /**
   * `row-local` accepts a table whose row security applies to the reader, if no policy reads other rows.
   * Default: such a table is refused with `UNAUTHORIZED`.
   */
  readonly rls?: 'row-local'
  /** The longest time between two polls of the change log, in milliseconds. Default 1 000. */
  readonly pollIntervalMs?: number
  /** A connection that receives nothing for this many milliseconds while a query runs counts as lost. Default 5 000. */
  readonly timeoutMs?: number
  /** If more keys than this changed since the last poll, the table is listed again. Default 250 000. */
  readonly maxDeltaRows?: number
  /** A row whose texts have more bytes than this in UTF-8 is invalid. Default 16 MiB. */
  readonly maxObjectBytes?: number
  /**
   * The time between two calls that trim the log, in milliseconds. `false`: this reader never trims. Default 30 000.
   */
  readonly trimEveryMs?: number | false
  /** `poll` never listens. Default `notify`: it listens, and also polls every `pollIntervalMs`. */
  readonly wake?: 'notify' | 'poll'
}

/**
 * Options of `postgresDatabase`: those of `postgresSource` that do not concern one table.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 * import { postgresDatabase } from 'listwatch/postgres'
 *
 * const shop = postgresDatabase({ connect: () => new pg.Client(url), holdMs: 5_000 })
 * ```
 */
export interface PostgresDatabaseOptions
  extends Pick<PostgresSourceOptions, 'connect' | 'pollIntervalMs' | 'timeoutMs' | 'trimEveryMs' | 'wake'> {
  /**
   * If a table has to be listed again, the others stay at the last common version for at most this time, in
   * milliseconds. `Infinity` has no limit. Default 30 000.
   */
  readonly holdMs?: number
}

/**
 * A source that mirrors a table of Postgres. Its versions are transaction snapshots: they are exact, can be resumed
 * from, and are not held up by long transactions.
 *
 * @example
 * ```ts
 * import pg from 'pg'
 *
 * const source = postgresSource<Limit>({ connect: () => new pg.Client(url), table: 'limits' })
 * const limits = createInformer({ source })
 * await limits.start().synced()
 * console.log(limits.get(source.key('acme', 7))) // The key columns are a tenant and a number.
 * if (source.waking === 'poll') console.warn('changes are noticed by polls, without notifications')
 * ```
 */
export interface PostgresSource<T> extends ListerWatcher<T> {
  /** The longest silence of a healthy watch, in milliseconds: `pollIntervalMs` plus `timeoutMs`. */
  readonly heartbeatMs: number
  /**
   * Returns the mark of a transaction. Call it inside the writer's open transaction, in any process. After the commit
   * `await informer.waitFor(mark)` resolves when the mirror shows what the transaction wrote.
   * @throws TypeError for a pool, and if no transaction is open.
   * @throws SourceError with the error of the query, for example `NOT_FOUND` if nothing is installed.
   */
  mark(tx: PgTransaction): Promise<Version>
  /**
   * Returns the key of a row. `columns`: the values of its key columns in the order of the key, as Postgres writes
   * them.
   * @throws TypeError for values that are not strings, numbers or bigints.
   */
  key(...columns: readonly (string | number | bigint)[]): string
  /** How the open watch notices changes: by notifications, or by polls alone. Undefined if no watch is open. */
  readonly waking: 'notify' | 'poll' | undefined
  /** Returns the current version of the database. It includes everything that was committed before the call. */
  head(context: SourceContext): Promise<Version>
  /**
   * Returns whether `at` includes everything up to `mark`: a version, a head, or the mark of a transaction.
   * @throws SourceError `EPOCH_CHANGED` for another incarnation of the database, `PROTOCOL` for any other text.
   */
  hasReached(at: Version, mark: Version): boolean
}

const optionChecks: Readonly<Record<keyof PostgresSourceOptions, OptionCheck>> = {
  connect: clientFlaw,
  table: isName,
  columns: (value) => isNames(value) ?? (elementsOf(value).length === 0 ? 'must have at least one name' : undefined),
  sql: isName,
  rls: isOneOf('row-local'),
  pollIntervalMs: isPositive,
  timeoutMs: isPositive,
  maxDeltaRows: isCount,
  maxObjectBytes: isCount,
  trimEveryMs: (value) => (value === false ? undefined : isPositive(value)),
  wake: isOneOf('notify', 'poll'),
}

/** Throws an OptionError that names the first wrong or missing option. */
export function checkPostgresOptions(options: PostgresSourceOptions): void {
  checkOptions('postgresSource', options, optionChecks)
  assertPresent('postgresSource', options, 'connect', '() => new pg.Client(…)')
  assertPresent('postgresSource', options, 'table', "'orders'")
}

/** The same for the options that do not concern one table. */
export function checkDatabaseOptions(options: PostgresDatabaseOptions): void {
  const { connect, pollIntervalMs, timeoutMs, trimEveryMs, wake } = optionChecks
  const checks = { connect, pollIntervalMs, timeoutMs, trimEveryMs, wake, holdMs: isDelayOrInfinity }
  checkOptions('postgresDatabase', options, checks)
  assertPresent('postgresDatabase', options, 'connect', '() => new pg.Client(…)')
}
