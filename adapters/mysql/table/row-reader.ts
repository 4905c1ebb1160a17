import { SourceError } from '../../../src/contract/errors.js'
import type { Invalid, ListEvent, Put } from '../../../src/contract/source.js'
import { joinKey, splitKey } from '../../../src/util/join-key.js'
import { addTo, beyondNumbers, hexOf, mirroredColumns } from '../../common/columns.js'
import { refused } from '../../common/source-errors.js'
import type { KeyKind } from '../binlog/binlog-types.js'
import type { Row, Session } from '../connection/session.js'
import type { MysqlTableOptions } from '../mysql-options.js'
import { quotedName, text } from '../sql-text.js'
import type { Table } from './table.js'

export interface KeyRead {
  readonly keys: readonly string[]
  readonly sql: string
}

/** The greatest number of keys of one statement, and of the characters of these keys: the packets of a server are bounded. */
const KEYS = 500
const KEY_CHARACTERS = 40_000
const RANGE = 10

/** Reads rows of one table, as events. Listed and changed rows are read by the same statement and decoded alike. */
export class RowReader<T> {
  readonly table: Table
  readonly #names: readonly string[]
  readonly #keyAt: readonly number[]
  readonly #bigintsAt: readonly number[]
  readonly #areBigInts: boolean
  readonly #maxObjectBytes: number
  readonly #select: string
  readonly #sql: string | undefined
  readonly #condition: string | undefined

  constructor(table: Table, { columns, sql, integers, maxObjectBytes = 16 * 1024 * 1024 }: MysqlTableOptions) {
    this.table = table
    this.#names = mirroredColumns(table, columns, { table: table.sql, name: quotedName })
    this.#keyAt = table.key.map(({ name }) => this.#names.indexOf(name))
    this.#bigintsAt = this.#names.flatMap((name, at) => (table.bigints.has(name) ? [at] : []))
    this.#areBigInts = integers === 'bigint'
    this.#maxObjectBytes = maxObjectBytes
    this.#select = `SELECT ${this.#names.map((each) => quotedName(each)).join(', ')} FROM ${table.sql}`
    this.#sql = sql
    this.#condition = sql === undefined ? undefined : `(${sql}\n)`
  }

