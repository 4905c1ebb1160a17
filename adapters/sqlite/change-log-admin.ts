import { OptionError } from '../../src/contract/errors.js'
import { assertPresent, checkOptions, isBoolean, isCount, isName, isNames } from '../../src/util/validate-options.js'
import { type Properties, propertiesOf } from '../common/properties.js'
import { notFound } from '../common/source-errors.js'
import {
  findLog,
  flawOf,
  KEEP_ROWS,
  NEW_EPOCH_SQL,
  type SchemaObject,
  sharedObjects,
  triggersOf,
} from './change-log-sql.js'
import type { SqliteDatabase } from './sqlite-client.js'
import { sqliteError } from './sqlite-errors.js'
import { findTable, type Query, quoted } from './table.js'

/**
 * Options of `installChangeLog` and `installChangeLogSql`.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { installChangeLogSql } from 'listwatch/sqlite'
 *
 * const migration = installChangeLogSql(new DatabaseSync('app.db'), {
 *   table: 'orders',
 *   key: ['tenant', 'number'], // Default: the primary key.
 *   keepRows: 5_000_000, // Default: 1 000 000 rows of the log.
 * })
 * ```
 */
export interface ChangeLogOptions {
  /** The name of the table, without quotes. */
  readonly table: string
  /** The columns of a unique index, to be used as the key. Default: the columns of the primary key. */
  readonly key?: readonly string[]
  /**
   * The number of rows that the log of the file keeps. A mirror that was away for more changes lists again. Default:
   * that of the last installation, or 1 000 000.
   */
  readonly keepRows?: number
}

/**
 * The change log of one table.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { changeLogStatus } from 'listwatch/sqlite'
 *
 * for (const { table, key, problems } of changeLogStatus(new DatabaseSync('app.db')).tables) {
 *   console.log(`${table}: the key is ${key.join(', ')}`)
 *   for (const problem of problems) console.error(problem)
 * }
 * ```
 */
export interface ChangeLog {
  /** The name of the table. */
  readonly table: string
  /** The columns of the key. */
  readonly key: readonly string[]
  /** Why changes may be missed, or rows are not mirrored; one line for each reason. */
  readonly problems: readonly string[]
}

/**
 * The state of the change log of a file.
 *
 * @example
 * ```ts
 * import type { ChangeLogStatus } from 'listwatch/sqlite'
 *
 * function isInstalled({ epoch, tables }: ChangeLogStatus, name: string): boolean {
 *   return epoch !== undefined && tables.some(({ table }) => table === name)
 * }
 * ```
 */
export interface ChangeLogStatus {
  /** The epoch of the file; undefined if nothing is installed. */
  readonly epoch: string | undefined
  /** The number of rows in the log. */
  readonly logRows: number
  /** The number of rows that the log keeps. */
  readonly keepRows: number
  /** The journal mode of the file: `wal`, `delete` or another one of SQLite. */
  readonly journalMode: string
  /** The tables with triggers. */
  readonly tables: readonly ChangeLog[]
}

/**
 * Creates the change log of a table and the triggers that write it. If they are there already and fit, it changes
 * nothing. It may be called in a transaction.
 * @throws SourceError `NOT_FOUND` if there is no such table, `PROTOCOL` if it cannot be mirrored.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { installChangeLog } from 'listwatch/sqlite'
 *
 * installChangeLog(new DatabaseSync('app.db'), { table: 'orders' })
 * ```
 */
export function installChangeLog(database: SqliteDatabase, options: ChangeLogOptions): void {
  change(database, () => installChangeLogSql(database, options))
}

/**
 * Returns the SQL that `installChangeLog` would run, for a migration. It fits the unique indexes that the table has now.
 * @returns The statements; empty if nothing is to change.
 * @throws SourceError like `installChangeLog`.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { installChangeLogSql } from 'listwatch/sqlite'
 *
 * console.log(installChangeLogSql(new DatabaseSync('app.db'), { table: 'orders' }))
 * ```
 */
