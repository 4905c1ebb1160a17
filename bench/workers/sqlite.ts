// A table of a SQLite file: node sqlite.ts load|list|query|block|latency|pace|write-<table> <path> [<rows>]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { createInformer } from 'listwatch'
import { installChangeLog, sqliteSource } from 'listwatch/sqlite'
import { longestPause } from './gc-pauses.ts'

interface Row {
  readonly id: number
  readonly tenant: string
  readonly quantity: number
  readonly note: string
  readonly sent: number
}

const [task = '', path = '', count = '0'] = process.argv.slice(2)
const COMMITS = 50_000
const PER_SECOND = 2_000
const SECONDS = 10
const COLUMNS = 'id INTEGER PRIMARY KEY, tenant TEXT, quantity INTEGER, note TEXT, sent REAL'

function opened(readOnly: boolean): DatabaseSync {
  const database = new DatabaseSync(path, { readOnly, timeout: 10_000 })
  if (!readOnly) database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  return database
}

/** The table `bench` has a change log. Of the smaller copies one has a change log, and one an index more. */
function load(rows: number): void {
  const database = opened(false)
  const fill = (table: string, size: number): void =>
    database.exec(`CREATE TABLE ${table} (${COLUMNS}); WITH RECURSIVE g (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM g WHERE n + 1 < ${size})
      INSERT INTO ${table} SELECT n, 'tenant-' || n % 1000, n % 97, printf('%.100c', 'x'), 0 FROM g`)
  fill('bench', rows)
  for (const table of ['plain', 'indexed', 'logged']) fill(table, 10_000)
  database.exec('CREATE INDEX more ON indexed (quantity)')
  for (const table of ['bench', 'logged']) installChangeLog(database, { table })
}

function mirror() {
  return createInformer({
    source: sqliteSource<Row>({ connect: () => opened(true), table: 'bench' }),
    indexes: (ix) => ({ tenant: ix.equal((row) => row.tenant), quantity: ix.equal((row) => row.quantity) }),
  })
}

async function list(): Promise<number> {
  const rows = mirror()
  await rows.start().synced()
  return rows.size
}

/** What people do instead: one query, and a Map. */
function query(): number {
  const rows = opened(true).prepare('SELECT * FROM bench').all()
  return new Map(rows.map((row) => [row['id'], row])).size
}

/** Commits of one row each. */
function write(table: string): number {
  const database = opened(false)
  const update = database.prepare(`UPDATE ${table} SET quantity = quantity + 1 WHERE id = ?`)
  for (let at = 0; at < COMMITS; at++) update.run((at * 7_919) % 10_000)
  return COMMITS
}

async function pace(): Promise<void> {
  const update = opened(false).prepare('UPDATE bench SET quantity = quantity + 1, sent = ? WHERE id = ?')
  const began = performance.now()
  for (let at = 0; at < PER_SECOND * SECONDS; at++) {
    const due = began + (1_000 * at) / PER_SECOND
    if (due - performance.now() > 1.5) await sleep(1)
    while (performance.now() < due); // A timer is too coarse.
    update.run(performance.timeOrigin + performance.now(), at % 50_000)
  }
}

async function latency(): Promise<unknown> {
  const rows = mirror()
  const ages: number[] = []
  rows.subscribe({
    update: ({ object }) => ages.push(performance.timeOrigin + performance.now() - object.sent),
  })
  await rows.start().synced()
  await once(spawn(process.execPath, [...process.execArgv, import.meta.filename, 'pace', path]), 'exit')
  await rows.fresh()
  ages.sort((a, b) => a - b)
  const at = (share: number): number => Math.round(100 * (ages[Math.floor(ages.length * share)] ?? Number.NaN)) / 100
  return { p50Ms: at(0.5), p99Ms: at(0.99), rows: ages.length }
}

async function block(): Promise<unknown> {
  globalThis.gc?.()
  await sleep(200)
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  delay.reset()
  await sleep(20) // The first delay after a reset is not recorded.
  const since = performance.now()
  await list()
  const seconds = (performance.now() - since) / 1_000
  await sleep(20)
  delay.disable()
  const pauseMs = longestPause(since, performance.now())
  return { longestMs: delay.max / 1e6, p999Ms: delay.percentile(99.9) / 1e6, pauseMs, seconds }
}

async function measured(run: () => number | Promise<number>): Promise<unknown> {
  const before = process.cpuUsage()
  const rows = await run()
  const { user, system } = process.cpuUsage(before)
  return { rows, cpuMs: (user + system) / 1_000 }
}

const tasks: Readonly<Record<string, () => unknown>> = {
  load: () => load(Number(count)),
  list: () => measured(list),
  query: () => measured(query),
  pace,
  latency,
  block,
}
const result = await (tasks[task] ?? (() => measured(() => write(task.replace('write-', '')))))()
console.log(JSON.stringify(result ?? {}))
process.exit()
