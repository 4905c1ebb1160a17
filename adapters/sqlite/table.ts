import { shellQuoted } from '../../src/util/shell-quoted.js'
import type { Properties } from '../common/properties.js'
import { notFound, refused } from '../common/source-errors.js'

/** Reads all rows of a query. Integers are numbers. */
export type Query = (sql: string, ...values: string[]) => readonly Properties[]

export interface IndexColumn {
  readonly name: string
  readonly collation: string
}

/** A column of the key, and how its values become a part of the key. */
export interface KeyColumn extends IndexColumn {
  readonly type: 'text' | 'blob' | 'any'
}

/** Columns of which no two rows have equal values: REPLACE deletes the other row. */
export type UniqueColumns = readonly IndexColumn[]

export interface Table {
  readonly name: string
  /** All columns that `SELECT *` returns. */
  readonly columns: readonly string[]
  readonly key: readonly KeyColumn[]
  /** The order of the rows on disk, in SQL: the rowid, or the primary key of a WITHOUT ROWID table. */
  readonly order: readonly string[]
  readonly isWithoutRowid: boolean
  readonly uniques: readonly UniqueColumns[]
}

/** The most columns of a key. The change log has a column for each. */
export const MAX_KEY_COLUMNS = 4

const BINARY = 'BINARY'

interface Column {
  readonly name: string
  readonly type: string
  /** The position in the primary key from 1, or 0. */
  readonly pk: number
}

interface Unique {
  readonly columns: UniqueColumns
  readonly isPrimaryKey: boolean
  readonly isPartial: boolean
  readonly hasExpression: boolean
}

export function findTable(query: Query, given: string, wanted?: readonly string[]): Table {
  const [found] = query(
    `SELECT l.name, l.type, l.wr FROM pragma_table_list AS l WHERE l.schema = 'main' AND l.name = ? COLLATE NOCASE`,
    given,
  )
  if (found === undefined) {
    const names = query(
      `SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'
      AND name NOT LIKE 'listwatch~_%' ESCAPE '~' ORDER BY name LIMIT 20`,
    ).map((row) => row['name'])
    throw notFound(`there is no table ${quoted(given)}; the file has ${names.join(', ') || 'no tables'}`)
  }
  const name = String(found['name'])
  if (found['type'] !== 'table') throw refused(`${quoted(name)} is not a table, but a ${String(found['type'])}`)
  const columns = columnsOf(query, name)
  const reserved = columns.find((column) => /^listwatch_[kp]\d+$/i.test(column.name))
  if (reserved !== undefined)
    throw refused(`rename the column ${quoted(reserved.name)}: queries of the mirror need its name`)
  const uniques = uniquesOf(query, name)
  const isWithoutRowid = found['wr'] === 1
  const primaryKey = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
  const keyNames = wanted ?? primaryKey.map((column) => column.name)
  if (keyNames.length === 0)
    throw refused(`${quoted(name)} has no primary key; name the columns of a unique index with --key`)
  const [only, ...others] = primaryKey
  const alias =
    only !== undefined && others.length === 0 && !isWithoutRowid && !uniques.some(({ isPrimaryKey }) => isPrimaryKey)
      ? only.name // INTEGER PRIMARY KEY: another name of the rowid.
      : undefined
  const rowid = alias ?? freeRowidName(columns)
  if (!isWithoutRowid) {
    if (rowid === undefined) throw refused(`${quoted(name)} has columns with all names of the rowid`)
    const columns = [{ name: rowid, collation: BINARY }]
    uniques.unshift({ columns, isPrimaryKey: alias !== undefined, isPartial: false, hasExpression: false })
  }
  const key = uniques.find((each) => !each.isPartial && !each.hasExpression && isOf(each, keyNames))
  if (key === undefined) throw refused(`${quoted(name)} has no unique index on exactly ${keyNames.join(', ')}`)
  if (keyNames.length > MAX_KEY_COLUMNS)
    throw refused(`the key of ${quoted(name)} has ${keyNames.length} columns; at most ${MAX_KEY_COLUMNS} are allowed`)
  if (uniques.some(({ hasExpression }) => hasExpression))
    throw refused(
      `${quoted(name)} has a unique index on an expression: REPLACE may delete rows by it without a trigger`,
    )
  const order = (isWithoutRowid ? uniques.find(({ isPrimaryKey }) => isPrimaryKey) : uniques[0])?.columns ?? []
  return {
    name,
    columns: columns.map((column) => column.name),
    key: keyNames.map((each) => keyColumn(each, key, columns)),
    order: orderOf(query, name, order),
    isWithoutRowid,
    uniques: uniques
      .filter((each) => each !== key || each.columns.some(({ collation }) => collation !== BINARY))
      .map((each) => each.columns),
  }
}

export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

export function installCommand(path: string, table: string): string {
  return `npx listwatch sqlite install ${shellQuoted(path)} --table ${shellQuoted(table)}`
}

function columnsOf(query: Query, table: string): Column[] {
  const sql = `SELECT name, type, pk FROM pragma_table_xinfo(?, 'main') WHERE hidden <> 1`
  return query(sql, table).map((row) => ({
    name: String(row['name']),
    type: String(row['type']),
    pk: Number(row['pk']),
  }))
}

function uniquesOf(query: Query, table: string): Unique[] {
  const indexes = query(`SELECT name, origin, partial FROM pragma_index_list(?, 'main') WHERE "unique" = 1`, table)
  return indexes.map((index) => {
    const sql = `SELECT cid, name, coll FROM pragma_index_xinfo(?, 'main') WHERE key = 1 ORDER BY seqno`
    const parts = query(sql, String(index['name']))
    return {
      columns: parts.map((part) => ({ name: String(part['name']), collation: String(part['coll']) })),
      isPrimaryKey: index['origin'] === 'pk',
      isPartial: index['partial'] === 1,
      hasExpression: parts.some((part) => part['cid'] === -2),
    }
  })
}

function freeRowidName(columns: readonly Column[]): string | undefined {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()))
  return ['rowid', '_rowid_', 'oid'].find((name) => !taken.has(name))
}

function isOf({ columns }: Unique, names: readonly string[]): boolean {
  const own = columns.map(({ name }) => name.toLowerCase())
  return own.length === names.length && names.every((name) => own.includes(name.toLowerCase()))
}

function keyColumn(given: string, { columns }: Unique, all: readonly Column[]): KeyColumn {
  const { name, collation } = columns.find((each) => each.name.toLowerCase() === given.toLowerCase()) ?? {
    name: given,
    collation: BINARY,
  }
  return { name, collation, type: keyTypeOf(all.find((each) => each.name === name)?.type ?? '') }
}

/** Names the collations only if the columns have others than the index: SQLite reads no range of several columns then. */
function orderOf(query: Query, table: string, columns: UniqueColumns): readonly string[] {
  const names = columns.map(({ name }) => quoted(name))
  const sql = `EXPLAIN QUERY PLAN SELECT 1 FROM main.${quoted(table)} ORDER BY ${names.join(', ')}`
  const isOwn = query(sql).every((step) => !String(step['detail']).includes('TEMP B-TREE'))
  return isOwn ? names : columns.map(({ name, collation }) => `${quoted(name)} COLLATE ${quoted(collation)}`)
}

/** By the rules of SQLite for the affinity of a declared type. */
function keyTypeOf(declared: string): KeyColumn['type'] {
  if (/int/i.test(declared)) return 'any'
  if (/char|clob|text/i.test(declared)) return 'text'
  return /blob/i.test(declared) ? 'blob' : 'any'
}