export function installChangeLogSql(database: SqliteDatabase, options: ChangeLogOptions): string {
  checkOptions('installChangeLog', options, { table: isName, key: isNames, keepRows: isCount })
  assertPresent('installChangeLog', options, 'table', "'orders'")
  const { table: name, key, keepRows } = options
  const query = queryOf(database)
  const known = findLog(query, name)
  const table = findTable(query, name, key ?? known?.key)
  const objects = objectsOf(query)
  const t = known?.t ?? 1 + Math.max(0, ...objects.map((each) => Number(/^listwatch_(\d+)_/.exec(each.name)?.[1] ?? 0)))
  const shared = sharedObjects(keepRows ?? keptRows(objects))
  const triggers = triggersOf(table, t)
  const stale = [
    ...(known?.triggers ?? []).filter((each) => !triggers.some((wanted) => isSame(each, wanted))),
    ...objects.filter((each) => each.name === 'listwatch_trim' && !shared.some((wanted) => isSame(each, wanted))),
  ]
  const missing = [...shared, ...triggers].filter(
    (wanted) => !objects.some((each) => each.name === wanted.name) || stale.some((each) => each.name === wanted.name),
  )
  const isNew = missing.some((each) => each.name === 'listwatch_state' || each.name === 'listwatch_log')
  return [
    ...stale.map((each) => `DROP TRIGGER ${quoted(each.name)};\n`),
    ...missing.map(({ sql }) => `${sql};\n`),
    ...(isNew ? [`${NEW_EPOCH_SQL};\n`] : []),
  ].join('')
}

/**
 * Removes the triggers of a table, or everything that was installed.
 * @returns Whether there was something to remove.
 * @throws SourceError `UNAVAILABLE` if the file is locked.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { uninstallChangeLog } from 'listwatch/sqlite'
 *
 * const database = new DatabaseSync('app.db')
 * if (!uninstallChangeLog(database, { table: 'orders' })) console.log('nothing was installed for orders')
 * uninstallChangeLog(database, { all: true })
 * ```
 */
export function uninstallChangeLog(
  database: SqliteDatabase,
  what: { readonly table: string } | { readonly all: true },
): boolean {
  let sql = ''
  change(database, () => {
    sql = uninstallChangeLogSql(database, what)
    return sql
  })
  return sql !== ''
}

/**
 * Returns the SQL that `uninstallChangeLog` would run.
 * @returns The statements; empty if there is nothing to remove.
 * @throws SourceError `UNAVAILABLE` if the file is locked.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { uninstallChangeLogSql } from 'listwatch/sqlite'
 *
 * console.log(uninstallChangeLogSql(new DatabaseSync('app.db'), { all: true }))
 * ```
 */
export function uninstallChangeLogSql(
  database: SqliteDatabase,
  what: { readonly table: string } | { readonly all: true },
): string {
  checkOptions('uninstallChangeLog', what, { table: isName, all: isBoolean })
  const { table, all } = propertiesOf(what)
  if ((table === undefined) === (all !== true))
    throw new OptionError('uninstallChangeLog: exactly one of the options "table" and "all" must be present', {
      option: 'table',
    })
  const query = queryOf(database)
  const objects = all === true ? objectsOf(query) : (findLog(query, String(table))?.triggers ?? [])
  const order = ['trigger', 'view', 'table']
  return objects
    .map((each) => ({ ...each, type: typeOf(each) }))
    .toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type))
    .map(({ name, type }) => `DROP ${type.toUpperCase()} ${quoted(name)};\n`)
    .join('')
}

/**
 * Begins another epoch: each mirror of the file lists again, and waits for earlier marks reject. Call it after a backup was
 * restored.
 * @throws SourceError `NOT_FOUND` if nothing is installed.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { startEpoch } from 'listwatch/sqlite'
 *
 * startEpoch(new DatabaseSync('restored.db'))
 * ```
 */
export function startEpoch(database: SqliteDatabase): void {
  if (!isInstalled(objectsOf(queryOf(database)))) throw notFound('nothing is installed in this file')
  change(database, () => NEW_EPOCH_SQL)
}

/**
 * Reads the state of the change log of a file.
 * @returns The epoch, the size of the log, and each table with its problems.
 * @throws SourceError `UNAVAILABLE` if the file is locked.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 * import { changeLogStatus } from 'listwatch/sqlite'
 *
 * console.log(changeLogStatus(new DatabaseSync('app.db')).logRows)
 * ```
 */
