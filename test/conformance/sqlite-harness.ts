import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { installChangeLog, type SqliteDatabase, sqliteSource, startEpoch } from '../../adapters/sqlite/index.js'
import type { ConformanceChange, ListerWatcherHarness, ListerWatcherSubject } from '../../testing/index.js'

type Row = { readonly id: string; readonly value: string | number }

/** Opens a file for reading with a driver. */
export type Open = (path: string) => SqliteDatabase

const betterSqlite: new (path: string, options: { readonly readonly: boolean }) => SqliteDatabase = createRequire(
  import.meta.url,
)('better-sqlite3')

export const drivers: Readonly<Record<string, Open>> = {
  'node:sqlite': (path) => new DatabaseSync(path, { readOnly: true }),
  'better-sqlite3': (path) => new betterSqlite(path, { readonly: true }),
}

/** Whether a driver cuts a text at its first NUL, as node:sqlite of Node 22 does. */
function cutsTexts(open: Open): boolean {
  return open === drivers['node:sqlite'] && process.version.startsWith('v22.')
}

/** A file of its own for each case. `suffix`: of the table's definition. */
export function sqliteHarness(open: Open, journalMode: 'wal' | 'delete', suffix: string): ListerWatcherHarness<Row> {
  return {
    create: () => subjectOf(open, journalMode, suffix),
    unsupported: {
      openTransactions: 'a file has one writer at a time',
      outage: 'there is no server',
      versions: 'a row has no version',
    },
  }
}

function subjectOf(open: Open, journalMode: string, suffix: string): ListerWatcherSubject<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'listwatch-sqlite-'))
  const path = join(folder, 'items.db')
  const writer = new DatabaseSync(path)
  writer.exec(`PRAGMA journal_mode = ${journalMode}; PRAGMA synchronous = OFF; PRAGMA busy_timeout = 10000;
    CREATE TABLE items (id TEXT PRIMARY KEY NOT NULL, value ANY) ${suffix}`)
  installChangeLog(writer, { table: 'items', keepRows: 1_000_000 })
  const put = writer.prepare('INSERT INTO items VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value')
  const remove = writer.prepare('DELETE FROM items WHERE id = ?')
  let connections = 0
  const connect = (): SqliteDatabase => {
    const database = open(path)
    connections++
    return {
      prepare: (sql) => database.prepare(sql),
      exec: (sql) => database.exec(sql),
      close: () => {
        database.close()
        connections--
      },
    }
  }
  const source = sqliteSource<Row>({ connect, table: 'items' })
  const write = (changes: readonly ConformanceChange[]): string => {
    writer.exec('BEGIN IMMEDIATE')
    for (const { key, value } of changes) {
      if (value === undefined) remove.run(key)
      else put.run(key, value)
    }
    const mark = source.mark(writer)
    writer.exec('COMMIT')
    return mark
  }
  return {
    source,
    write,
    read: ({ value }) => String(value),
    refuses: (key) => {
      if (key.includes('\0') && cutsTexts(open)) return 'Node 22 cuts a text at its first NUL'
      return key.isWellFormed() ? undefined : 'a text of SQLite holds only whole characters'
    },
    compact: () => void writer.exec('DELETE FROM listwatch_log WHERE n < (SELECT max(n) FROM listwatch_log)'),
    restore: () => startEpoch(writer),
    corrupt: (key) => {
      put.run(key, 2n ** 60n) // Beyond the numbers of JavaScript.
    },
    connections: () => connections,
    dispose: () => {
      writer.close()
      rmSync(folder, { recursive: true })
    },
  }
}
