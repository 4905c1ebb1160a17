import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createInformer } from 'listwatch'
import { installChangeLog, postgresSource } from 'listwatch/postgres'
import pg from 'pg'
import { type PostgresServer, startPostgres } from '../dist/tools/postgres/postgres-server.js'
import { atLeast, atMost, type Benchmark, type Figure, inTurn, median, medianRatio } from './figures.ts'

const ROUNDS = 3
const SECONDS = Number(process.env['LISTWATCH_BENCH_SECONDS'] ?? 4)
const CLIENTS = [1, 8, 32]
const ROWS = 100_000
/** Clock ticks of /proc, in microseconds. */
const TICK_MICROS = 10_000

interface Measured {
  readonly perSecond: number
  /** CPU time of all server processes, in microseconds for each transaction. */
  readonly cpuMicros: number
  readonly notificationsPerSecond: number
}

/** Updates of single rows by pgbench, with and without triggers. Needs `pgbench`, or its path in LISTWATCH_PGBENCH. */
export const postgresWriters: Benchmark = {
  name: 'postgres-writers',
  about: `updates of single rows with triggers, beside the same table without, at ${CLIENTS.join(', ')} clients`,
  async run() {
    const server = await startPostgres({ settings: { max_connections: '100' } })
    const control = new pg.Client({ connectionString: server.url })
    await control.connect()
    let notified = 0
    control.on('notification', () => notified++)
    try {
      for (const table of ['plain', 'none', 'bucket', 'row']) {
        await control.query(`CREATE TABLE ${table} (id int PRIMARY KEY, n int NOT NULL, s text NOT NULL) WITH (fillfactor = 50);
          INSERT INTO ${table} SELECT g, 0, repeat('x', 100) FROM generate_series(1, ${ROWS}) g`)
      }
      await installChangeLog(control, { table: 'none', wake: 'none' })
      await installChangeLog(control, { table: 'bucket', wake: 'bucket' })
      await installChangeLog(control, { table: 'row', wake: 'bucket', level: 'row' })
      await control.query('LISTEN listwatch')
      const figures: Figure[] = []
      for (const clients of CLIENTS) {
        const run = (table: string) => async (): Promise<Measured> => {
          const before = notified
          const measured = await pgbench(server, table, clients)
          return { ...measured, notificationsPerSecond: (notified - before) / SECONDS }
        }
        const results = await inTurn(ROUNDS, {
          plain: run('plain'),
          none: run('none'),
          bucket: run('bucket'),
          'bucket, level row': run('row'),
          // The mirror takes its time from the same cores.
          'bucket, with a mirror': () => mirrored(server, 'bucket', run('bucket')),
        })
        figures.push(...figuresOf(clients, results))
      }
      return figures
    } finally {
      await control.end()
      await server.stop()
    }
  },
}

function figuresOf(clients: number, results: Readonly<Record<string, readonly Measured[]>>): Figure[] {
  const of = (table: string, field: keyof Measured): number[] => (results[table] ?? []).map((each) => each[field])
  const plain = of('plain', 'perSecond')
  const cpu = median(of('plain', 'cpuMicros'))
  return [
    ...['none', 'bucket', 'bucket, level row', 'bucket, with a mirror'].map((wake) =>
      atLeast(0.6, {
        name: `rate at ${clients} clients, wake ${wake}`,
        value: medianRatio(of(wake, 'perSecond'), plain),
        unit: 'x',
        peers: {
          'transactions/s': Math.round(median(of(wake, 'perSecond'))),
          'without triggers': Math.round(median(plain)),
          'more CPU, µs': Math.round(median(of(wake, 'cpuMicros')) - cpu),
          'CPU without triggers, µs': Math.round(cpu),
        },
      }),
    ),
    atMost(40, {
      name: `notifications at ${clients} clients`,
      value: median(of('bucket', 'notificationsPerSecond')),
      unit: '/s',
      peers: {},
    }),
  ]
}

async function mirrored<R>({ url }: PostgresServer, table: string, run: () => Promise<R>): Promise<R> {
  const connect = (): pg.Client => new pg.Client({ connectionString: url })
  const mirror = createInformer({ source: postgresSource({ connect, table }) })
  await mirror.start().synced()
  try {
    return await run()
  } finally {
    await mirror.stop()
  }
}

async function pgbench(
  server: PostgresServer,
  table: string,
  clients: number,
): Promise<Omit<Measured, 'notificationsPerSecond'>> {
  const script = join(server.dataDir, `${table}.bench`)
  await writeFile(script, `\\set id random(1, ${ROWS})\nUPDATE ${table} SET n = n + 1 WHERE id = :id;\n`)
  const args = ['--no-vacuum', '--protocol=prepared', `--client=${clients}`, `--time=${SECONDS}`, `--file=${script}`]
  const before = await cpuOf(server)
  const { stdout } = await promisify(execFile)(process.env['LISTWATCH_PGBENCH'] ?? 'pgbench', [...args, server.url])
  const cpuMicros = (await cpuOf(server)) - before
  const [, transactions] = /actually processed: (\d+)/.exec(stdout) ?? []
  const [, perSecond] = /tps = ([\d.]+)/.exec(stdout) ?? []
  return { perSecond: Number(perSecond), cpuMicros: cpuMicros / Number(transactions) }
}

/** CPU time of all processes of the server, also of those that have ended, in microseconds. */
async function cpuOf({ pid }: PostgresServer): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const [own = [], ...theirs] = await Promise.all([`${pid}`, ...children.trim().split(' ')].map(ticksOf))
  // Those of a child that ends meanwhile are counted by the server.
  const ticks = [...own, ...theirs.flatMap(([user = 0, system = 0]) => [user, system])]
  return ticks.reduce((sum, each) => sum + each, 0) * TICK_MICROS
}

/** The ticks of a process: user, system, and both of its children that have ended. Empty if the process has ended. */
async function ticksOf(pid: string): Promise<number[]> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).map(Number)
}
