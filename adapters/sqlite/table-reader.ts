import { SourceError } from '../../src/contract/errors.js'
import type { ListEvent } from '../../src/contract/source.js'
import { joinKey } from '../../src/util/join-key.js'
import type { Properties } from '../common/properties.js'
import type { Connection } from './connection.js'
import type { SqliteValue } from './sqlite-client.js'
import { type KeyColumn, quoted, refused, type Table } from './table.js'

/** What a source reads of a table. */
export interface Selection {
  readonly columns?: readonly string[] | undefined
  readonly sql?: string | undefined
  readonly integers?: 'number' | 'bigint' | undefined
}

/** The position of a row in the order of the table. */
export type Place = readonly SqliteValue[]

/** Reads rows of one table on one connection, as events. */
export class TableReader<T> {
  readonly #connection: Connection
  readonly #table: Table & { readonly t: number }
  readonly #names: readonly string[]
  readonly #key: readonly KeyColumn[]
  readonly #areBigInts: boolean
  readonly #sql: ReturnType<typeof statementsOf>
  /** Whether a row was left out, because its key is NULL or of another type than its column. */
  hasLeftOut = false

  constructor(connection: Connection, table: Table & { readonly t: number }, selection: Selection) {
    this.#connection = connection
    this.#table = table
    this.#names = mirroredColumns(table, selection.columns)
    this.#key = table.key
    this.#areBigInts = selection.integers === 'bigint'
    this.#sql = statementsOf(table, this.#names, selection.sql)
  }

  /** Returns the place of the last row; undefined if the table is empty. */
  last(): Place | undefined {
    return this.#place(this.#sql.last)
  }

  /** Returns the place of the last row of a page; undefined if the page ends at `end`. */
  endOfPage(after: Place | undefined, end: Place, size: number): Place | undefined {
    return after === undefined
      ? this.#place(this.#sql.firstEnd, ...end, size - 1)
      : this.#place(this.#sql.end, ...after, ...end, size - 1)
  }

  /** Reads the rows of a page. */
  page(after: Place | undefined, end: Place): ListEvent<T>[] {
    return after === undefined ? this.#puts(this.#sql.firstPage, ...end) : this.#puts(this.#sql.page, ...after, ...end)
  }

  /** Reads the current state of the keys that the log has after `after`, up to `end`. */
  changed(after: number, end: number): ListEvent<T>[] {
    const { t } = this.#table
    const events = this.#puts(this.#sql.puts, t, after, end)
    for (const row of this.#connection.exact(this.#sql.deletes, t, after, end)) {
      const key = this.#keyOf(this.#key.map((_, i) => row[`k${i + 1}`]))
      if (key !== undefined) events.push({ type: 'delete', key })
    }
    return events
  }

  /** Returns the number of rows of the log after `after`. */
  countOfChanges(after: number): number {
    return Number(this.#connection.get(COUNT_SQL, this.#table.t, after)['count'])
  }

  #place(sql: string, ...values: SqliteValue[]): Place | undefined {
    const [row] = this.#connection.exact(sql, ...values)
    return row && this.#table.order.map((_, i) => placeValue(row[`p${i}`]))
  }

  #puts(sql: string, ...values: SqliteValue[]): ListEvent<T>[] {
    if (!this.#areBigInts) {
      const events: ListEvent<T>[] = []
      const rows = this.#connection.all(sql, ...values)
      if (rows?.every((row) => this.#decode(row, events, isSafe)) === true) return events
    }
    const events: ListEvent<T>[] = []
    for (const row of this.#connection.exact(sql, ...values)) this.#decode(row, events, () => true)
    return events
  }

  /** Adds the event of a row. Returns false if the driver may have rounded one of its values. */
  #decode(row: Properties, events: ListEvent<T>[], isExact: (value: unknown) => boolean): boolean {
    const object: Record<string, unknown> = {}
    let tooLarge: string | undefined
    for (const name of this.#names) {
      let value = row[name]
      if (!isExact(value)) return false
      if (typeof value === 'bigint' && !this.#areBigInts) {
        if (Number.isSafeInteger(Number(value))) value = Number(value)
        else tooLarge ??= name
      }
      if (name === '__proto__') Object.defineProperty(object, name, { value, ...PLAIN })
      else object[name] = value
    }
    const key = this.#keyOf(this.#key.map(({ name }) => row[name]))
    if (key === undefined) this.hasLeftOut = true
    else if (tooLarge === undefined) events.push({ type: 'put', key, object: trusted<T>(object) })
    else events.push({ type: 'invalid', key, error: beyondNumbers(tooLarge, key) })
    return true
  }

  #keyOf(values: readonly unknown[]): string | undefined {
    const parts: string[] = []
    for (const [i, { type }] of this.#key.entries()) {
      const part = keyPart(values[i], type)
      if (part === undefined) return undefined
      parts.push(part)
    }
    return joinKey(parts)
  }
}

