import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished } from 'vitest'
import { installChangeLog, type SqliteSourceOptions, sqliteSource } from '../../adapters/sqlite/index.js'
import type { SourceError } from '../../src/contract/errors.js'
import type { MirrorCache } from '../../src/contract/mirror-cache.js'
import { createInformer } from '../../src/informer/create-informer.js'

export type Row = Readonly<Record<string, unknown>>

/** The path of a file in a folder of its own, which is removed at the end of the test. */
export function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'listwatch-sqlite-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, "app's.db")
}

/** A file with these tables, and a connection that writes. The triggers of all tables are installed. */
export function newFile(sql: string, journalMode = 'wal'): { path: string; writer: DatabaseSync } {
  const path = newPath()
  const writer = opened(path)
  writer.exec(`PRAGMA journal_mode = ${journalMode}; PRAGMA synchronous = OFF; PRAGMA busy_timeout = 5000; ${sql}`)
  for (const table of tablesOf(writer)) installChangeLog(writer, { table })
  return { path, writer }
}

export function opened(path: string): DatabaseSync {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA busy_timeout = 5000')
  onTestFinished(() => {
    if (database.isOpen) database.close()
  })
  return database
}

/** Runs statements in another process. It tries again after an error of the disk: a mirror may hold files that are gone. */
export function inProcess(path: string, sql: string): void {
  const program = `const { DatabaseSync } = require('node:sqlite')
    for (const until = Date.now() + 10_000; ; ) {
      try {
        const database = new DatabaseSync(process.argv[1], { timeout: 5_000 })
        database.exec(process.argv[2])
        database.close()
        process.exit()
      } catch (error) {
        if (!/I\\/O/.test(error.message) || Date.now() > until) throw error
      }
    }`
  execFileSync(process.execPath, ['-e', program, path, sql])
}

export function tablesOf(database: DatabaseSync): string[] {
  const sql = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'listwatch%' AND name NOT LIKE 'sqlite%'`
  return database
    .prepare(sql)
    .all()
    .map(({ name }) => String(name))
}

/** All rows of a table, as texts in an order that depends on nothing but the rows. */
export function rowsOf(database: DatabaseSync, table: string, where = 'true'): string[] {
  const statement = database.prepare(`SELECT * FROM "${table.replaceAll('"', '""')}" WHERE ${where}`)
  statement.setReadBigInts(true)
  return statement.all().map(textOf).sort()
}

export function textOf(row: object): string {
  return JSON.stringify(row, (_, value) => {
    if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
    return ArrayBuffer.isView(value) ? { bytes: Object.values(value) } : value
  })
}

export interface Mirror {
  readonly informer: { waitFor(mark: string): Promise<unknown>; stop(): Promise<unknown> }
  readonly errors: readonly SourceError[]
  /** The number of lists that have begun. */
  lists(): number
  /** Waits until the mirror has these rows. */
  until(rows: () => readonly string[]): Promise<void>
}

export async function mirrorOf(
  path: string,
  table: string,
  options: Partial<SqliteSourceOptions> = {},
  cache?: MirrorCache,
): Promise<Mirror> {
  const source = sqliteSource<Row>({ connect: () => new DatabaseSync(path, { readOnly: true }), table, ...options })
  const list = source.list.bind(source)
  let lists = 0
  source.list = (context) => {
    lists++
    return list(context)
  }
  const informer = createInformer({
    source,
    audit: false,
    ...(cache && { cache }),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  onTestFinished(() => informer.stop())
  await informer.start().synced()
  const shown = (): string[] => [...informer.entries()].map(([, row]) => textOf(row)).sort()
  return {
    informer,
    errors,
    lists: () => lists,
    until: (rows) => expect.poll(shown, { timeout: 8_000, interval: 5 }).toEqual(rows()),
  }
}
