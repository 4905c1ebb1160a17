import type { SourceError } from '../../src/contract/errors.js'
import type { ListEvent } from '../../src/contract/source.js'
import { joinKey } from '../../src/util/join-key.js'
import { addTo, beyondNumbers, hexOf, mirroredColumns } from '../common/columns.js'
import { refused } from '../common/source-errors.js'
import type { Connection } from './connection.js'
import type { SqliteValue } from './sqlite-client.js'
import type { SqliteSourceOptions } from './sqlite-options.js'
import { type KeyColumn, MAX_KEY_COLUMNS, quoted, type Table } from './table.js'

type Rows = readonly (readonly unknown[])[]

export type Place = readonly SqliteValue[]

export class TableReader<T> {
  readonly #connection: Connection
  readonly #table: Table & { readonly t: number }
  readonly #names: readonly string[]
  readonly #placeNames: readonly string[]
  readonly #selected: readonly string[]
  readonly #key: readonly KeyColumn[]
  readonly #keyAt: readonly number[]
  readonly #loggedAt: readonly number[]
  readonly #areBigInts: boolean
  readonly #isFiltered: boolean
  readonly #sql: ReturnType<typeof statementsOf>
  /** Whether a row was left out, because its key is NULL or of another type than its column. */
  hasLeftOut = false

  constructor(connection: Connection, table: Table & { readonly t: number }, selection: SqliteSourceOptions) {
    this.#connection = connection
    this.#table = table
    this.#names = mirroredColumns(table, selection.columns, { table: quoted(table.name), name: quoted })
    this.#placeNames = placesOf(table).map((_, i) => `listwatch_p${i}`)
    this.#selected = [...this.#names, ...this.#placeNames, ...LOGGED_NAMES.slice(0, table.key.length)]
    this.#key = table.key
    this.#keyAt = table.key.map(({ name }) => this.#names.indexOf(name))
    this.#loggedAt = table.key.map((_, i) => this.#names.length + this.#placeNames.length + i)
    this.#isFiltered = selection.sql !== undefined
    this.#areBigInts = selection.integers === 'bigint'
    this.#sql = statementsOf(table, this.#names, selection.sql)
  }

  last(): Place | undefined {
    return this.#place(this.#sql.last)
  }

