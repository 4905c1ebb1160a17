import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installChangeLog, sqliteSource } from '../../adapters/sqlite/index.js'
import { systemClock } from '../../src/contract/clock.js'
import { settleWithin } from '../../src/util/deadline.js'
import { CliError } from '../output/cli-error.js'
import { loadSqlite } from '../sources/open-sqlite.js'
import { type DemoEngine, DemoWriter, type Order } from './demo-writer.js'
import { writerConnection } from './sqlite-connection.js'

const STOP_MS = 5_000

const TABLE_SQL = `PRAGMA journal_mode = WAL;
CREATE TABLE orders (
  id         INTEGER PRIMARY KEY,
  tenant     TEXT    NOT NULL,
  status     TEXT    NOT NULL,
  cents      INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
)`

/** Returns a SQLite file in a temporary folder. Its writer is a process of its own. Rejects with a CliError. */
export async function sqliteEngine(say: (line: string) => void): Promise<DemoEngine> {
  const { DatabaseSync } = await loadSqlite()
  say('starting a writer of a SQLite file …')
  const path = join(await mkdtemp(join(tmpdir(), 'listwatch-demo-')), 'demo.db')
  const engine = { transactions: 0 }
  let child: ChildProcess | undefined
  let isStopping = false
  /** Resolves at the first commit of the writer that replaces a killed one. */
  let replaced = Promise.withResolvers<void>()
  const startWriter = (): void => void child?.send('start', () => {}) // It may have ended.
  const forkWriter = (): void => {
    const program = fileURLToPath(new URL('./sqlite-writer.js', import.meta.url))
    const execArgv = ['--disable-warning=ExperimentalWarning'] // Node 22 would warn at each start.
    const forked = fork(program, [path], { execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    child = forked
    forked.on('message', () => {
      engine.transactions++
      if (child === forked && !forked.killed) replaced.resolve()
    })
    forked.on('exit', (_, signal) => {
      if (signal !== 'SIGKILL' || isStopping) return
      forkWriter()
      startWriter()
    })
  }
  return Object.assign(engine, {
    victim: 'writer' as const,
    source: sqliteSource<Order>({ connect: () => new DatabaseSync(path, { readOnly: true }), table: 'orders' }),
    startWriter,
    async open() {
      forkWriter() // From now on its process removes the file, if this one is killed.
      const database = new DatabaseSync(path)
      try {
        database.exec(TABLE_SQL)
        await new DemoWriter(writerConnection(database), () => {}).fillTable()
        installChangeLog(database, { table: 'orders' })
      } finally {
        database.close()
      }
    },
    async stopWriter() {
      isStopping = true
      if (child === undefined) return
      if (child.exitCode === null && child.signalCode === null) {
        const ended = once(child, 'exit')
        child.send('stop', () => {}) // It may have ended.
        await settleWithin(STOP_MS, ended, systemClock)
        child.kill('SIGKILL')
      }
      if (child.exitCode !== 0) throw new CliError('the writer has failed', 1)
    },
    async kill() {
      const before = replaced
      replaced = Promise.withResolvers()
      void replaced.promise.then(before.resolve) // That of a kill before this one.
      child?.kill('SIGKILL')
      await replaced.promise
    },
    async rows() {
      const database = new DatabaseSync(path, { readOnly: true })
      try {
        return database.prepare('SELECT * FROM orders').all()
      } finally {
        database.close()
      }
    },
    close: () => rm(dirname(path), { recursive: true, force: true }),
  })
}
