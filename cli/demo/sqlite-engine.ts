import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installChangeLog, sqliteSource } from '../../adapters/sqlite/index.js'
import { systemClock } from '../../src/contract/clock.js'
import { systemRandom } from '../../src/contract/random.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { settleWithin } from '../../src/util/deadline.js'
import { CliError } from '../output/cli-error.js'
import { loadSqlite } from '../sources/open-sqlite.js'
import type { Row } from '../sources/source-types.js'
import type { DemoEngine } from './demo-engine.js'
import { DemoWriter, type Order } from './demo-writer.js'
import { writerConnection } from './sqlite-connection.js'

type Sqlite = typeof import('node:sqlite')

/** How long the writer has for its last transaction, in milliseconds. */
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
  const sqlite = await loadSqlite()
  say('starting a writer of a SQLite file …')
  return new SqliteEngine(sqlite, join(await mkdtemp(join(tmpdir(), 'listwatch-demo-')), 'demo.db'))
}

class SqliteEngine implements DemoEngine {
  readonly victim = 'writer'
  readonly source: ListerWatcher<Order>
  transactions = 0
  readonly #sqlite: Sqlite
  readonly #path: string
  #child: ChildProcess | undefined
  #isStopping = false
  /** Resolves at the first commit of the writer that replaces a killed one. */
  #replaced = Promise.withResolvers<void>()

  constructor(sqlite: Sqlite, path: string) {
    this.#sqlite = sqlite
    this.#path = path
    this.source = sqliteSource<Order>({
      connect: () => new sqlite.DatabaseSync(path, { readOnly: true }),
      table: 'orders',
    })
  }

  async open(): Promise<void> {
    this.#fork() // From now on its process removes the file, if this one is killed.
    const database = new this.#sqlite.DatabaseSync(this.#path)
    try {
      database.exec(TABLE_SQL)
      await new DemoWriter(writerConnection(database), systemClock, systemRandom, () => {}).fillTable()
      installChangeLog(database, { table: 'orders' })
    } finally {
      database.close()
    }
  }

  startWriter(): void {
    this.#child?.send('start', () => {}) // It may have ended.
  }

  #fork(): void {
    const program = fileURLToPath(new URL('./sqlite-writer.js', import.meta.url))
    const execArgv = ['--disable-warning=ExperimentalWarning'] // Node 22 would warn at each start.
    const child = fork(program, [this.#path], { execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    this.#child = child
    child.on('message', () => {
      this.transactions++
      if (this.#child === child && !child.killed) this.#replaced.resolve()
    })
    child.on('exit', (_, signal) => {
      if (signal !== 'SIGKILL' || this.#isStopping) return
      this.#fork()
      this.startWriter()
    })
  }

  async stopWriter(): Promise<void> {
    this.#isStopping = true
    const child = this.#child
    if (child === undefined) return
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.send('stop', () => {}) // It may have ended.
      await settleWithin(STOP_MS, ended, systemClock)
      child.kill('SIGKILL')
    }
    if (child.exitCode !== 0) throw new CliError('the writer has failed', 1)
  }

  async kill(): Promise<void> {
    const before = this.#replaced
    this.#replaced = Promise.withResolvers()
    void this.#replaced.promise.then(before.resolve) // That of a kill before this one.
    this.#child?.kill('SIGKILL')
    await this.#replaced.promise
  }

  async rows(): Promise<readonly Row[]> {
    const database = new this.#sqlite.DatabaseSync(this.#path, { readOnly: true })
    try {
      return database.prepare('SELECT * FROM orders').all()
    } finally {
      database.close()
    }
  }

  async close(): Promise<void> {
    await rm(dirname(this.#path), { recursive: true, force: true })
  }
}
