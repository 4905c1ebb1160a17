import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { installChangeLog, sqliteSource } from 'listwatch/sqlite'
import { type Engine, ROWS, type Row } from './engine.ts'

export const sqlite: Engine = {
  together: [1, 100],
  lanes: 1, // A file has one writer at a time.
  async start() {
    const folder = await mkdtemp(join(tmpdir(), 'listwatch-bench-'))
    const path = join(folder, 'bench.db')
    const database = writable(path)
    database.exec(`CREATE TABLE bench (id INTEGER PRIMARY KEY, tenant TEXT, shelf INTEGER, quantity INTEGER, note TEXT, sent INTEGER);
      WITH RECURSIVE g (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM g WHERE n + 1 < ${ROWS})
      INSERT INTO bench SELECT n, 'tenant-' || n % 1000, n % 97, n % 10000, printf('%.100c', 'x'), 0 FROM g`)
    installChangeLog(database, { table: 'bench', keepRows: 1_000_000 })
    return {
      address: path,
      async [Symbol.asyncDispose]() {
        database.close()
        await rm(folder, { recursive: true })
      },
    }
  },
  async connectWriter(path) {
    const database = writable(path)
    const update = database.prepare(
      'UPDATE bench SET shelf = (shelf + 31) % 97, quantity = (quantity + 7919) % 10000, sent = ? WHERE id = ?',
    )
    return async (first, count, together) => {
      for (let at = first; at < first + count; at += together) {
        database.exec('BEGIN IMMEDIATE')
        for (let id = at; id < at + together; id++) update.run(Date.now(), id)
        database.exec('COMMIT')
      }
    }
  },
  source: (path) => sqliteSource<Row>({ connect: () => new DatabaseSync(path, { readOnly: true }), table: 'bench' }),
  async follow(path, onRow) {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 })
    const last = database.prepare('SELECT max(n) AS n FROM listwatch_log')
    // A row whose columns are NULL was deleted.
    const changed =
      database.prepare(`SELECT k1, bench.* FROM (SELECT DISTINCT k1 FROM listwatch_log WHERE n > ? AND n <= ?)
      LEFT JOIN bench ON id = k1`)
    let from = Number(last.get()?.['n'])
    void (async () => {
      for (;;) {
        database.exec('BEGIN')
        const to = Number(last.get()?.['n'])
        const rows = to > from ? changed.all(from, to) : []
        database.exec('COMMIT')
        for (const row of rows) if (row['id'] !== null) onRow(row as unknown as Row)
        from = to
        await sleep(1)
      }
    })()
  },
}

function writable(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 10_000 })
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  return database
}