export function changeLogStatus(database: SqliteDatabase): ChangeLogStatus {
  const query = queryOf(database)
  const objects = objectsOf(query)
  const journalMode = String(propertiesOf(query('PRAGMA main.journal_mode')[0])['journal_mode'])
  if (!isInstalled(objects)) return { epoch: undefined, logRows: 0, keepRows: KEEP_ROWS, journalMode, tables: [] }
  const sql = `SELECT epoch, (SELECT count(*) FROM main.listwatch_log) AS rows FROM main.listwatch_state`
  const { epoch, rows } = propertiesOf(query(sql)[0])
  const names = query(
    `SELECT DISTINCT tbl_name FROM main.sqlite_schema WHERE type = 'trigger' AND name GLOB 'listwatch_[0-9]*' ORDER BY tbl_name`,
  )
  const tables = names.map((row) => describe(query, String(row['tbl_name'])))
  return { epoch: String(epoch), logRows: Number(rows), keepRows: keptRows(objects), journalMode, tables }
}

function describe(query: Query, name: string): ChangeLog {
  const log = findLog(query, name)
  const key = log?.key ?? []
  try {
    const table = findTable(query, name, key)
    const flaw = log === undefined ? `a trigger of ${quoted(name)} is missing` : flawOf(table, log)
    const nulls = key.map((column) => `${quoted(column)} IS NULL`).join(' OR ')
    const hasNulls = flaw === undefined && query(`SELECT 1 FROM main.${quoted(name)} WHERE ${nulls} LIMIT 1`).length > 0
    const problems = [flaw, hasNulls ? 'rows whose key is NULL are not mirrored' : undefined]
    return { table: name, key, problems: problems.filter((problem) => problem !== undefined) }
  } catch (error) {
    return { table: name, key, problems: [sqliteError(error).message] }
  }
}

function queryOf(database: SqliteDatabase): Query {
  return (sql, ...values) => {
    try {
      return database
        .prepare(sql)
        .all(...values)
        .map(propertiesOf)
    } catch (error) {
      throw sqliteError(error)
    }
  }
}

function objectsOf(query: Query): readonly SchemaObject[] {
  const sql = `SELECT name, sql FROM main.sqlite_schema WHERE type IN ('table', 'view', 'trigger')
    AND (name IN ('listwatch_state', 'listwatch_log', 'listwatch_mark', 'listwatch_trim') OR type = 'trigger' AND name GLOB 'listwatch_[0-9]*')`
  return query(sql).map((row: Properties) => ({ name: String(row['name']), sql: String(row['sql']) }))
}

function isInstalled(objects: readonly SchemaObject[]): boolean {
  return sharedObjects(KEEP_ROWS).every(({ name }) => objects.some((each) => each.name === name))
}

function isSame(a: SchemaObject, b: SchemaObject): boolean {
  return a.name === b.name && a.sql === b.sql
}

function keptRows(objects: readonly SchemaObject[]): number {
  const trim = objects.find(({ name }) => name === 'listwatch_trim')
  return Number(/NEW\.n - (\d+)/.exec(trim?.sql ?? '')?.[1] ?? KEEP_ROWS)
}

function typeOf({ sql }: SchemaObject): string {
  return /^CREATE (\w+)/.exec(sql)?.[1]?.toLowerCase() ?? 'trigger'
}

/** Runs statements as one transaction, also in a transaction of the caller. */
function change(database: SqliteDatabase, sqlOf: () => string): void {
  try {
    database.exec('SAVEPOINT listwatch_change')
    try {
      database.exec(`${sqlOf()};RELEASE listwatch_change`)
    } catch (error) {
      // If the release is a commit, it fails again while a reader holds the file.
      if (!isDone(database, 'ROLLBACK TO listwatch_change; RELEASE listwatch_change')) isDone(database, 'ROLLBACK')
      throw error
    }
  } catch (error) {
    throw error instanceof OptionError ? error : sqliteError(error)
  }
}

/** False also if SQLite has undone the transaction already, as it does if the disk is full. */
function isDone(database: SqliteDatabase, sql: string): boolean {
  try {
    database.exec(sql)
    return true
  } catch {
    return false
  }
}
