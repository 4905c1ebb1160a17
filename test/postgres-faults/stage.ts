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
import type { SourceError } from '../../src/contract/errors.js'
import type { State } from '../../src/contract/status.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { PostgresServer } from '../../tools/postgres/postgres-server.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import { waitUntil } from '../servers/wait-until.js'
import { CountingClock } from './clocks.js'
import { HandlerHistory } from './handler-history.js'

export interface Item {
  readonly id: number
  readonly n: number
  readonly s: string
}

export interface StageOptions {
  readonly server: PostgresServer
  /** How many rows the table has at the beginning. Default 200. */
  readonly rows?: number
  /** How long each row's text is. Default 20. */
  readonly rowLength?: number
  readonly install?: Omit<ChangeLogOptions, 'table'>
  /** Makes each of the source's connections. */
  readonly client?: (config: ClientConfig, stage: Stage) => Client | Promise<Client>
  readonly source?: Omit<PostgresSourceOptions, 'client' | 'table'>
  readonly clock?: Clock
}

/** The default of `heartbeatTimeoutMs` on a stage. */
export const HEARTBEAT_TIMEOUT_MS = 2_000
/** Silence is noticed within this time. */
export const NOTICE_MS = HEARTBEAT_TIMEOUT_MS + 2_000

let stages = 0

/** A database of its own with one table, a proxy before it, and a mirror that sees it through the proxy. */
export class Stage {
  readonly proxy: FaultProxy
  readonly source: PostgresSource<Item>
  readonly informer: Informer<Item>
  readonly errors: SourceError[] = []
  readonly states: State[] = []
  readonly history = new HandlerHistory<Item>()
  readonly clock: CountingClock
  readonly database: string
  /** The number of connections that the source has requested. */
  connects = 0
  /** How many transactions `load` has committed. */
  written = 0
  readonly #server: PostgresServer
  readonly #loading = new AbortController()
  #load: Promise<void> | undefined

  private constructor(database: string, proxy: FaultProxy, options: StageOptions) {
    const { server, client = (config) => new Client(config), source = {}, clock = systemClock } = options
    this.database = database
    this.#server = server
    this.proxy = proxy
    this.clock = new CountingClock(clock)
    this.source = postgresSource<Item>({
      client: () => {
        this.connects++
        return client({ ...this.#config, port: proxy.port, application_name: 'mirror' }, this)
      },
      table: 'items',
      pollIntervalMs: 500,
      heartbeatTimeoutMs: HEARTBEAT_TIMEOUT_MS,
      ...source,
    })
    this.informer = createInformer({ source: this.source, clock: this.clock })
    this.informer.on('error', (error) => this.errors.push(error))
    this.informer.on('status', ({ state }) => this.states.push(state))
    this.informer.subscribe(this.history.handlers)
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
    const stage = await Stage.open(options)
    try {
      await act(stage)
      await stage.assertCleanStop()
    } finally {
      await stage.#loadEnds()
      await stage.informer.stop()
      await stage.proxy[Symbol.asyncDispose]()
    }
  }

  get relists(): number {
    return this.informer.status.relists
  }

  get reconnects(): number {
    return this.informer.status.reconnects
  }

  get state(): State {
    return this.informer.status.state
  }

  /** The first list is in, and the watch is open. */
  async live(ms = 20_000): Promise<void> {
    this.informer.start()
    await waitUntil('the watch to be live', () => this.state === 'live', ms).catch((error: unknown) => {
      throw new Error(this.summary, { cause: error })
    })
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

  /** The store is the table, once nothing is written any more; and so is what the subscription knows. */
  async healed(ms = 60_000): Promise<void> {
    await this.#loadEnds()
    let wrong: readonly string[] = []
    const isEqual = async (): Promise<boolean> => {
      wrong = await this.differences().catch((error: unknown) => [String(error)])
      return wrong.length === 0
    }
    await waitUntil('the mirror to be the table', isEqual, ms).catch((error: unknown) => {
      throw new Error(`${wrong.length} keys differ: ${wrong.slice(0, 5).join(' ')}; ${this.summary}`, { cause: error })
    })
    const isTold = (): boolean =>
      this.history.objects.size === this.informer.size &&
      [...this.informer.entries()].every(([key, object]) => Object.is(this.history.objects.get(key), object))
    await waitUntil('the subscription to know it', isTold)
    if (this.history.violations.length > 0) throw new Error(this.history.violations.join('; '))
  }

  /** The keys whose row and object differ. */
  async differences(): Promise<string[]> {
    const rows = await this.query('SELECT id, n, s FROM items')
    const wanted = new Map(rows.map((row) => [String(Object(row).id), JSON.stringify(row)]))
    const wrong: string[] = []
    for (const [key, object] of this.informer.entries()) {
      if (wanted.get(key) !== JSON.stringify({ id: object.id, n: object.n, s: object.s })) wrong.push(key)
      wanted.delete(key)
    }
    return [...wrong, ...wanted.keys()]
  }

  /** It ends within a second, and leaves no connection, no timer and no session behind. */
  async assertCleanStop(): Promise<void> {
    await this.#loadEnds()
    const began = performance.now()
    await this.informer.stop()
    const took = performance.now() - began
    this.proxy.pass()
    if (took >= 1_000) throw new Error(`stop took ${Math.round(took)} ms`)
    const left = (): string => `${this.proxy.counts.open} connections, ${this.clock.sleeping} timers`
    const isGone = (): boolean => this.proxy.counts.open === 0 && this.clock.sleeping === 0
    await waitUntil('nothing to be left', isGone, 2_000).catch(() => {
      throw new Error(`${left()} are left after the stop`)
    })
  }

  /** What happened, for those who must find out why. */
  get summary(): string {
    const { state, reason } = this.informer.status
    const errors = this.errors.slice(-5).map(({ message }) => message)
    return `it is ${state} (${reason}); ${this.states.join(' ')}; ${errors.join('; ')}`
  }

  get #config(): ClientConfig {
    return { host: '127.0.0.1', user: 'postgres', database: this.database }
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
