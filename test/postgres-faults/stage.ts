import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import {
  type ChangeLogOptions,
  installChangeLog,
  type PostgresSource,
  type PostgresSourceOptions,
  postgresSource,
} from '../../adapters/postgres/index.js'
import { type Clock, systemClock } from '../../src/contract/clock.js'
import type { MirrorState } from '../../src/contract/status.js'
import type { PostgresServer } from '../../tools/postgres/postgres-server.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import { waitUntil } from '../servers/wait-until.js'
import { BackendStage } from '../support/backend-stage.js'
import { CountingClock } from '../support/clocks.js'

export type Item = { readonly id: number; readonly n: number; readonly s: string }

export interface StageOptions {
  readonly server: PostgresServer
  /** How many rows the table has at the beginning. Default 200. */
  readonly rows?: number
  /** How long each row's text is. Default 20. */
  readonly rowLength?: number
  readonly install?: Omit<ChangeLogOptions, 'table'>
  /** Makes each of the source's connections. */
  readonly client?: (config: ClientConfig, stage: Stage) => Client | Promise<Client>
  readonly source?: Omit<PostgresSourceOptions, 'connect' | 'table'>
  readonly clock?: Clock
}

export const TIMEOUT_MS = 2_000
/** Silence is noticed within this time. */
export const NOTICE_MS = TIMEOUT_MS + 2_000

let stages = 0

/** A database of its own with one table, a proxy before it, and a mirror that sees it through the proxy. */
export class Stage extends BackendStage<Item, PostgresSource<Item>> {
  readonly database: string
  connects = 0
  written = 0
  readonly #server: PostgresServer
  readonly #loading = new AbortController()
  #load: Promise<void> | undefined

  private constructor(database: string, proxy: FaultProxy, options: StageOptions) {
    const { server, client = (config) => new Client(config), source = {}, clock = systemClock } = options
    const config = { host: '127.0.0.1', user: 'postgres', database, port: proxy.port, application_name: 'mirror' }
    const own = postgresSource<Item>({
      connect: () => {
        this.connects++
        return client(config, this)
      },
      table: 'items',
      pollIntervalMs: 500,
      timeoutMs: TIMEOUT_MS,
      ...source,
    })
    super(proxy, own, { clock: new CountingClock(clock) })
    this.database = database
    this.#server = server
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { server, rows = 200, rowLength = 20, install = {} } = options
    const database = `stage_${process.pid}_${++stages}`
    await asked(server.url, (client) => client.query(`CREATE DATABASE ${database}`))
    const proxy = await startFaultProxy({ targetPort: server.port })
    const stage = new Stage(database, proxy, options)
    await stage.ask(async (client) => {
      await client.query(`CREATE TABLE items (id int PRIMARY KEY, n int NOT NULL, s text NOT NULL);
        INSERT INTO items SELECT g, 0, repeat('x', ${rowLength}) FROM generate_series(1, ${rows}) g`)
      await installChangeLog(client, { table: 'items', ...install })
    })
    return stage
  }

  /** Runs a test on a stage of its own, and at its end sees to it that nothing is left behind. */
  static async with(options: StageOptions, act: (stage: Stage) => Promise<void>): Promise<void> {
    await (await Stage.open(options)).run(act)
  }

  /** The same, with a mirror that has listed and watches. */
  static async live(options: StageOptions, act: (stage: Stage) => Promise<void>): Promise<void> {
    await Stage.with(options, async (stage) => {
      await stage.live()
      await act(stage)
    })
  }

  get state(): MirrorState {
    return this.informer.status.state
  }

  override async live(ms = 20_000): Promise<void> {
    await super.live(ms)
  }

  /** Resolves with how many milliseconds it took until the source has reported an error more. */
  async noticed(ms = 15_000): Promise<number> {
    const began = performance.now()
    const known = this.errors.length
    await waitUntil('an error to be reported', () => this.errors.length > known, ms)
    return performance.now() - began
  }

  /** What the first list is made of is on its way. */
  async copying(): Promise<void> {
    await waitUntil('the list to be on its way', () => this.isCopying())
  }

  async isCopying(): Promise<boolean> {
    const sql = `SELECT FROM pg_stat_activity WHERE datname = '${this.database}' AND state = 'active' AND query LIKE 'COPY%'`
    return (await this.query(sql)).length > 0
  }

  /** Speaks to the database, not through the proxy. */
  async ask<V>(work: (client: Client) => Promise<V>): Promise<V> {
    return await asked(`postgres://postgres@127.0.0.1:${this.#server.port}/${this.database}`, work)
  }

  async query(text: string): Promise<unknown[]> {
    return await this.ask(async (client) => (await client.query(text)).rows)
  }

  /** Writes all the time, with a limit of transactions per second. Reconnects if needed. */
  load(perSecond = 100): void {
    const { signal } = this.#loading
    const write = async (client: Client): Promise<void> => {
      while (!signal.aborted) {
        const id = 1 + (this.written % 150)
        await client.query(
          this.written % 7 === 0
            ? `WITH gone AS (DELETE FROM items WHERE id = ${id} RETURNING id) INSERT INTO items SELECT id + 1000000, 1, 'moved' FROM gone ON CONFLICT DO NOTHING`
            : `INSERT INTO items VALUES (${id}, ${this.written}, 'loaded') ON CONFLICT (id) DO UPDATE SET n = excluded.n`,
        )
        this.written++
        await sleep(1_000 / perSecond)
      }
    }
    const keepOn = async (): Promise<void> => {
      while (!signal.aborted) await this.ask(write).catch(() => sleep(50)) // The server is down.
    }
    this.#load ??= keepOn()
  }

  /** The mirror is compared once nothing is written any more. */
  override async healed(ms?: number): Promise<void> {
    await this.#loadEnds()
    await super.healed(ms)
  }

  override async truth(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.query('SELECT id, n, s FROM items')
    return new Map(rows.map((row) => [String(Object(row).id), JSON.stringify(row)]))
  }

  protected override textOf({ id, n, s }: Item): string {
    return JSON.stringify({ id, n, s })
  }

  /** A stop ends within a second, and within two more nothing is left. */
  protected override async assertCleanStop(): Promise<void> {
    await this.#loadEnds()
    const began = performance.now()
    await this.informer.stop()
    const took = performance.now() - began
    if (took >= 1_000) throw new Error(`stop took ${Math.round(took)} ms`)
    await super.assertCleanStop(2_000)
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.#loadEnds()
    await super[Symbol.asyncDispose]()
  }

  async #loadEnds(): Promise<void> {
    this.#loading.abort()
    await this.#load
  }
}

async function asked<V>(url: string, work: (client: Client) => Promise<V>): Promise<V> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {}) // The server has ended it.
  }
}