  /** Reads a page. `to`: the place of its last row; undefined if the page ends at `end`. */
  page(after: Place | undefined, end: Place, size: number): { events: ListEvent<T>[]; to: Place | undefined } {
    const { events, to } = this.#isFiltered ? this.#filtered(after, end, size) : this.#unfiltered(after, end, size)
    // Two keys with one text. Bytes are never equal.
    if (this.#table.isWithoutRowid && to?.every((value, i) => i % 2 === 0 || value === after?.[i]))
      throw cutText(this.#table.name)
    return { events, to }
  }

  #unfiltered(after: Place | undefined, end: Place, size: number): { events: ListEvent<T>[]; to: Place | undefined } {
    const { events, rows } = this.#events(after ? this.#sql.page : this.#sql.firstPage, ...(after ?? []), ...end, size)
    const last = rows.length < size ? undefined : rows.at(-1)
    return { events, to: last?.slice(this.#names.length, this.#loggedAt[0]).map(placeValue) }
  }

  /** A condition may leave out most rows. The event loop would wait until it has found `size` others. */
  #filtered(after: Place | undefined, end: Place, size: number): { events: ListEvent<T>[]; to: Place | undefined } {
    const from = after ?? []
    const to = this.#place(after ? this.#sql.end : this.#sql.firstEnd, ...from, ...end, size - 1)
    const page = after ? this.#sql.page : this.#sql.firstPage
    return { events: this.#events(page, ...from, ...(to ?? end), NO_LIMIT).events, to }
  }

  /** Reads the current state of the keys that the log has after `after`, up to `end`. */
  changed(after: number, end: number): ListEvent<T>[] {
    return this.#events(this.#sql.changes, this.#table.t, after, end).events
  }

  countOfChanges(after: number): number {
    return Number(this.#connection.get(COUNT_SQL, this.#table.t, after)['count'])
  }

  #place(sql: string, ...values: SqliteValue[]): Place | undefined {
    const [row] = this.#exact(sql, this.#placeNames, ...values)
    return row?.map(placeValue)
  }

  #events(sql: string, ...values: SqliteValue[]): { events: ListEvent<T>[]; rows: Rows } {
    if (!this.#areBigInts) {
      const events: ListEvent<T>[] = []
      const rows = this.#connection.rows(sql, this.#selected, false, ...values)
      if (rows?.every((row) => row.every(isSafe) && this.#decode(row, events)) === true) return { events, rows }
    }
    const events: ListEvent<T>[] = []
    const rows = this.#exact(sql, this.#selected, ...values)
    for (const row of rows) this.#decode(row, events)
    return { events, rows }
  }

  #exact(sql: string, names: readonly string[], ...values: SqliteValue[]): Rows {
    return this.#connection.rows(sql, names, true, ...values) ?? []
  }

  /** Adds the event of a row. A row without a place is gone; its key comes from the log. */
  #decode(row: readonly unknown[], events: ListEvent<T>[]): true {
    const names = this.#names
    if (row[names.length + this.#placeNames.length - 1] === null) {
      const key = this.#keyOf(row, this.#loggedAt)
      if (key !== undefined) events.push({ type: 'delete', key })
      return true
    }
    const object: Record<string, unknown> = {}
    let tooLarge: string | undefined
    for (let i = 0; i < names.length; i++) {
      const name = names[i] ?? ''
      let value = row[i]
      if (typeof value === 'bigint' && !this.#areBigInts) {
        if (Number.isSafeInteger(Number(value))) value = Number(value)
        else tooLarge ??= name
      }
      addTo(object, name, value)
    }
    const key = this.#keyOf(row, this.#keyAt)
    if (key === undefined) this.hasLeftOut = true
    else if (tooLarge === undefined) events.push({ type: 'put', key, object: trusted<T>(object) })
    else events.push({ type: 'invalid', key, error: beyondNumbers(quoted(tooLarge), key) })
    return true
  }

  #keyOf(row: readonly unknown[], at: readonly number[]): string | undefined {
    const parts: string[] = []
    for (const [i, { type }] of this.#key.entries()) {
      const part = keyPart(row[at[i] ?? -1], type)
      if (part === undefined) return undefined
      parts.push(part)
    }
    return joinKey(parts)
  }
}

const NO_LIMIT = -1
const LOGGED_NAMES = Array.from({ length: MAX_KEY_COLUMNS }, (_, i) => `listwatch_k${i + 1}`)
const COUNT_SQL = 'SELECT count(*) AS count FROM main.listwatch_log WHERE t = ? AND n > ?'

function trusted<T>(row: object): T {
  return row as T
}

function isSafe(value: unknown): boolean {
  return typeof value !== 'number' || (value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER)
}

function cutText(table: string): SourceError {
  return refused(
    `a text in the key of ${quoted(table)} has a NUL, at which this driver cuts it, or is not UTF-8; use Node 24 or better-sqlite3`,
  )
}

/**
 * Returns the text of a key column; undefined for NULL, and for a value that a column of this type should not have.
 * Texts of a column of no certain type that look like a number or like another text are in quotes, so that no two values
 * have one text.
 */
export function keyPart(value: unknown, type: KeyColumn['type']): string | undefined {
  if (value instanceof Uint8Array) {
    const hex = hexOf(value)
    return type === 'blob' ? hex : type === 'any' ? `x'${hex}'` : undefined
  }
  if (typeof value === 'number' || typeof value === 'bigint') return type === 'any' ? String(value) : undefined
  if (typeof value !== 'string' || type === 'blob') return undefined
  return type === 'any' && /^(?:-?\d[\d.e+-]*|-?Infinity|x?'.*)$/s.test(value) ? `'${value}'` : value
}

function placeValue(value: unknown): SqliteValue {
  const isExact = value === null || typeof value === 'bigint' || typeof value === 'string'
  return isExact || value instanceof Uint8Array ? value : Number(value)
}

/** Each column of the order, after the bytes of its text: the string of a text that is not UTF-8 has another place. */
function placesOf({ order, isWithoutRowid }: Table): readonly string[] {
  if (!isWithoutRowid) return order
  return order.flatMap((column) => [`CASE typeof(${column}) WHEN 'text' THEN CAST(${column} AS BLOB) END`, column])
}

function statementsOf(from: Table, columns: readonly string[], sql: string | undefined) {
  const { name, order, key, isWithoutRowid } = from
  const table = `main.${quoted(name)}`
  const condition = sql === undefined ? '' : ` AND (${sql}\n)`
  const placed = placesOf(from)
    .map((column, i) => `${column} AS listwatch_p${i}`)
    .join(', ')
  const selected = `${columns.map(quoted).join(', ')}, ${placed}`
  const row = `(${order.join(', ')})`
  const marks = `(${order.map(() => (isWithoutRowid ? 'coalesce(CAST(? AS TEXT), ?)' : '?')).join(', ')})`
  const sorted = (direction: string): string => order.map((column) => `${column} ${direction}`).join(', ')
  const logged = `(SELECT DISTINCT ${key.map((_, i) => `k${i + 1} AS listwatch_k${i + 1}`).join(', ')}
    FROM main.listwatch_log WHERE t = ? AND n > ? AND n <= ?)`
  // The first comparison uses the index, whose collation may find other keys too. The second one compares bytes.
  const isKey = key.map(({ name: column, collation }, i) => {
    const [own, wanted] = [quoted(column), `listwatch_k${i + 1}`]
    return `${own} COLLATE ${quoted(collation)} = ${wanted}${collation === 'BINARY' ? '' : ` AND ${own} COLLATE "BINARY" = ${wanted}`}`
  })
  return {
    last: `SELECT ${placed} FROM ${table} ORDER BY ${sorted('DESC')} LIMIT 1`,
    firstEnd: `SELECT ${placed} FROM ${table} WHERE ${row} <= ${marks} ORDER BY ${sorted('ASC')} LIMIT 1 OFFSET ?`,
    end: `SELECT ${placed} FROM ${table} WHERE ${row} > ${marks} AND ${row} <= ${marks} ORDER BY ${sorted('ASC')} LIMIT 1 OFFSET ?`,
    firstPage: `SELECT ${selected} FROM ${table} WHERE ${row} <= ${marks}${condition} ORDER BY ${sorted('ASC')} LIMIT ?`,
    page: `SELECT ${selected} FROM ${table} WHERE ${row} > ${marks} AND ${row} <= ${marks}${condition} ORDER BY ${sorted('ASC')} LIMIT ?`,
    changes: `SELECT ${selected}, ${LOGGED_NAMES.slice(0, key.length).join(', ')}
    FROM ${logged} LEFT JOIN ${table} ON ${isKey.join(' AND ')}${condition}`,
  }
}

/** Throws if the condition is not SQL, or depends on more than the row. */
export function checkCondition(connection: Connection, table: Table, sql: string): void {
  const columns = table.columns.map(quoted).join(', ')
  connection.exec('SAVEPOINT listwatch_check')
  try {
    // SQLite allows in a partial index only what depends on nothing but the row.
    connection.exec(`CREATE TEMP TABLE listwatch_check (${columns})`)
    connection.exec(`CREATE INDEX temp.listwatch_check_index ON listwatch_check (1) WHERE (${sql}\n)`)
    connection.exec('INSERT INTO temp.listwatch_check DEFAULT VALUES')
  } catch (error) {
    throw refused(`sql: it must depend on nothing but the row: ${error instanceof Error ? error.message : 'unknown'}`)
  } finally {
    connection.exec('ROLLBACK TO listwatch_check; RELEASE listwatch_check')
  }
}
