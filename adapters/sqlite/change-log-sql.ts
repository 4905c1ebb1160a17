import { propertiesOf } from '../common/properties.js'
import { notFound, refused } from '../common/source-errors.js'
import { findTable, installCommand, type Query, quoted, type Table, type UniqueColumns } from './table.js'

/** A trigger, a table or a view of the change log: its name, and its text in `sqlite_schema`. */
export interface SchemaObject {
  readonly name: string
  readonly sql: string
}

export const KEEP_ROWS = 1_000_000
const TRIM_EVERY = 1_024

export function sharedObjects(keepRows: number): readonly SchemaObject[] {
  return [
    {
      name: 'listwatch_state',
      sql: 'CREATE TABLE listwatch_state (one INTEGER PRIMARY KEY CHECK (one = 1), epoch TEXT NOT NULL)',
    },
    {
      // Without AUTOINCREMENT, which costs more: the newest row is never trimmed, so no number repeats. Drivers cannot read
      // larger integers than 2^53.
      name: 'listwatch_log',
      sql: 'CREATE TABLE listwatch_log (n INTEGER PRIMARY KEY, t INTEGER NOT NULL, k1, k2, k3, k4, r INTEGER NOT NULL DEFAULT (random() & 281474976710655))',
    },
    {
      name: 'listwatch_mark',
      sql: `CREATE VIEW listwatch_mark AS SELECT 'slm1.' || s.epoch || '.' || l.n || '.' || l.r AS mark FROM listwatch_state AS s, (SELECT n, r FROM listwatch_log ORDER BY n DESC LIMIT 1) AS l`,
    },
    {
      name: 'listwatch_trim',
      sql: `CREATE TRIGGER listwatch_trim AFTER INSERT ON listwatch_log WHEN NEW.n % ${TRIM_EVERY} = 0 BEGIN DELETE FROM listwatch_log WHERE n <= NEW.n - ${keepRows}; END`,
    },
  ]
}

/** The row with which an epoch begins, so that the log always has a newest row. */
export const NEW_EPOCH_SQL = `INSERT OR REPLACE INTO listwatch_state VALUES (1, lower(hex(randomblob(8))));
INSERT INTO listwatch_log (t) VALUES (0)`

/** The triggers of a table. `t` is its number in the log. All names are in quotes, so that ALTER … RENAME keeps the form. */
export function triggersOf({ name, key, uniques }: Table, t: number): readonly SchemaObject[] {
  const on = quoted(name)
  const keys = key.map((_, i) => `k${i + 1}`).join(', ')
  const valuesOf = (row: string): string => [t, ...key.map((column) => `${row}.${quoted(column.name)}`)].join(', ')
  const log = (row: 'NEW' | 'OLD'): string => `INSERT INTO listwatch_log (t, ${keys}) VALUES (${valuesOf(row)});`
  const trigger = (suffix: string, event: string, body: string): SchemaObject => {
    const own = quoted(`listwatch_${t}_${suffix}`)
    return { name: `listwatch_${t}_${suffix}`, sql: `CREATE TRIGGER ${own} ${event} BEGIN ${body} END` }
  }
  // REPLACE deletes rows that are equal in a unique index, and fires no trigger for them.
  const logReplaced = (columns: UniqueColumns, known: 'NEW' | 'OLD'): string => {
    const isEqual = columns.map(
      (column) => `x.${quoted(column.name)} COLLATE ${quoted(column.collation)} = NEW.${quoted(column.name)}`,
    )
    const isOther = key.map((column) => `x.${quoted(column.name)} COLLATE "BINARY" IS ${known}.${quoted(column.name)}`)
    return `INSERT INTO listwatch_log (t, ${keys}) SELECT ${valuesOf('x')} FROM ${on} AS x WHERE ${isEqual.join(' AND ')} AND NOT (${isOther.join(' AND ')});`
  }
  // Not UPDATE OF, which does not see changes of a generated column, or of an INTEGER PRIMARY KEY by the name rowid.
  const isChanged = (columns: UniqueColumns): string =>
    columns.map(({ name }) => `OLD.${quoted(name)} COLLATE "BINARY" IS NOT NEW.${quoted(name)}`).join(' OR ')
  return [
    trigger('insert', `AFTER INSERT ON ${on}`, log('NEW')),
    trigger('update', `AFTER UPDATE ON ${on}`, log('NEW')),
    trigger('move', `AFTER UPDATE ON ${on} WHEN ${isChanged(key)}`, log('OLD')),
    trigger('delete', `AFTER DELETE ON ${on}`, log('OLD')),
    ...uniques.flatMap((columns, i) => [
      trigger(`before_insert_${i}`, `BEFORE INSERT ON ${on}`, logReplaced(columns, 'NEW')),
      trigger(`before_update_${i}`, `BEFORE UPDATE ON ${on} WHEN ${isChanged(columns)}`, logReplaced(columns, 'OLD')),
    ]),
  ]
}

export interface InstalledLog {
  readonly t: number
  readonly key: readonly string[]
  readonly triggers: readonly SchemaObject[]
}

/** Finds the triggers of a table. They say which columns are the key, also after a column was renamed. */
export function findLog(query: Query, table: string): InstalledLog | undefined {
  const sql = `SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND tbl_name = ? COLLATE NOCASE
    AND name GLOB 'listwatch_[0-9]*' ORDER BY name`
  const triggers = query(sql, table).map((row) => ({ name: String(row['name']), sql: String(row['sql']) }))
  const last = triggers.find(({ name }) => name.endsWith('_delete'))
  if (last === undefined) return undefined
  const key = Array.from(last.sql.matchAll(/OLD\."((?:[^"]|"")*)"/g), ([, name = '']) => name.replaceAll('""', '"'))
  return { t: Number(/\d+/.exec(last.name)?.[0]), key, triggers }
}

export function flawOf(table: Table, { t, triggers }: InstalledLog): string | undefined {
  const expected = triggersOf(table, t)
  const isEqual =
    expected.length === triggers.length &&
    expected.every(({ name, sql }) => triggers.some((each) => each.name === name && each.sql === sql))
  return isEqual ? undefined : `the triggers of ${quoted(table.name)} do not fit its unique indexes and columns`
}

/** Looks up a table with its change log. Throws with the command that repairs it if changes may not be logged. */
export function findLoggedTable(query: Query, name: string, path: string): Table & { readonly t: number } {
  const log = findLog(query, name)
  const table = findTable(query, name, log?.key)
  const command = `run: ${installCommand(path, table.name)}`
  const shared = query(
    `SELECT count(*) AS count FROM main.sqlite_schema WHERE name IN ('listwatch_state', 'listwatch_log')`,
  )
  if (log === undefined || propertiesOf(shared[0])['count'] !== 2)
    throw notFound(`no change log is installed for ${quoted(table.name)}; ${command}`)
  const flaw = flawOf(table, log)
  if (flaw !== undefined) throw refused(`${flaw}, so changes may be missed; ${command}`)
  return { ...table, t: log.t }
}