  async check(session: Session): Promise<void> {
    if (this.#condition === undefined) return
    await session.query(`SELECT 1 FROM ${this.table.sql} WHERE ${this.#condition} LIMIT 0`).catch((error: unknown) => {
      const isRefused = error instanceof SourceError && error.code === 'PROTOCOL'
      throw isRefused ? refused(`sql: "${this.#sql}" is refused by the server: ${error.message}`) : error
    })
  }

  async *all(session: Session, pageSize: number): AsyncGenerator<ListEvent<T>[]> {
    const where = this.#condition === undefined ? '' : ` WHERE ${this.#condition}`
    for await (const page of session.pages(this.#select + where, pageSize)) yield page.map((row) => this.#event(row))
  }

  *reads(keys: Iterable<string>): Generator<KeyRead> {
    const condition = this.#condition === undefined ? '' : ` AND ${this.#condition}`
    for (const part of partsOf(keys))
      yield { keys: part, sql: `${this.#select} WHERE ${this.#keyCondition(part)}${condition}` }
  }

  async keys(session: Session, keys: Iterable<string>): Promise<ListEvent<T>[]> {
    // The server reads the next rows while those that have arrived are decoded.
    const parts = Array.from(this.reads(keys), async (read) => this.changes(read, await session.rows(read.sql)))
    return (await Promise.all(parts)).flat()
  }

  changes({ keys }: KeyRead, rows: readonly Row[]): ListEvent<T>[] {
    const missing = new Set(keys)
    const events: ListEvent<T>[] = []
    for (const row of rows) {
      const event = this.#event(row)
      missing.delete(event.key)
      events.push(event)
    }
    // A key is compared by its exact text: 'a' may have become 'A', which the server finds by 'a'.
    for (const key of missing) events.push({ type: 'delete', key })
    return events
  }

  /** The servers use the index for a list of values, and for alternatives, but not for a list of tuples. */
  #keyCondition(keys: readonly string[]): string {
    const [only, ...others] = this.table.key
    if (only !== undefined && others.length === 0) return conditionOf(quotedName(only.name), only.kind, keys)
    const alternatives = keys.map((key) => {
      const parts = splitKey(key)
      const columns = this.table.key.map(
        ({ name, kind }, at) => `${quotedName(name)} = ${literal(parts[at] ?? '', kind)}`,
      )
      return `(${columns.join(' AND ')})`
    })
    return `(${alternatives.join(' OR ')})`
  }

  #event(row: Row): Put<T> | (Invalid & { readonly key: string }) {
    const key = joinKey(this.table.key.map(({ name, kind }, part) => keyText(row[this.#keyAt[part] ?? 0], kind, name)))
    const object: Record<string, unknown> = {}
    let length = 0
    for (const [at, name] of this.#names.entries()) {
      const value = row[at]
      if (typeof value === 'string' || value instanceof Uint8Array) length += value.length
      addTo(object, name, value)
    }
    for (const at of this.#bigintsAt) {
      const name = this.#names[at] ?? ''
      const value = object[name]
      if (value === null) continue
      if (this.#areBigInts) object[name] = BigInt(String(value))
      else if (Number.isSafeInteger(Number(value))) object[name] = Number(value)
      else return { type: 'invalid', key, error: beyondNumbers(quotedName(name), key) }
    }
    // Counting bytes is slower, and a UTF-16 code unit has at most three of them in UTF-8.
    const bytes = length * 3 > this.#maxObjectBytes ? bytesOf(row) : length
    if (bytes > this.#maxObjectBytes) {
      const message = `the row has ${bytes} bytes; maxObjectBytes allows ${this.#maxObjectBytes}`
      return { type: 'invalid', key, error: new SourceError(message, { code: 'DECODE', key }) }
    }
    return { type: 'put', key, object: trusted<T>(object) }
  }
}

function bytesOf(row: Row): number {
  return row.reduce<number>((sum, value) => {
    if (typeof value === 'string') return sum + Buffer.byteLength(value)
    return value instanceof Uint8Array ? sum + value.byteLength : sum
  }, 0)
}

function trusted<T>(row: object): T {
  return row as T
}

/** Returns the text of a value of a key column, as the binlog has it. */
function keyPart(value: unknown): string {
  return value instanceof Uint8Array ? hexOf(value) : String(value)
}

/** Returns the text of a value that the driver has read, and perhaps a `typeCast` of the user has converted. */
function keyText(value: unknown, { type }: KeyKind, column: string): string {
  // With `typeCast: false` the driver returns bytes.
  if (value instanceof Uint8Array && type !== 'binary') return Buffer.from(value).toString()
  const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint'
  if (isText ? type === 'binary' : !(value instanceof Uint8Array))
    throw refused(`the typeCast of the connection changes the values of the key column ${quotedName(column)}`)
  return keyPart(value)
}

function* partsOf(keys: Iterable<string>): Generator<readonly string[]> {
  let part: string[] = []
  let characters = 0
  for (const key of keys) {
    if (part.length === KEYS || (part.length > 0 && characters + key.length > KEY_CHARACTERS)) {
      yield part
      part = []
      characters = 0
    }
    part.push(key)
    characters += key.length
  }
  if (part.length > 0) yield part
}

/** Many consecutive integers are a range, which the servers read in a third of the time. */
function conditionOf(column: string, kind: KeyKind, keys: readonly string[]): string {
  const integers = kind.type === 'integer' ? Float64Array.from(keys, Number).sort() : undefined
  if (integers?.every(Number.isSafeInteger) !== true)
    return `${column} IN (${keys.map((key) => literal(key, kind)).join(', ')})`
  const conditions: string[] = []
  const others: number[] = []
  for (let from = 0, to = 0; from < integers.length; from = to) {
    const first = integers[from] ?? 0
    while (integers[to] === first + to - from) to++
    if (to - from < RANGE) others.push(...integers.subarray(from, to))
    else conditions.push(`${column} BETWEEN ${first} AND ${integers[to - 1]}`)
  }
  if (others.length > 0) conditions.push(`${column} IN (${others.join(', ')})`)
  return `(${conditions.join(' OR ')})`
}

function literal(part: string, { type }: KeyKind): string {
  if (type === 'binary') return `x'${part}'`
  return type === 'text' ? text(part) : String(BigInt(part))
}
