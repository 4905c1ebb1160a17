import { statSync } from 'node:fs'
import type { Clock } from '../../src/contract/clock.js'
import { ABORTED, OptionError, SourceError } from '../../src/contract/errors.js'
import { hasMethods, type Properties, propertiesOf } from '../common/properties.js'
import { unavailable } from '../common/source-errors.js'
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './sqlite-client.js'
import { isBusy, isOutOfRange, sqliteError } from './sqlite-errors.js'

/** The longest delay of another attempt while the file is locked, in milliseconds. */
const LONGEST_RETRY_MS = 50

export interface Waiting {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

export class Connection {
  readonly path: string
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()
  readonly #inode: string
  /** The inode of the file `-shm`; undefined as long as there is none. */
  #sharedInode: string | undefined

  private constructor(database: SqliteDatabase, path: string, inode: string) {
    this.#database = database
    this.path = path
    this.#inode = inode
  }

  static open(connect: () => SqliteDatabase, known?: string): Connection {
    let path = known
    let first: SqliteDatabase | undefined
    if (path === undefined) {
      ;({ database: first, path } = opened(connect))
      first.close()
    }
    // The inode is read before the connection is opened, and after it: the file may be replaced meanwhile.
    const inode = inodeOf(path)
    const { database, path: own } = opened(connect, first)
    if (inode !== undefined && inode === inodeOf(own)) return new Connection(database, own, inode)
    database.close()
    throw unavailable(`${own} was replaced while it was opened`)
  }

  /** Throws if the connection reads other files than a new connection would. */
  assertSameFiles(): void {
    const inode = inodeOf(this.path)
    if (inode === undefined) throw new SourceError(`${this.path} was deleted`, { code: 'NOT_FOUND' })
    if (inode !== this.#inode) throw unavailable(`${this.path} was replaced by another file`)
    const shared = inodeOf(`${this.path}-shm`)
    this.#sharedInode ??= shared
    if (shared !== this.#sharedInode) throw unavailable(`the files -wal and -shm of ${this.path} were removed`)
  }

  close(): void {
    this.#database.close()
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  get(sql: string, ...values: SqliteValue[]): Properties {
    return propertiesOf(this.#statement(sql).get(...values))
  }

  all(sql: string, ...values: SqliteValue[]): readonly Properties[] {
    return this.#statement(sql)
      .all(...values)
      .map(propertiesOf)
  }

  /** Undefined if an integer is not a safe number and the driver says so. `areExact`: all integers are bigints. */
  rows(
    sql: string,
    names: readonly string[],
    areExact: boolean,
    ...values: readonly SqliteValue[]
  ): readonly (readonly unknown[])[] | undefined {
    const statement = this.#statement(sql, true)
    if (areExact) setBigInts(statement, true)
    try {
      const rows = statement.all(...values)
      // Node 22.15 and older versions return objects.
      return areArrays(rows) ? rows : rows.map((row) => names.map((name) => propertiesOf(row)[name]))
    } catch (error) {
      if (isOutOfRange(error)) return undefined
      throw error
    } finally {
      if (areExact) setBigInts(statement, false)
    }
  }

  /** Repeats `read` while another connection holds a lock. The event loop continues meanwhile. */
  async unlessBusy<V>({ signal, clock, timeoutMs }: Waiting, read: () => V): Promise<V> {
    const until = clock.now() + timeoutMs
    for (let delayMs = 1; ; delayMs = Math.min(delayMs * 2, LONGEST_RETRY_MS)) {
      if (signal.aborted) throw ABORTED
      try {
        return read()
      } catch (error) {
        if (!isBusy(error) || clock.now() >= until) throw sqliteError(error)
      }
      await clock.sleep(delayMs, signal)
    }
  }

  /** Calls `work` in a transaction. Its snapshot begins with `first`, which is repeated while the file is locked. */
  async snapshot<F, V>(waiting: Waiting, first: () => F, work: (result: F) => Promise<V> | V): Promise<V> {
    const result = await this.unlessBusy(waiting, () => {
      this.exec('BEGIN')
      try {
        return first()
      } catch (error) {
        this.exec('ROLLBACK')
        throw error
      }
    })
    try {
      return await work(result)
    } catch (error) {
      throw sqliteError(error)
    } finally {
      this.exec('ROLLBACK')
    }
  }

  #statement(sql: string, hasArrays = false): SqliteStatement {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    const statement = this.#database.prepare(sql)
    if (hasArrays) setArrays(statement, true)
    this.#statements.set(sql, statement)
    return statement
  }
}

/** Opens a connection that never sleeps while another one holds a lock. `before`: one that was closed. */
function opened(
  connect: () => SqliteDatabase,
  before?: SqliteDatabase,
): { readonly database: SqliteDatabase; readonly path: string } {
  try {
    const database: unknown = connect()
    if (!isDatabase(database) || database === before)
      throw wrongConnect('must return a new connection at each call, as () => new DatabaseSync(path) does')
    database.prepare('PRAGMA busy_timeout = 0').get()
    // As a pragma, because a SELECT reads the schema, for which the file must not be locked.
    const files = database.prepare('PRAGMA database_list').all().map(propertiesOf)
    const path = files.find(({ name }) => name === 'main')?.['file']
    if (typeof path === 'string' && path !== '') return { database, path }
    throw wrongConnect('must open a file: no other connection sees one in memory')
  } catch (error) {
    throw error instanceof OptionError ? error : sqliteError(error)
  }
}

function wrongConnect(flaw: string): OptionError {
  return new OptionError(`sqliteSource: option "connect" ${flaw}`, { option: 'connect' })
}

function isDatabase(value: unknown): value is SqliteDatabase {
  return hasMethods(value, 'prepare', 'exec', 'close')
}

const setBigInts = callIfAny('setReadBigInts', 'safeIntegers')
const setArrays = callIfAny('setReturnArrays', 'raw')

/** Returns a function that calls a method of node:sqlite, or of better-sqlite3. Old versions may have neither. */
function callIfAny(ofNode: string, ofBetter: string): (statement: SqliteStatement, isOn: boolean) => void {
  return (statement, isOn) => {
    const { [ofNode]: own, [ofBetter]: other } = propertiesOf(statement)
    const set = own ?? other
    if (typeof set === 'function') Reflect.apply(set, statement, [isOn])
  }
}

function areArrays(rows: readonly unknown[]): rows is readonly (readonly unknown[])[] {
  return Array.isArray(rows[0])
}

function inodeOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stat && `${stat.dev}:${stat.ino}`
}