const COUNT_SQL = 'SELECT count(*) AS count FROM main.listwatch_log WHERE t = ? AND n > ?'
const PLAIN = { writable: true, enumerable: true, configurable: true }

/** A row has the columns of the user's type. */
function trusted<T>(row: object): T {
  return row as T
}

function isSafe(value: unknown): boolean {
  return typeof value !== 'number' || (value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER)
}

function beyondNumbers(column: string, key: string): SourceError {
  const message = `the column ${quoted(column)} has an integer beyond 2^53, which a number cannot hold; set integers: 'bigint'`
  return new SourceError(message, { code: 'DECODE', key })
}

/**
 * Returns the text of a key column; undefined for NULL, and for a value that a column of this type should not have.
 * Texts of a column of no certain type that look like a number or like another text are in quotes, so that no two values
 * have one text.
 */
export function keyPart(value: unknown, type: KeyColumn['type']): string | undefined {
  if (value instanceof Uint8Array) {
    const hex = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')
    return type === 'blob' ? hex : type === 'any' ? `x'${hex}'` : undefined
  }
  if (typeof value === 'number' || typeof value === 'bigint') return type === 'any' ? String(value) : undefined
  if (typeof value !== 'string' || type === 'blob') return undefined
  return type === 'any' && /^(?:-?\d[\d.e+-]*|-?Infinity|x?'.*)$/s.test(value) ? `'${value}'` : value
}

function placeValue(value: unknown): SqliteValue {
  return typeof value === 'bigint' || typeof value === 'string' || value instanceof Uint8Array ? value : Number(value)
}

function mirroredColumns({ name, columns, key }: Table, wanted: readonly string[] | undefined): readonly string[] {
  if (wanted === undefined) return columns
  const find = (given: string): string => {
    const found = columns.find((each) => each.toLowerCase() === given.toLowerCase())
    if (found === undefined)
      throw refused(`${quoted(name)} has no column ${quoted(given)}; it has ${columns.join(', ')}`)
    return found
  }
  return [...new Set([...key.map((column) => column.name), ...wanted.map(find)])]
}

function statementsOf({ name, order, key }: Table, columns: readonly string[], sql: string | undefined) {
  const table = `main.${quoted(name)}`
  const condition = sql === undefined ? '' : ` AND (${sql}\n)`
  const selected = columns.map(quoted).join(', ')
  const placed = order.map((column, i) => `${column} AS p${i}`).join(', ')
  const row = `(${order.join(', ')})`
  const marks = `(${order.map(() => '?').join(', ')})`
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
    firstPage: `SELECT ${selected} FROM ${table} WHERE ${row} <= ${marks}${condition}`,
    page: `SELECT ${selected} FROM ${table} WHERE ${row} > ${marks} AND ${row} <= ${marks}${condition}`,
    puts: `SELECT ${selected} FROM ${logged} CROSS JOIN ${table} WHERE ${isKey.join(' AND ')}${condition}`,
    deletes: `SELECT ${key.map((_, i) => `listwatch_k${i + 1} AS k${i + 1}`).join(', ')} FROM ${logged}
    WHERE NOT EXISTS (SELECT 1 FROM ${table} WHERE ${isKey.join(' AND ')}${condition})`,
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
