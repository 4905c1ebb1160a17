import { setTimeout as sleep } from 'node:timers/promises'
import { createInformer } from 'listwatch'
import { installChangeLog, postgresSource } from 'listwatch/postgres'
import pg from 'pg'
import { startPostgres } from '../dist/tools/postgres/postgres-server.js'
import { atMost, type Benchmark, type Figure } from './figures.ts'

const SECONDS = 10
const PER_SECOND = 500
const WRITERS = 4

interface Row {
  readonly id: string
  readonly sent: string
}

/** How long after its commit a change reaches a handler, and how long a bare NOTIFY takes in the same seconds. */
export const postgresLatency: Benchmark = {
  name: 'postgres-latency',
  about: `commit to handler at ${PER_SECOND} transactions a second, beside a bare NOTIFY with the same payload`,
  async run() {
    const server = await startPostgres({ settings: { synchronous_commit: 'off' } })
    const clients: pg.Client[] = []
    const connect = async (): Promise<pg.Client> => {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      clients.push(client)
      return client
    }
    try {
      const control = await connect()
      await control.query('CREATE TABLE bench (id int PRIMARY KEY, sent float8 NOT NULL)')
      await control.query('INSERT INTO bench SELECT g, 0 FROM generate_series(1, 1000) g')
      await installChangeLog(control, { table: 'bench' })
      const committed = new Map<string, number>()
      const late: number[] = []
      const rows = createInformer({
        source: postgresSource<Row>({ client: () => new pg.Client({ connectionString: server.url }), table: 'bench' }),
      })
      rows.subscribe({
        update: ({ object: { id, sent } }) => {
          const at = committed.get(`${id}/${sent}`)
          if (at !== undefined) late.push(performance.now() - at)
        },
      })
      await rows.start().synced()
      const notified: number[] = []
      const listener = await connect()
      await listener.query('LISTEN bench')
      listener.on('notification', ({ payload }) => notified.push(performance.now() - Number(payload)))
      const writers = await Promise.all(Array.from({ length: WRITERS }, connect))
      const end = performance.now() + SECONDS * 1_000
      let sent = 0
      await Promise.all(
        writers.map(async (writer, w) => {
          for (let next = performance.now(); next < end; next += (1_000 * WRITERS) / PER_SECOND) {
            await sleep(Math.max(0, next - performance.now()))
            const id = w + WRITERS * Math.floor(Math.random() * 200) + 1
            const value = ++sent
            // A reader that receives the change before this COMMIT has returned has a latency of 0.
            await writer.query('BEGIN')
            await writer.query('UPDATE bench SET sent = $2 WHERE id = $1', [id, value])
            committed.set(`${id}/${value}`, performance.now())
            await writer.query('COMMIT')
            if (sent % 10 === 0) await writer.query('SELECT pg_notify($1, $2)', ['bench', String(performance.now())])
          }
        }),
      )
      await rows.fresh()
      await rows.stop()
      return [figure('p50', 0.5, 1, late, notified, sent), figure('p99', 0.99, 8, late, notified, sent)]
    } finally {
      await Promise.all(clients.map((client) => client.end()))
      await server.stop()
    }
  },
}

function figure(
  name: string,
  part: number,
  limit: number,
  late: readonly number[],
  notified: readonly number[],
  sent: number,
): Figure {
  const peers = {
    'bare NOTIFY ms': round(quantile(notified, part)),
    transactions: sent,
    'notified one by one': late.length,
  }
  return atMost(limit, { name: `postgres latency ${name}`, value: round(quantile(late, part)), unit: 'ms', peers })
}

function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length * part)] ?? Number.NaN
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}
