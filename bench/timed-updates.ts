import { setTimeout as sleep } from 'node:timers/promises'
import { installChangeLog, type PostgresSource, postgresSource } from 'listwatch/postgres'
import pg from 'pg'
import { startPostgres } from '../dist/tools/postgres/postgres-server.js'

/** A row of the table `bench`. */
export interface TimedRow {
  readonly id: string
  readonly sent: string
}

interface Load {
  readonly seconds: number
  readonly perSecond: number
  readonly writers: number
  /** Called by a writer after each commit, with the number of its transaction. */
  readonly committed?: (writer: pg.Client, sent: number) => Promise<void>
}

/** A Postgres server with the table `bench`, whose commits are timed. */
export class TimedUpdates implements AsyncDisposable {
  readonly source: PostgresSource<TimedRow>
  readonly #server: Awaited<ReturnType<typeof startPostgres>>
  readonly #clients: pg.Client[] = []
  readonly #committed = new Map<string, number>()

  private constructor(server: Awaited<ReturnType<typeof startPostgres>>) {
    this.#server = server
    const connect = (): pg.Client => new pg.Client({ connectionString: server.url })
    this.source = postgresSource<TimedRow>({ connect, table: 'bench' })
  }

  static async start(): Promise<TimedUpdates> {
    const updates = new TimedUpdates(await startPostgres({ settings: { synchronous_commit: 'off' } }))
    const control = await updates.connect()
    await control.query('CREATE TABLE bench (id int PRIMARY KEY, sent float8 NOT NULL)')
    await control.query('INSERT INTO bench SELECT g, 0 FROM generate_series(1, 1000) g')
    await installChangeLog(control, { table: 'bench' })
    return updates
  }

  async connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.#server.url })
    await client.connect()
    this.#clients.push(client)
    return client
  }

  /** Returns a handler that adds the milliseconds from each commit to its call. */
  handler(latencies: number[]): { readonly update: (change: { readonly object: TimedRow }) => void } {
    return {
      update: ({ object: { id, sent } }) => {
        const at = this.#committed.get(`${id}/${sent}`)
        if (at !== undefined) latencies.push(performance.now() - at)
      },
    }
  }

  /** Returns the number of transactions. */
  async write({ seconds, perSecond, writers, committed }: Load): Promise<number> {
    const clients = await Promise.all(Array.from({ length: writers }, () => this.connect()))
    const end = performance.now() + seconds * 1_000
    let sent = 0
    await Promise.all(
      clients.map(async (writer, w) => {
        for (let next = performance.now(); next < end; next += (1_000 * writers) / perSecond) {
          await sleep(Math.max(0, next - performance.now()))
          const id = w + writers * Math.floor(Math.random() * 200) + 1
          const value = ++sent
          // A reader that receives the change before this COMMIT has returned has a latency of 0.
          await writer.query('BEGIN')
          await writer.query('UPDATE bench SET sent = $2 WHERE id = $1', [id, value])
          this.#committed.set(`${id}/${value}`, performance.now())
          await writer.query('COMMIT')
          await committed?.(writer, sent)
        }
      }),
    )
    return sent
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end()))
    await this.#server.stop()
  }
}

/** Returns a quantile, rounded to hundredths. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return Math.round((sorted[Math.floor(sorted.length * part)] ?? Number.NaN) * 100) / 100
}
